#!/usr/bin/env python3
"""Runs a program for each capability that layouts have, and prints the table of docs/reference/Capabilities.md.

    capabilities.py --build BUILD [--target host|cuda] [--steps N] [--jobs N] [--rows] [NAME...]

On the CPU backend each program is compared with the single-rank program: the loss of each step within 1e-5, every parameter after the last within
1e-4 (relative L2; in bf16 as in equivalence.py). With --target cuda programs for GPUs run on the PTX emulator, a few
steps, and their losses are compared. --rows prints the rows without running them. A name, or a part of one, selects rows.
"""
import argparse
import concurrent.futures
import os
import sys
import tempfile

import cuda
import equivalence
import programs

HERE = os.path.dirname(os.path.realpath(__file__))
SEVERAL = "grid: {{ {grid} }}\nstages: [ 0 ]\nschedule: 1f1b\nmicro_batches: 2\ndimensions: {{ {dimensions} }}\n"

# id, what, name, model of Inputs/, options of ppc-compile or a plan file
ROWS = [
    ("A1", "gradients all-reduced in buckets, overlapped with backward", "dp-overlap", "even", "--dp 2 --micro-batch 1 --overlap on"),
    ("A2", "optimizer state sharded (ZeRO-1)", "zero-1", "uneven", "--dp 2 --zero 1 --micro-batch 1"),
    ("A3", "gradients sharded (ZeRO-2)", "zero-2", "uneven", "--dp 2 --zero 2 --micro-batch 1"),
    ("A4", "parameters sharded, gathered before use (ZeRO-3, FSDP)", "zero-3", "uneven", "--dp 2 --zero 3 --micro-batch 1"),
    ("A4", "likewise, gradients unsharded and reduced once per step", "once-per-step", "uneven", "--dp 2 --zero 3 --gradient-group 1 --micro-batch 1"),
    ("A5", "state sharded inside groups, copied between them (HSDP)", "hybrid", "uneven", "--dp 4 --zero 3 --shard-group 2 --micro-batch 1"),
    ("A5", "likewise, gradients unsharded, reduced and summed over copies once per step", "hybrid-once", "even",
     "--dp 4 --zero 3 --shard-group 2 --gradient-group 1 --micro-batch 1"),
    ("A6", "parameters and gradients over groups of ranks, optimizer state over all of them", "own-groups", "uneven",
     SEVERAL.format(grid="inner: 2, outer: 2", dimensions="batch: [ outer, inner ]") + "update: [ inner, outer ]\ngradients: [ inner ]\nstorage: [ inner ]\n"),
    ("A6", "parameters whole, gradients over groups, optimizer state over all ranks", "own-groups-gradients", "tied",
     SEVERAL.format(grid="inner: 2, outer: 2", dimensions="batch: [ outer, inner ]") + "update: [ inner, outer ]\ngradients: [ inner ]\n"),
    ("A6", "gradients over groups of ranks, optimizer state over all of them, in bf16", "gradient-group", "even",
     "--dp 4 --zero 2 --gradient-group 2 --micro-batch 1 --precision bf16"),
    ("A6", "gradients and parameters over groups, optimizer state over all ranks, in bf16", "parameter-group", "even",
     "--dp 4 --zero 3 --gradient-group 2 --parameter-group 2 --micro-batch 1 --precision bf16"),
    ("A6", "parameters over groups, gradients whole, optimizer state over all ranks", "own-groups-once", "uneven",
     SEVERAL.format(grid="inner: 2, outer: 2", dimensions="batch: [ outer, inner ]") + "update: [ inner, outer ]\nstorage: [ inner ]\n"),
    ("A6", "gradients over groups, parameters and optimizer state over all ranks", "own-groups-stored", "tied",
     SEVERAL.format(grid="inner: 2, outer: 2", dimensions="batch: [ outer, inner ]")
     + "update: [ inner, outer ]\ngradients: [ inner ]\nstorage: [ inner, outer ]\n"),
    ("A7", "parameter shards rotate over the ranks (rotated tensor parallelism)", "rotate", "uneven", "--dp 2 --zero 3 --rotate on --micro-batch 1"),
    ("A7", "over four ranks", "rotate-4", "even", "--dp 4 --zero 3 --rotate on --micro-batch 1"),
    ("B1", "column- and row-parallel matmuls over tp", "tp", "even", "--tp 2 --micro-batch 2"),
    ("B2", "matrices sharded in both dimensions, activations by features", "tensor-2d", "even", "--tp 4 --tp-rows 2 --micro-batch 2"),
    ("B2", "likewise, between matmuls by sequence too", "tensor-2d-sequence", "even", "--tp 4 --tp-rows 2 --sp --micro-batch 2"),
    ("B2", "with data parallelism, sharded state, and a pipeline (2.5D)", "tensor-2d-zero", "even",
     "--dp 2 --tp 4 --tp-rows 2 --pp 2 --zero 3 --sp --micro-batch 1 --recompute full"),
    ("B3", "matrices sharded in both dimensions, sequences over a third axis", "tensor-3d", "even",
     "--tp 8 --tp-rows 2 --tp-depth 2 --micro-batch 2"),
    ("B3", "the third axis shards heads and feed-forward widths, not columns", "tensor-3d-plan", "even",
     SEVERAL.format(grid="depth: 2, rows: 2, cols: 2",
                    dimensions="ffn: [ cols, depth ], kv_heads: [ cols ], vocab: [ cols ], hidden: [ rows ]")
     + "activations: { sequence: [ depth ] }\n"),
    ("B4", "vocabulary over tp, tied embeddings", "vocabulary", "tied", "--tp 4 --micro-batch 2"),
    ("B5", "sizes that tp does not divide", "uneven-tp", "uneven", "--tp 3 --micro-batch 2"),
    ("C1", "GPipe", "gpipe", "even", "--pp 2 --micro-batch 1 --schedule gpipe"),
    ("C2", "1F1B", "1f1b", "even", "--pp 2 --micro-batch 1 --schedule 1f1b"),
    ("C3", "interleaved 1F1B", "interleaved", "even", "--pp 2 --vp 2 --micro-batch 1 --schedule interleaved"),
    ("C3", "breadth-first", "breadth-first", "even", "--pp 2 --vp 2 --micro-batch 1 --schedule breadth-first"),
    ("C4", "zero bubble, ZB-H1", "zb1p", "even", "--pp 2 --micro-batch 1 --schedule zb1p"),
    ("C4", "zero bubble, ZB-H2", "zb2p", "even", "--pp 2 --micro-batch 1 --schedule zb2p"),
    ("C5", "ZB-V", "zbv", "tied", "--pp 2 --micro-batch 1 --schedule zbv"),
    ("C5", "V-Half", "v-half", "even", "--pp 2 --micro-batch 1 --schedule v-half"),
    ("C5", "V-Min", "v-min", "even", "--pp 2 --micro-batch 1 --schedule v-min"),
    ("C5", "wave", "wave", "even", "--pp 2 --micro-batch 1 --schedule wave"),
    ("C5", "Chimera", "chimera", "tied", "--pp 2 --micro-batch 1 --schedule chimera"),
    ("C5", "DualPipe", "dualpipe", "even", "--pp 2 --micro-batch 1 --schedule dualpipe"),
    ("C5", "DualPipe-V", "dualpipev", "even", "--pp 2 --micro-batch 1 --schedule dualpipev"),
    ("C6", "sequences in slices", "seq1f1b", "tied", "--pp 2 --micro-batch 1 --schedule seq1f1b"),
    ("C6", "with tensor and sequence parallelism, ZeRO 2", "seq1f1b-zero2", "even",
     "--dp 2 --tp 2 --pp 2 --sp --zero 2 --micro-batch 1 --schedule seq1f1b --recompute full"),
    ("C9", "stages of any layers", "layers-per-stage", "uneven", "--pp 3 --vp 2 --micro-batch 1 --schedule breadth-first --layers-per-stage 0,1,2,1,1,0"),
    ("C9", "stages partitioned by predicted time", "balanced", "uneven", "--pp 3 --micro-batch 1"),
    ("D1", "sequences over tp between its regions", "sequence-parallel", "even", "--tp 2 --sp --micro-batch 2"),
    ("D3", "context parallelism, heads exchanged for the sequence (Ulysses)", "ulysses", "even", "--cp 2=ulysses --tp 2 --sp --micro-batch 2"),
    ("D3", "with fewer key-value heads than ranks", "ulysses-groups", "window", "--cp 4=ulysses --micro-batch 2"),
    ("D5", "context parallelism, keys and values gathered", "context", "window", "--cp 2 --micro-batch 2"),
    ("E1", "experts over ranks, all-to-all", "experts", "experts", "--dp 2 --ep 2 --micro-batch 2"),
    ("E1", "experts with context parallelism", "experts-context", "experts", "--dp 2 --cp 2 --ep 2 --micro-batch 2"),
    ("E1", "experts over context-parallel ranks as well", "experts-sequences", "experts", "--dp 2 --cp 2 --ep 4 --micro-batch 2"),
    ("E2", "shared experts", "shared-experts", "shared-experts", "--tp 2 --ep 2 --micro-batch 2"),
    ("E4", "experts over tp and dp, dense parts over tp", "folded-experts", "latent-experts", "--dp 2 --tp 2 --ep 4 --micro-batch 2"),
    ("H6", "matmuls in bf16", "bf16", "even", "--tp 2 --micro-batch 2 --precision bf16"),
    ("I1", "recompute selectively", "selective", "even", "--pp 2 --micro-batch 1 --recompute selective"),
    ("I1", "recompute whole layers", "full", "even", "--pp 2 --micro-batch 1 --recompute full"),
    ("I2", "recompute chosen for a memory budget", "budget", "even", "--pp 2 --micro-batch 1 --schedule gpipe --memory 0.0008"),
    ("I4", "optimizer state in the memory of the host", "offload-optimizer", "uneven", "--dp 2 --zero 1 --micro-batch 1 --offload optimizer"),
    ("I4", "likewise with parameters cast to bf16 for matmuls", "offload-bf16", "even",
     "--dp 2 --pp 2 --zero 2 --micro-batch 1 --precision bf16 --offload optimizer"),
    ("I4", "activations saved for backward in host memory", "offload-activations", "even", "--pp 4 --micro-batch 1 --offload activations"),
    ("I4", "both, with two stages per device", "offload-both", "tied",
     "--dp 2 --pp 2 --vp 2 --zero 2 --micro-batch 1 --schedule interleaved --offload optimizer+activations"),
    ("I4", "parameters in the memory of the host, stage by stage", "offload-parameters", "even",
     "--pp 2 --vp 3 --micro-batch 1 --schedule breadth-first --offload parameters"),
    ("I4", "all three, in bf16", "offload-all", "uneven",
     "--dp 2 --pp 2 --vp 3 --zero 1 --micro-batch 1 --schedule breadth-first --precision bf16 --offload optimizer+activations+parameters"),
    ("J4", "chunked matmuls and all-reduces, rows of two sequences", "pieces", "even", "--tp 2 --micro-batch 2 --product-pieces 4"),
    ("J4", "over four ranks, rows that do not divide", "pieces-4", "uneven", "--tp 4 --micro-batch 1 --product-pieces 3"),
    ("J4", "with a pipeline, data parallelism and recomputation", "pieces-pipeline", "even",
     "--dp 2 --tp 2 --pp 2 --zero 1 --micro-batch 1 --product-pieces 2 --recompute full"),
    ("J4", "in bf16", "pieces-bf16", "even", "--tp 2 --micro-batch 1 --product-pieces 3 --precision bf16"),
    ("J4", "chunked matmuls and reduce-scatters, with sequence parallelism", "pieces-sp", "even",
     "--tp 2 --sp=on --micro-batch 1 --product-pieces 3"),
    ("J4", "likewise over four ranks, rows of two sequences, with ZeRO 3", "pieces-sp-4", "even",
     "--dp 2 --tp 4 --sp=on --zero 3 --micro-batch 2 --product-pieces 4"),
    ("J4", "likewise in bf16, with recomputation", "pieces-sp-bf16", "even",
     "--tp 2 --sp=on --micro-batch 1 --product-pieces 2 --precision bf16 --recompute full"),
]


