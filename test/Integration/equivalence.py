#!/usr/bin/env python3
"""Trains each layout of a table for 20 steps and compares it with the single-rank run of the same model.

    equivalence.py --build BUILD [--jobs N] [--optimize N] [NAME...]

The loss of every step must agree within the first of TOLERANCES (relative), the gradient norm of every step within the second
(relative), and every parameter after the last step within the third (relative L2). A name of the table selects its row, a part of names all that
have it.
In bf16 a sum in another order may round to another number, which later steps see, and the rounding of matmuls depends on the processor: a row
in bf16 that exceeds the tolerances passes only if the same layout in f32 keeps those of f32, and in bf16 is at most twice as far from f32 as
one rank in bf16.
"""
import argparse
import concurrent.futures
import os
import sys
import tempfile
import time

import programs
import tensors

HERE = os.path.dirname(os.path.realpath(__file__))
STEPS = 20
TOLERANCES = {"f32": (1e-5, 1e-4, 1e-4), "bf16": (2e-4, 1e-2, 3e-3)}
SHAPE = ["--seq-len", "16", "--global-batch", "8"]

# name, model of Inputs/, options of ppc-compile
LAYOUTS = [
    ("dp2", "even", "--dp 2 --micro-batch 2"),
    ("tp2", "even", "--tp 2 --micro-batch 4"),
    ("pp2", "even", "--pp 2 --micro-batch 2"),
    ("dp2-tp2", "even", "--dp 2 --tp 2 --micro-batch 2"),
    ("tp2-pp2", "even", "--tp 2 --pp 2 --micro-batch 2"),
    ("dp2-pp2", "even", "--dp 2 --pp 2 --micro-batch 1"),
    ("dp2-tp2-pp2", "even", "--dp 2 --tp 2 --pp 2 --micro-batch 2"),
    ("tp4", "even", "--tp 4 --micro-batch 8"),
    ("pp4-seq1f1b", "even", "--pp 4 --micro-batch 1 --schedule seq1f1b"),
    ("tied-dp2-tp2-pp2-sp-zero2-seq1f1b", "tied", "--dp 2 --tp 2 --pp 2 --sp --zero 2 --micro-batch 1 --schedule seq1f1b --recompute full"),
    ("experts-dp2-pp2-ep2-zero1-seq1f1b", "experts", "--dp 2 --pp 2 --ep 2 --zero 1 --micro-batch 1 --schedule seq1f1b"),
    ("window-tp2-pp2-sp-seq1f1b", "window", "--tp 2 --pp 2 --sp --micro-batch 1 --schedule seq1f1b"),
    ("bf16-dp2-pp2-zero3-seq1f1b", "even", "--dp 2 --pp 2 --zero 3 --micro-batch 1 --schedule seq1f1b --precision bf16 --offload optimizer"),
    ("pp4-1f1b", "even", "--pp 4 --micro-batch 1 --schedule 1f1b"),
    ("pp4-gpipe", "even", "--pp 4 --micro-batch 1 --schedule gpipe"),
    ("pp4-zb1p", "even", "--pp 4 --micro-batch 1 --schedule zb1p"),
    ("pp4-zb2p", "even", "--pp 4 --micro-batch 1 --schedule zb2p"),
    ("pp2-interleaved", "even", "--pp 2 --vp 2 --micro-batch 1"),
    ("pp2-breadth-first", "even", "--pp 2 --micro-batch 1 --schedule breadth-first"),
    ("pp2-zbv", "even", "--pp 2 --micro-batch 1 --schedule zbv"),
    ("pp2-v-half", "even", "--pp 2 --micro-batch 1 --schedule v-half"),
    ("pp2-v-min", "even", "--pp 2 --micro-batch 1 --schedule v-min"),
    ("pp2-wave", "even", "--pp 2 --micro-batch 1 --schedule wave"),
    ("pp2-dualpipev", "even", "--pp 2 --micro-batch 1 --schedule dualpipev"),
    ("pp2-chimera", "even", "--pp 2 --micro-batch 1 --schedule chimera"),
    ("pp4-dualpipe", "even", "--pp 4 --micro-batch 1 --schedule dualpipe"),
    ("tied-dp2-tp2-pp2-chimera-sp-zero1", "tied",
     "--dp 2 --tp 2 --pp 2 --sp --zero 1 --micro-batch 1 --schedule chimera --recompute full"),
    ("uneven-dp2-pp4-dualpipe-zero3", "uneven", "--dp 2 --pp 4 --zero 3 --micro-batch 1 --schedule dualpipe"),
    ("tied-dp2-tp2-pp2-interleaved-sp-zero1", "tied",
     "--dp 2 --tp 2 --pp 2 --vp 2 --sp --zero 1 --micro-batch 1 --recompute full"),
    ("tied-pp2-zbv", "tied", "--pp 2 --micro-batch 1 --schedule zbv"),
    ("uneven-tp2-pp3-breadth-first", "uneven",
     "--tp 2 --pp 3 --vp 2 --micro-batch 1 --schedule breadth-first --layers-per-stage 0,1,2,1,1,0"),
    ("5-heads-tp2", "uneven", "--tp 2 --micro-batch 4"),
    ("vocabulary-131-tp3", "uneven", "--tp 3 --micro-batch 8"),
    ("feed-forward-88-tp5", "uneven", "--tp 5 --micro-batch 8"),
    ("5-layers-pp2", "uneven", "--pp 2 --micro-batch 2"),
    ("uneven-dp2-tp2-pp2", "uneven", "--dp 2 --tp 2 --pp 2 --micro-batch 1"),
    ("tied-tp2-dp2", "tied", "--dp 2 --tp 2 --micro-batch 4"),
    ("tied-pp2", "tied", "--pp 2 --micro-batch 2"),
    ("full-recompute", "even", "--dp 1 --tp 1 --pp 1 --micro-batch 2 --recompute full"),
    ("selective-recompute-tp2", "even", "--tp 2 --micro-batch 2 --recompute selective"),
    ("full-recompute-dp2-tp2-pp2", "uneven", "--dp 2 --tp 2 --pp 2 --micro-batch 1 --recompute full"),
    ("full-recompute-pp4-zb1p", "even", "--pp 4 --micro-batch 1 --schedule zb1p --recompute full"),
    ("memory-budget-pp2", "even", "--pp 2 --micro-batch 1 --schedule gpipe --memory 0.0008"),
    ("tied-full-recompute-pp2", "tied", "--pp 2 --micro-batch 2 --recompute full"),
    ("tp2-sp", "even", "--tp 2 --sp --micro-batch 4"),
    ("dp2-tp2-pp2-sp", "even", "--dp 2 --tp 2 --pp 2 --sp --micro-batch 2"),
    ("uneven-tp3-sp", "uneven", "--tp 3 --sp --micro-batch 4"),
    ("tied-tp2-pp2-sp-zb1p", "tied", "--tp 2 --pp 2 --sp --micro-batch 1 --schedule zb1p"),
    ("dp2-zero1", "even", "--dp 2 --zero 1 --micro-batch 2"),
    ("uneven-dp4-zero1", "uneven", "--dp 4 --zero 1 --micro-batch 1"),
    ("tied-dp2-pp2-zero1", "tied", "--dp 2 --pp 2 --zero 1 --micro-batch 1"),
    ("dp2-tp2-pp2-sp-zero1-recompute", "even", "--dp 2 --tp 2 --pp 2 --sp --zero 1 --micro-batch 1 --recompute full"),
    ("uneven-dp2-tp2-pp2-sp-zero1", "uneven", "--dp 2 --tp 2 --pp 2 --sp --zero 1 --micro-batch 2 --schedule zb2p"),
    ("dp2-zero2", "even", "--dp 2 --zero 2 --micro-batch 1"),
    ("uneven-dp2-tp2-sp-zero3", "uneven", "--dp 2 --tp 2 --sp --zero 3 --micro-batch 1"),
    ("tied-dp2-pp2-zero3", "tied", "--dp 2 --pp 2 --zero 3 --micro-batch 1"),
    ("dp2-pp2-zero3-zb1p-recompute", "even", "--dp 2 --pp 2 --zero 3 --micro-batch 1 --schedule zb1p --recompute full"),
    ("dp2-cp2-zero3-overlap", "even", "--dp 2 --cp 2 --zero 3 --micro-batch 1 --overlap on"),
    ("dp4-zero1-groups-of-2", "uneven", "--dp 4 --zero 1 --shard-group 2 --micro-batch 1"),
    ("tied-dp4-tp2-pp2-sp-zero3-groups-of-2", "tied", "--dp 4 --tp 2 --pp 2 --sp --zero 3 --shard-group 2 --micro-batch 1"),
    ("tied-dp4-tp2-pp2-sp-zero3-once", "tied", "--dp 4 --tp 2 --pp 2 --sp --zero 3 --gradient-group 1 --micro-batch 1"),
    ("experts-dp4-ep2-zero3-gradients-in-2", "experts", "--dp 4 --ep 2 --zero 3 --gradient-group 2 --parameter-group 2 --micro-batch 1"),
    ("dp2-cp2-zero2-gradients-in-2", "even", "--dp 2 --cp 2 --zero 2 --gradient-group 2 --micro-batch 1"),
    ("experts-dp4-ep2-zero2-groups-of-2", "experts", "--dp 4 --ep 2 --zero 2 --shard-group 2 --micro-batch 1"),
    ("dp2-cp2-zero3-groups-of-2", "even", "--dp 2 --cp 2 --zero 3 --shard-group 2 --micro-batch 1"),
    ("cp2", "even", "--cp 2 --micro-batch 2"),
    ("cp4", "even", "--cp 4=gather --micro-batch 4"),
    ("dp2-cp2", "even", "--dp 2 --cp 2 --micro-batch 2"),
    ("cp2-tp2-sp", "even", "--cp 2 --tp 2 --sp --micro-batch 4"),
    ("cp4-pp2", "even", "--cp 4 --pp 2 --micro-batch 2"),
    ("cp2-zero1", "even", "--cp 2 --zero 1 --micro-batch 2"),
    ("uneven-cp2-tp3", "uneven", "--cp 2 --tp 3 --micro-batch 4"),
    ("uneven-dp2-cp4-zero1", "uneven", "--dp 2 --cp 4 --zero 1 --micro-batch 1"),
    ("dp2-cp2-tp2-pp2-sp-zero1-recompute", "even",
     "--dp 2 --cp 2 --tp 2 --pp 2 --sp --zero 1 --micro-batch 1 --recompute full"),
    ("tied-cp2-pp2-interleaved-selective", "tied",
     "--cp 2 --pp 2 --vp 2 --micro-batch 1 --schedule interleaved --recompute selective"),
    ("tied-cp2-tp2-pp2-sp-zb1p", "tied", "--cp 2 --tp 2 --pp 2 --sp --micro-batch 1 --schedule zb1p"),
    ("ulysses-cp2", "even", "--cp 2=ulysses --micro-batch 2"),
    ("ulysses-cp4-pp2", "even", "--cp 4=ulysses --pp 2 --micro-batch 2"),
    ("ulysses-dp2-cp2-tp2-sp-zero1", "even", "--dp 2 --cp 2=ulysses --tp 2 --sp --zero 1 --micro-batch 2"),
    ("ulysses-dp2-cp2-zero3-recompute", "even", "--dp 2 --cp 2=ulysses --zero 3 --micro-batch 1 --recompute full"),
    ("ulysses-window-cp2-tp2-selective", "window", "--cp 2=ulysses --tp 2 --micro-batch 2 --recompute selective"),
    ("ulysses-tied-cp2-pp2-zbv", "tied", "--cp 2=ulysses --pp 2 --micro-batch 1 --schedule zbv"),
    ("window-dp2-tp4-zero2-pieces", "window", "--dp 2 --tp 4 --zero 2 --micro-batch 2 --recompute full --product-pieces 2"),
    ("window-cp2", "window", "--cp 2 --micro-batch 2"),
    ("experts-cp2", "experts", "--cp 2 --micro-batch 2"),
    ("experts-dp2-cp2-ep2-zero1", "experts", "--dp 2 --cp 2 --ep 2 --zero 1 --micro-batch 2"),
    ("experts-cp2-ep2-zero1", "experts", "--cp 2 --ep 2 --zero 1 --micro-batch 2"),
    ("experts-dp2-cp2-ep4-zero3", "experts", "--dp 2 --cp 2 --ep 4 --zero 3 --micro-batch 1"),
    ("experts-cp4-ep2-zero2-recompute", "experts", "--cp 4 --ep 2 --zero 2 --micro-batch 2 --recompute full"),
    ("experts-dp2-ulysses2-ep4-pp2-zbv", "experts", "--dp 2 --cp 2=ulysses --ep 4 --pp 2 --micro-batch 1 --schedule zbv"),
    ("latent-experts-cp2-tp2-ep4-sp-zero1", "latent-experts", "--cp 2 --tp 2 --ep 4 --sp --zero 1 --micro-batch 2"),
    ("experts-dp2-ulysses2-tp2-ep4-sp", "experts", "--dp 2 --cp 2=ulysses --tp 2 --ep 4 --sp --micro-batch 2"),
    ("latent-experts-dp2-ulysses2-pp2-ep2", "latent-experts", "--dp 2 --cp 2=ulysses --pp 2 --ep 2 --micro-batch 1"),
    ("window-cp4-tp4-sp-zero1", "window", "--cp 4 --tp 4 --sp --zero 1 --micro-batch 4"),
    ("window-dp2-cp2-tp2-pp2", "window", "--dp 2 --cp 2 --tp 2 --pp 2 --micro-batch 1"),
    ("offload-dp2-tp2-zero1", "uneven", "--dp 2 --tp 2 --zero 1 --micro-batch 2 --offload optimizer"),
    ("offload-tied-pp2-zbv-overlap", "tied", "--dp 2 --pp 2 --zero 3 --micro-batch 1 --schedule zbv --overlap on --offload optimizer"),
    ("bf16-offload-experts-dp4-ep2", "experts", "--dp 4 --ep 2 --zero 2 --micro-batch 1 --precision bf16 --offload optimizer"),
    ("offload-saved-pp4", "even", "--pp 4 --micro-batch 1 --offload activations"),
    ("offload-saved-gpipe-dp2-tp2-pp2-sp-zero1", "uneven", "--dp 2 --tp 2 --pp 2 --sp --zero 1 --micro-batch 1 --schedule gpipe --offload activations"),
    ("offload-saved-tied-pp2-zbv-zero3", "tied", "--dp 2 --pp 2 --zero 3 --micro-batch 1 --schedule zbv --offload activations"),
    ("offload-saved-pp4-zb1p-recompute", "even", "--pp 4 --micro-batch 1 --schedule zb1p --recompute selective --offload activations"),
    ("bf16-offload-both-pp4-interleaved", "uneven", "--pp 2 --vp 2 --micro-batch 1 --schedule interleaved --precision bf16 --offload optimizer+activations"),
    ("offload-parameters-pp2", "even", "--pp 2 --vp 3 --micro-batch 1 --schedule breadth-first --offload parameters"),
    ("offload-parameters-single-zero3", "uneven", "--dp 2 --vp 4 --zero 3 --micro-batch 1 --schedule breadth-first --offload activations+parameters"),
    ("bf16-offload-all-dp2-pp2-zero1", "uneven", "--dp 2 --pp 2 --vp 3 --zero 1 --micro-batch 1 --schedule breadth-first --precision bf16 "
     "--offload optimizer+activations+parameters"),
    ("overlap-dp2-zero1", "even", "--dp 2 --zero 1 --micro-batch 2 --overlap on"),
    ("overlap-dp2-tp2-pp2-recompute", "even", "--dp 2 --tp 2 --pp 2 --micro-batch 1 --recompute full --overlap on"),
    ("overlap-tied-dp2-pp2-zbv", "tied", "--dp 2 --pp 2 --micro-batch 1 --schedule zbv --overlap on"),
    ("overlap-dp2-cp2-zero1", "even", "--dp 2 --cp 2 --zero 1 --micro-batch 2 --overlap on"),
    ("overlap-tp2-pp2", "even", "--tp 2 --pp 2 --micro-batch 2 --overlap on"),
    ("bf16-overlap-dp2-pp2-zero1", "even", "--dp 2 --pp 2 --zero 1 --micro-batch 1 --precision bf16 --overlap on"),
    ("experts-tp2-ep2", "experts", "--tp 2 --ep 2 --micro-batch 4"),
    ("experts-dp4-ep4", "experts", "--dp 4 --ep 4 --micro-batch 2"),
    ("experts-dp4-ep2-zero1", "experts", "--dp 4 --ep 2 --zero 1 --micro-batch 1"),
    ("experts-dp2-tp2-pp2-ep4-sp-zero1-recompute", "experts",
     "--dp 2 --tp 2 --pp 2 --ep 4 --sp --zero 1 --micro-batch 1 --recompute full"),
    ("shared-experts-dp2-tp2-ep4-sp", "shared-experts", "--dp 2 --tp 2 --ep 4 --sp --micro-batch 2"),
    ("shared-experts-dp4-pp2-ep2-zb1p", "shared-experts", "--dp 4 --pp 2 --ep 2 --micro-batch 1 --schedule zb1p"),
    ("latent-experts-dp2-tp2-ep4-zero1", "latent-experts", "--dp 2 --tp 2 --ep 4 --zero 1 --micro-batch 2"),
    ("latent-experts-tp4-pp2-ep4-sp-interleaved", "latent-experts",
     "--tp 4 --pp 2 --vp 2 --ep 4 --sp --micro-batch 2 --recompute selective"),
    ("overlap-experts-dp4-ep2-zero1", "experts", "--dp 4 --ep 2 --zero 1 --micro-batch 1 --overlap on"),
    ("searched-experts-4", "experts", "--ranks 4 --ep 4"),
    ("searched-4", "even", "--ranks 4"),
    ("searched-uneven-3-tp", "uneven", "--ranks 3 --tp 3"),
    ("searched-tied-pp", "tied", "--ranks 4 --pp 2"),
    ("bf16-micro-batches", "even", "--dp 1 --tp 1 --pp 1 --micro-batch 2 --precision bf16"),
    ("bf16-dp2", "even", "--dp 2 --micro-batch 2 --precision bf16"),
    ("bf16-tp2", "even", "--tp 2 --micro-batch 4 --precision bf16"),
    ("bf16-tp4", "even", "--tp 4 --micro-batch 8 --precision bf16"),
    ("bf16-pp4-zb1p", "even", "--pp 4 --micro-batch 1 --schedule zb1p --precision bf16"),
    ("bf16-pp2-interleaved", "even", "--pp 2 --vp 2 --micro-batch 1 --precision bf16"),
    ("bf16-tied-pp2-zbv", "tied", "--pp 2 --micro-batch 1 --schedule zbv --precision bf16"),
    ("bf16-uneven-tp3-sp", "uneven", "--tp 3 --sp --micro-batch 4 --precision bf16"),
    ("bf16-uneven-dp4-zero1", "uneven", "--dp 4 --zero 1 --micro-batch 1 --precision bf16"),
    ("bf16-tied-tp2-pp2-sp-zb1p", "tied", "--tp 2 --pp 2 --sp --micro-batch 1 --schedule zb1p --precision bf16"),
    ("bf16-selective-recompute-tp2", "even", "--tp 2 --micro-batch 2 --recompute selective --precision bf16"),
    ("bf16-dp2-tp2-pp2-sp-zero1-recompute", "even",
     "--dp 2 --tp 2 --pp 2 --sp --zero 1 --micro-batch 1 --recompute full --precision bf16"),
    ("bf16-memory-budget-pp2", "even", "--pp 2 --micro-batch 1 --schedule gpipe --memory 0.0008 --precision bf16"),
    ("bf16-cp4", "even", "--cp 4 --micro-batch 4 --precision bf16"),
    ("bf16-ulysses-cp2-tp2-pp2-sp-zero2", "even",
     "--cp 2=ulysses --tp 2 --pp 2 --sp --zero 2 --micro-batch 1 --precision bf16"),
    ("bf16-uneven-cp2-tp3", "uneven", "--cp 2 --tp 3 --micro-batch 4 --precision bf16"),
    ("bf16-dp2-cp2-tp2-pp2-sp-zero1-recompute", "even",
     "--dp 2 --cp 2 --tp 2 --pp 2 --sp --zero 1 --micro-batch 1 --recompute full --precision bf16"),
    ("bf16-window-cp2-tp4-zero1", "window", "--cp 2 --tp 4 --zero 1 --micro-batch 4 --precision bf16"),
    ("bf16-searched-4", "even", "--ranks 4 --precision bf16"),
]


