#!/usr/bin/env python3
"""Packs the files that a machine with a GPU needs to try programs of PPC, without an installation of PPC.

    pack.py --build BUILD -o FOLDER [--arch sm_80,sm_90a,sm_100a] [--without-large] [ROW...]

The folder has the programs of test/Integration/cuda.py (all, or the rows that are named) with the losses of the same programs of
the CPU backend, trained here; one of a LLaMA of 1.1 billion parameters, whose steps are timed, and once more with marks between its
operations; ppc-bench; the libraries that these are linked with; and run.py. Copy it, or make an archive of it, and start `python3
FOLDER/run.py` there.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../test/Integration"))
import cuda  # noqa: E402
import programs  # noqa: E402

STEPS = 10
# Sizes of TinyLlama 1.1B (Zhang et al., 2024).
LARGE = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
         "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "max_position_embeddings": 2048, "initializer_range": 0.02, "tie_word_embeddings": False, "hidden_act": "silu"}
LARGE_SHAPE = {"seq-len": 2048, "global-batch": 8, "micro-batch": 2}
# Libraries that every Linux has.
SYSTEM = r"linux-vdso|ld-linux|libc\.so|libm\.so|libpthread|libdl\.so|librt\.so"


def libraries(program):
    """Paths of the libraries that a program is linked with, but those that every system has."""
    text = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return [path for name, path in re.findall(r"(\S+) => (/\S+)", text) if not re.match(SYSTEM, name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("-o", dest="folder", required=True, help="folder to make")
    parser.add_argument("--arch", default="", help="architectures of --cuda-arch; default: all")
    parser.add_argument("--without-large", action="store_true", help="leave out the model whose steps are timed")
    parser.add_argument("rows", nargs="*")
    arguments = parser.parse_args()
    if os.path.exists(arguments.folder):
        parser.error(f"{arguments.folder} exists: name a folder that does not")
    if unknown := set(arguments.rows) - set(cuda.ROWS):
        parser.error(f"no row is called {', '.join(sorted(unknown))}; there are {', '.join(cuda.ROWS)}")
    os.makedirs(os.path.join(arguments.folder, "lib"))
    build = os.path.realpath(arguments.build)
    arch = ["--cuda-arch", arguments.arch] if arguments.arch else []
    text = os.path.join(arguments.folder, "text")
    with open(text, "wb") as file:
        file.write(programs.english(20000))
    facts = {"steps": STEPS, "rows": {}}
    for name in arguments.rows or cuda.ROWS:
        family, layout, precision = cuda.ROWS[name][:3]
        model = cuda.configuration(arguments.folder, family)
        options = [*cuda.shape(arguments.folder, layout), "--precision", precision]
        host = programs.compile_model(build, model, options, os.path.join(arguments.folder, "host"))
        losses = cuda.losses(host, text, STEPS)
        os.remove(host)
        program = programs.compile_model(build, model, [*options, "--target", "cuda", *arch], os.path.join(arguments.folder, name))
        facts["rows"][name] = {"losses": losses, "tolerance": cuda.TOLERANCE[precision]}
        print(f"{name}: {os.path.getsize(program) / 1e6:.1f} MB", flush=True)
    if not arguments.without_large:
        config = os.path.join(arguments.folder, "large.json")
        with open(config, "w") as file:
            json.dump(LARGE, file, indent=1)
        options = [word for key, value in LARGE_SHAPE.items() for word in ("--" + key, str(value))]
        program = programs.compile_model(build, config, [*options, "--precision", "bf16", "--dp", "1", "--target", "cuda", *arch],
                                         os.path.join(arguments.folder, "large"))
        programs.compile_model(build, config, [*options, "--precision", "bf16", "--dp", "1", "--target", "cuda", "--profile", *arch],
                               os.path.join(arguments.folder, "large-profile"))
        facts["large"] = {"config": LARGE, **LARGE_SHAPE}
        print(f"large: {os.path.getsize(program) / 1e6:.1f} MB", flush=True)
    bench = os.path.join(build, "bin/ppc-bench")
    shutil.copy(bench, arguments.folder)
    for path in {*libraries(program), *libraries(bench)}:
        shutil.copy(path, os.path.join(arguments.folder, "lib"))
    for name in ("run.py", "torch_step.py"):
        shutil.copy(os.path.join(HERE, name), arguments.folder)
    with open(os.path.join(arguments.folder, "facts.json"), "w") as file:
        json.dump(facts, file, indent=1)


if __name__ == "__main__":
    main()
