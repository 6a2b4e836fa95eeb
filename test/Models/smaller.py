"""Makes a module that fails, and its layout, smaller: ops that go, layouts with less."""
import os
import re
import tempfile

import evaluator
import judge

TRIES = 150
NEUTRAL = {"overlap": False, "offload": "none", "recompute": "none", "zero": 0, "schedule": "1f1b", "vp": 0, "cp": 1, "context": "all-gather", "tp": 1, "sp": False, "pp": 1, "dp": 1}


def without_dead(text):
    """Without unused ops and parameters; inputs stay."""
    lines, again = text.split("\n"), True
    while again:
        again = False
        for number, line in enumerate(lines):
            match = re.match(r"\s+(%[\w, %:]+) = ", line)
            names = re.findall(r"%\w+", match[1]) if match else re.findall(r"^\s+(%w\d+): .*ppc\.parameter", line) if not line.rstrip().endswith("{") else []
            rest = "\n".join(lines[:number] + lines[number + 1:])
            if names and not any(re.search(rf"{name}\b", rest) for name in names):
                del lines[number]
                again = True
                break
    return "\n".join(lines)


def candidates(text):
    """Texts in which one op's result is replaced by an earlier value of its type, or by no layers at all."""
    if "ppc.layer" in text:
        yield re.sub(r" \{ppc\.layer = \d+ : i64\}", "", text)
    lines = text.split("\n")
    types = {name: kind for name, kind in re.findall(r"(%\w+): (tensor<[^>]*>) \{", text)}
    for number, line in enumerate(lines):
        match = re.match(r"\s+(%\w+) = ppc\.\w+ .*?(tensor<[^>]*>)$", line)
        if not match:
            several = re.match(r"\s+(%\w+), (%\w+) = .*to (tensor<[^>]*>), (tensor<[^>]*>)$|\s+(%\w+), (%\w+) = .*-> \(?(tensor<[^>]*>), (tensor<[^>]*>)\)?$", line)
            if several:
                groups = [group for group in several.groups() if group]
                types.update(zip(groups[:2], groups[2:]))
            continue
        name, kind = match.groups()
        for other, of in types.items():
            if of == kind and not kind.endswith("i32>"):
                yield "\n".join(lines[:number] + [re.sub(rf"{name}\b", other, rest) for rest in lines[number + 1:]])
        types[name] = kind


def lesser(layout):
    for key, value in NEUTRAL.items():
        if layout.get(key, value) != value:
            yield {other: held for other, held in layout.items() if other != key}
            if isinstance(value, int) and not isinstance(value, bool) and layout[key] > 2:
                yield dict(layout, **{key: 2})


def shrink(build, case, layout, plan, verdict):
    tries = TRIES
    with tempfile.TemporaryDirectory(prefix="ppc-models-") as folder:
        if plan:
            layout = dict(layout, **{"plan-file": os.path.join(folder, "plan.yaml")})
            with open(layout["plan-file"], "w", encoding="utf-8") as file:
                file.write(plan)

        def fails(text, layout):
            try:
                one = judge.Case(case.name, text, [layout])
                outcome = judge.outcomes(build, [one])[0][0]
            except (evaluator.OutOfRange, KeyError, ValueError, IndexError, NotImplementedError, ZeroDivisionError):
                return None
            return outcome if judge.verdict(outcome) == verdict else None

        text, outcome, again = case.text, "", True
        outcome = fails(text, layout) or "not again"
        while again and tries > 0:
            again = False
            for other in [(candidate, layout) for candidate in candidates(text)] + [(text, smaller) for smaller in lesser(layout)]:
                other = (without_dead(other[0]), other[1])
                if other == (text, layout):
                    continue
                tries -= 1
                found = fails(*other)
                if found:
                    text, layout, outcome, again = *other, found, True
                    break
                if tries <= 0:
                    break
    return text, {key: value for key, value in layout.items() if key != "plan-file"}, outcome