def options_of(scratch, name, layout):
    if layout.startswith("grid:"):
        path = os.path.join(scratch, name + ".yaml")
        with open(path, "w") as file:
            file.write(layout)
        return ["--plan", path]
    return layout.split()


def host(build, scratch, row, steps, single):
    """The largest relative differences of a loss and of a parameter; raises Failed where one is too large."""
    _, _, name, model, layout = row
    options = equivalence.SHAPE + options_of(scratch, name, layout)
    program = programs.compile_model(build, os.path.join(HERE, "Inputs", model + ".json"), options, os.path.join(scratch, name))
    trained = equivalence.train_program(program, os.path.join(scratch, "text"), steps)
    problems, (loss, _, parameter) = equivalence.compare(trained, single.result(), equivalence.precision_of(options))
    if problems:
        raise programs.Failed("; ".join(problems[:3]))
    return f"{loss:.1e}", f"{parameter:.1e}"


def on_stand_in(build, scratch, row, steps, single):
    """The largest relative difference of a loss."""
    _, _, name, model, layout = row
    options = equivalence.SHAPE + options_of(scratch, name, layout) + ["--target", "cuda"]
    program = programs.compile_model(build, os.path.join(HERE, "Inputs", model + ".json"), options, os.path.join(scratch, name))
    found = cuda.losses(program, os.path.join(scratch, "text"), steps, "--share-devices", env=cuda.standing_in(build, 0))
    wanted = single.result()
    tolerance = cuda.TOLERANCE[equivalence.precision_of(options)]
    largest = max(abs(a - b) / abs(b) for a, b in zip(found, wanted))
    if len(found) != len(wanted) or not largest <= tolerance:
        raise programs.Failed(f"losses {found}, on one rank of this machine {wanted}")
    return (f"{largest:.1e}",)