def train_program(program, text, steps, flags=()):
    """Trains; returns the losses, the gradient norms and the parameters."""
    saved = program + ".safetensors"
    log = programs.train(program, text, steps, flags, lr="1e-3", warmup="5", seed="1", save_parameters=saved)
    losses, norms = [line["loss"] for line in log], [line["grad_norm"] for line in log]
    if len(losses) != steps:
        raise programs.Failed(f"{program}: the log has {len(losses)} losses, not {steps}")
    return losses, norms, tensors.read(saved)[0]


def train(build, scratch, name, model, options, optimize):
    """Compiles a model of Inputs/ and trains it."""
    program = programs.compile_model(build, os.path.join(HERE, "Inputs", model + ".json"), SHAPE + options, os.path.join(scratch, name), optimize)
    return train_program(program, os.path.join(scratch, "text"), STEPS)


def train_single(build, scratch, model, precision, optimize):
    options = ["--ranks", "1", "--micro-batch", "8", "--precision", precision]
    return train(build, scratch, f"single-{model}-{precision}", model, options, optimize)


def precision_of(options):
    return "bf16" if "bf16" in options else "f32"


def compare(found, expected, precision="f32"):
    """Problems, and the largest relative difference of a loss, of a gradient norm and of a parameter."""
    problems, largest = [], []
    loss, norm, parameter = TOLERANCES[precision]
    for what, values, wanted, tolerance in (("loss", found[0], expected[0], loss), ("gradient norm", found[1], expected[1], norm)):
        errors = [abs(a - b) / abs(b) for a, b in zip(values, wanted)]
        largest.append(max(errors))
        wrong = [step for step, error in enumerate(errors) if not error <= tolerance]
        if wrong:
            step = wrong[0]
            problems.append(f"the {what} of step {step + 1} differs by {errors[step]:.2e}: {values[step]} and {wanted[step]}")
    differing, worst, _ = tensors.compare(found[2], expected[2], parameter)
    return problems + differing, largest + [worst]


