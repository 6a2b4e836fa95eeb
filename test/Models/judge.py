"""Runs modules under layouts in ppc-opt, and judges the outcome: equal to the independent evaluation, refused with a position and a reason, or wrong."""
import json
import os
import random
import re
import subprocess
import tempfile

import numpy

import evaluator
import generator
import module_reader

RATE, EPSILON, MAX_NORM = 0.125, 0.0078125, 4.0
LONGEST = 900  # seconds of one process
LARGEST = 1e4  # bound of values
TOLERANCE = 1e-7
PLACE = re.compile(r"^(failed: \w+: |refused: )(?:\d+:\d+: )")


class Case:
    """A module, its numbers and what is right; `layouts` to run it under."""

    def __init__(self, name, text, layouts, numbers=None, most=LARGEST):
        self.name, self.text, self.layouts = name, text, layouts
        self.module = module_reader.Module(text)
        self.numbers = numbers or generator.numbers(self.module, name)
        evaluator.loss(self.module, self.numbers, most)
        self.expected = None

    def right(self):
        if self.expected is None:
            self.expected = evaluator.step(self.module, self.numbers, RATE, EPSILON, MAX_NORM)
        return self.expected

    def line(self):
        values = {"scalar learning_rate": [RATE], "scalar step": [1]}
        for argument in self.module.arguments:
            key = f"parameter {argument.parameter}" if argument.parameter is not None else f"input {argument.input}"
            values[key] = self.numbers[argument.value]
        return json.dumps({"module": self.text, "values": values, "layouts": self.layouts, "epsilon": EPSILON, "max_norm": MAX_NORM})


def compare(found, expected):
    """"" or what differs most."""
    worst = ""
    scale = max((float(numpy.max(numpy.abs(numbers), initial=0)) for name, numbers in expected.items() if name.startswith("m of ")), default=0)
    for name, numbers in expected.items():
        if name not in found:
            return f"no {name}"
        other = numpy.array([numpy.nan if number is None else number for number in found[name]], dtype=float)
        if other.shape != numbers.shape:
            return f"{name} has {other.size} elements, not {numbers.size}"
        floor = scale * scale if name.startswith("v of ") else scale if name.startswith("m of ") else 1
        off = numpy.abs(other - numbers) > TOLERANCE * numpy.maximum(numpy.abs(numbers), floor + 1e-6)
        off |= ~numpy.isfinite(other)
        if numpy.any(off):
            place = int(numpy.argmax(off))
            worst = worst or f"{name}[{place}]: {other[place]:.6g}, right: {numbers[place]:.6g}"
    return worst


def outcomes(build, cases):
    """Outcome of each layout of each case."""
    result = [[None] * len(case.layouts) for case in cases]
    with tempfile.TemporaryDirectory(prefix="ppc-models-") as folder:
        empty, listed = os.path.join(folder, "empty.mlir"), os.path.join(folder, "list")
        with open(empty, "w", encoding="utf-8") as file:
            file.write("module {}\n")
        rest = [(number, place) for number, case in enumerate(cases) for place in range(len(case.layouts))]
        while rest:
            groups = {}
            for number, place in rest:
                groups.setdefault(number, []).append(place)
            with open(listed, "w", encoding="utf-8") as file:
                for number, places in groups.items():
                    one = json.loads(cases[number].line())
                    one["layouts"] = [cases[number].layouts[place] for place in places]
                    file.write(json.dumps(one) + "\n")
            order = list(groups.items())
            command = [os.path.join(build, "bin/ppc-opt"), empty, f"--test-ppc-model-cases=list={listed}", "--mlir-disable-threading", "-o", os.devnull]
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LONGEST, check=False)
                said, word, status = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), done.returncode
            except subprocess.TimeoutExpired as late:
                said, word, status = (late.stdout or b"").decode(errors="replace"), f"no end within {LONGEST} s", 1
            for line in said.splitlines():
                if not line.startswith("{") or not line.endswith("}"):
                    continue
                found = json.loads(line)
                number, places = order[found["case"]]
                result[number][places[found["layout"]]] = judged(cases[number], found)
            left = [(number, place) for number, place in rest if result[number][place] is None]
            if left and not status:
                raise RuntimeError(f"no word of {cases[left[0][0]].name}: {word[-300:]}")
            if left:
                number, place = left.pop(0)
                lines = [line for line in word.strip().splitlines() if not re.match(r"\s*#\d+|\s*$", line)] or ["no word"]
                result[number][place] = f"died: exit status {status}: {lines[-1][:200]}"
            rest = left
    return result


def judged(case, found):
    outcome = found["outcome"]
    if outcome != "computed":
        return outcome
    difference = compare(found["results"], case.right())
    return f"wrong: {difference}" if difference else "equal"


INTERNAL = re.compile(r"ppc\.(?:accumulate|yield|reshard|mask_padding|local_slice|\w*_backward|\w+_gradient|squared_norm|all_\w+|pick|log_sum_exp|part|stage|shardings?|factors)\b|accumulate|autodiff|pass|failed without a word")


def verdict(outcome):
    """equal, refused (truly, as far as its form tells), or one word for what is wrong with it."""
    if outcome == "equal" or outcome.startswith(("wrong", "died")):
        return outcome.split(":")[0]
    if "not proved" in outcome:
        return "unproved"
    if outcome.startswith("differs"):
        return "wrong"
    if outcome.startswith("failed: partition") or "failed without a word" in outcome:
        return "broken"
    if outcome.startswith("failed: ") and not PLACE.match(outcome):
        return "placeless"
    if INTERNAL.search(outcome):
        return "internal"
    return "refused"


def is_separate(case, tries=3):
    """Whether the loss is a sum over the samples, as far as changes of two samples tell: then no order of micro-batches is a reason to refuse."""
    pick = random.Random(f"separate {case.name}")
    inputs = [argument for argument in case.module.arguments if argument.input is not None]
    batch = inputs[0].shape[0]
    if batch < 2:
        return True
    for _ in range(tries):
        first, second = pick.sample(range(batch), 2)
        losses = []
        other = generator.numbers(case.module, pick.random())
        for change in ((), (first,), (second,), (first, second)):
            numbers = {name: list(values) for name, values in case.numbers.items()}
            for argument in inputs:
                row = len(numbers[argument.value]) // batch
                for sample in change:
                    numbers[argument.value][sample * row:(sample + 1) * row] = other[argument.value][sample * row:(sample + 1) * row]
            losses.append(evaluator.loss(case.module, numbers))
        if abs(losses[0] - losses[1] - losses[2] + losses[3]) > 1e-9 * max(1, *map(abs, losses)):
            return False
    return True