def alone(build, scratch, model, precision, steps, target):
    """The single-rank program of this machine."""
    options = equivalence.SHAPE + ["--ranks", "1", "--micro-batch", "8", "--precision", precision]
    program = programs.compile_model(build, os.path.join(HERE, "Inputs", model + ".json"), options,
                                     os.path.join(scratch, f"single-{model}-{precision}"))
    text = os.path.join(scratch, "text")
    return cuda.losses(program, text, steps) if target == "cuda" else equivalence.train_program(program, text, steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--target", choices=["host", "cuda"], default="host")
    parser.add_argument("--steps", type=int, help="20, on the PTX emulator 4")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--rows", action="store_true", help="print the rows without results")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    build, target = os.path.abspath(arguments.build), arguments.target
    rows = [row for row in ROWS if not arguments.names or any(part in row[2] for part in arguments.names)]
    if not rows:
        parser.error("no row has such a name")
    if arguments.rows:
        print("\n".join(f"| {id} | {what} | `{name}` |" for id, what, name, _, _ in rows))
        return 0
    steps = arguments.steps or (20 if target == "host" else 4)
    failures = []
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        with open(os.path.join(scratch, "text"), "wb") as file:
            file.write(programs.english(20000))
        needed = sorted({(row[3], equivalence.precision_of(row[4])) for row in rows})
        single = {key: pool.submit(alone, build, scratch, *key, steps, target) for key in needed}
        run = host if target == "host" else on_stand_in
        runs = [(row, pool.submit(run, build, scratch, row, steps, single[row[3], equivalence.precision_of(row[4])])) for row in rows]
        print("| id | capability | row | largest difference of a loss |" + (" of a parameter |" if target == "host" else ""))
        print("|---|---|---|---|" + ("---|" if target == "host" else ""))
        for (id, what, name, _, _), future in runs:
            try:
                cells = future.result()
            except programs.Failed as failure:
                failures.append(f"{name}: {failure}")
                cells = ("FAILED",)
            print(f"| {id} | {what} | `{name}` | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{len(rows) - len(failures)} of {len(rows)} compute what one rank does")
    print("\n".join(failures), end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