def beyond_rounding(found, expected, exact):
    """Problems where a bf16 run is over twice as far from the f32 run `exact` of one rank as the bf16 run `expected` of one rank.

    Two programs that round sums of other orders may be apart by about what rounding moves each of them from f32."""
    problems = []

    def judge(what, mine, theirs):
        if not mine <= 2 * theirs:
            problems.append(f"{what} is {mine:.2e} from f32, where one rank in bf16 is {theirs:.2e}")

    for what, place in (("the loss", 0), ("the gradient norm", 1)):
        apart = [max(abs(a - b) / abs(b) for a, b in zip(run[place], exact[place])) for run in (found, expected)]
        judge(what, *apart)
    for name, (_, values) in exact[2].items():
        judge(f"'{name}'", *(tensors.relative_l2(run[2][name][1], values) for run in (found, expected)))
    return problems


def in_f32(options):
    """Options of a bf16 row without their precision."""
    place = options.index("--precision")
    return options[:place] + options[place + 2:]


def judge_in_f32(found, expected, exact, wide):
    """Errors of a bf16 run beyond the rounding error: `exact` is one rank in f32, `wide` the layout in f32."""
    return ["in f32, " + problem for problem in compare(wide, exact)[0]] + beyond_rounding(found, expected, exact)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--jobs", type=int, default=2, help="layouts run at a time")
    parser.add_argument("--optimize", type=int, default=0, help="what LLVM spends on their code, as ppc-compile takes it (0)")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    whole = {row[0] for row in LAYOUTS} & set(arguments.names)
    parts = set(arguments.names) - whole
    rows = [row for row in LAYOUTS if not arguments.names or row[0] in whole or any(part in row[0] for part in parts)]
    if not rows:
        parser.error("no layout has such a name")
    failed, level = 0, arguments.optimize
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        with open(os.path.join(scratch, "text"), "wb") as file:
            file.write(programs.english(20000))
        start = time.time()
        models = sorted({(model, precision_of(options)) for _, model, options in rows})
        single = {key: pool.submit(train_single, arguments.build, scratch, *key, level) for key in models}
        parallel = [(name, (model, precision_of(options)), pool.submit(train, arguments.build, scratch, name, model, options.split(), level))
                    for name, model, options in rows]
        print(f"{'relative differences':35} {'loss':>9} {'gradient norm':>15} {'parameters':>12}")
        for (name, model, future), (_, _, options) in zip(parallel, rows):
            try:
                found, expected, judged = future.result(), single[model].result(), ""
                problems, (loss, norm, parameter) = compare(found, expected, model[1])
                if problems and model[1] == "bf16":
                    exact = train_single(arguments.build, scratch, model[0], "f32", level)
                    wide = train(arguments.build, scratch, name + "-f32", model[0], in_f32(options.split()), level)
                    problems, judged = judge_in_f32(found, expected, exact, wide), "  (judged by f32)"
                print(f"{name:35} {loss:9.1e} {norm:15.1e} {parameter:12.1e}{judged if not problems else '  DIFFERS'}")
            except programs.Failed as failure:
                problems = [str(failure)]
                print(f"{name:35} FAILED")
            for problem in problems[:5]:
                print(f"    {problem}")
            failed += bool(problems)
    print(f"{len(rows) - failed} of {len(rows)} layouts equal the single-rank run ({time.time() - start:.0f} s)")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
