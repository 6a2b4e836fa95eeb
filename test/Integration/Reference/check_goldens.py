#!/usr/bin/env python3
"""Compares compiled programs with the golden files of Cases/, which PyTorch and transformers made (make_goldens.py).

    check_goldens.py --build BUILD [--options "--tp 2"] [NAME...]

One step with learning rate 0 on the golden's own batch: the loss within LOSS_TOLERANCE, each gradient within
GRADIENT_TOLERANCE (relative L2), and the parameters, which the golden file holds too, within PARAMETER_TOLERANCE. Then
a run of a few steps: the loss of each within LOSS_TOLERANCE.
"""
import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import programs  # noqa: E402
import tensors  # noqa: E402

CASES = os.path.join(HERE, "Cases")
SEQUENCE, BATCH, SEED = 16, 4, 7
STEPS, RATE, WARMUP = 6, 1e-2, 2  # of the training run
# Of ppc-compile, for models that the reference treats otherwise than PPC does by default.
CASE_OPTIONS = {"padding": ["--padding-row", "untrained"], "padding-tied": ["--padding-row", "untrained"]}
PARAMETER_TOLERANCE = 1e-6
LOSS_TOLERANCE = 1e-5
GRADIENT_TOLERANCE = 1e-4


def compile_case(build, config, options, output):
    shape = ["--seq-len", str(SEQUENCE), "--global-batch", str(BATCH), *case_options(config)]
    return programs.compile_model(build, config, shape + (options or ["--ranks", "1"]), output, optimize=None)


def case_options(config):
    return CASE_OPTIONS.get(os.path.basename(config)[:-len(".json")], [])


def write_text(path):
    """Writes the text of every case; returns the batches of a run, each as ids and targets, row-major."""
    text = programs.english(3000)
    with open(path, "wb") as file:
        file.write(text)
    samples = programs.samples(text, SEED, STEPS * BATCH, SEQUENCE)
    steps = [samples[step * BATCH:(step + 1) * BATCH] for step in range(STEPS)]
    return [([token for sample in batch for token in sample[:-1]], [token for sample in batch for token in sample[1:]])
            for batch in steps]


def first_step(program, text):
    """Loss, gradients and initial parameters of a program: one step that changes nothing."""
    parameters, gradients = program + ".parameters", program + ".gradients"
    log = programs.train(program, text, steps=1, lr=0, seed=SEED, save_parameters=parameters, save_gradients=gradients)
    return next(line["loss"] for line in log if "loss" in line), tensors.read(gradients)[0], tensors.read(parameters)[0]


def part(golden, prefix):
    return {name[len(prefix):]: value for name, value in golden.items() if name.startswith(prefix)}


def check(name, build, options, scratch):
    """Problems of one case; prints its figures."""
    golden, _ = tensors.read(os.path.join(CASES, name + ".safetensors"))
    program = compile_case(build, os.path.join(CASES, name + ".json"), options, os.path.join(scratch, name))
    text = os.path.join(scratch, "text")
    if (list(golden["ids"][1]), list(golden["targets"][1])) != write_text(text)[0]:
        return ["the golden file was made from another text: run make_goldens.py"]
    found, gradients, initial = first_step(program, text)
    problems, start, _ = tensors.compare(initial, part(golden, "parameter."), PARAMETER_TOLERANCE, flat=True)
    expected = golden["loss"][1][0]
    error = abs(found - expected) / expected
    if not error <= LOSS_TOLERANCE:
        problems.append(f"the loss is {found}, not {expected}")
    log = programs.train(program, text, steps=STEPS, lr=RATE, warmup=WARMUP, seed=SEED)
    drift = max(abs(line["loss"] - wanted) / wanted for line, wanted in zip(log, golden["losses"][1]))
    if len(log) != STEPS or not drift <= LOSS_TOLERANCE:
        problems.append(f"the losses of {STEPS} steps differ by {drift:.2e}: {[line['loss'] for line in log]} and {list(golden['losses'][1])}")
    differing, worst, worst_name = tensors.compare(gradients, part(golden, "gradient."), GRADIENT_TOLERANCE, flat=True)
    print(f"{name}: initial parameters {start:.1e}, loss {error:.1e}, gradients {worst:.1e} ({worst_name}), losses of {STEPS} steps {drift:.1e}")
    return problems + differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--options", default="", help="layout options of ppc-compile")
    parser.add_argument("cases", nargs="*", help="names of cases; all when none is given")
    arguments = parser.parse_args()
    names = arguments.cases or sorted(name[:-5] for name in os.listdir(CASES) if name.endswith(".json"))
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            problems = check(name, arguments.build, arguments.options.split(), scratch)
            for problem in problems:
                print(f"    {problem}")
            failed += bool(problems)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
