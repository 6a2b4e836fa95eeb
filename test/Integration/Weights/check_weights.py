#!/usr/bin/env python3
"""Compiles and starts programs from the folders of weights here, which transformers wrote (make_weights.py).

    check_weights.py --build BUILD [NAME...]

The loss of the first batch within LOSS_TOLERANCE of what transformers computed, under two layouts; then the weights that the
program writes without having changed them: the tensors of the folder, with the same names and shapes and exactly its values. A folder
of bf16 values is written as f32 under one layout and as bf16 under the other. Of models of several parts the text part is written, each
expert apart.
"""
import argparse
import array
import glob
import json
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import programs  # noqa: E402

SEQUENCE, BATCH, SEED = 16, 4, 7
LOSS_TOLERANCE = 1e-5
LAYOUTS = [["--dp", "1"], ["--tp", "2", "--pp", "2"]]


def text():
    return programs.english(3000)


def first_batch():
    """Ids and targets of the first step, row-major."""
    samples = programs.samples(text(), SEED, BATCH, SEQUENCE)
    return [token for sample in samples for token in sample[:-1]], [token for sample in samples for token in sample[1:]]


def values(kind, data):
    if kind == "BF16":
        return array.array("f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))
    return array.array("f", struct.unpack(f"<{len(data) // 2}e", data)) if kind == "F16" else array.array("f", data)


def tensors(folder):
    """{name: (shape, values)} and {name: type} of what all files of a folder hold."""
    found, types = {}, {}
    for path in glob.glob(os.path.join(folder, "*.safetensors")):
        with open(path, "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header, data = json.loads(file.read(size)), file.read()
        header.pop("__metadata__", None)
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            found[name] = (entry["shape"], values(entry["dtype"], data[begin:end]))
            types[name] = entry["dtype"]
    return found, types


def rows_of_experts(name, shape, numbers):
    """The tensors of each expert of a stack of them."""
    parts = ("gate", "up") if name.endswith("gate_up_proj") else ("down",)
    experts, rows, width = shape[0], shape[1] // len(parts), shape[2]
    for expert in range(experts):
        for part, which in enumerate(parts):
            first = (expert * len(parts) + part) * rows * width
            yield f"{name.rsplit('.', 1)[0]}.{expert}.{which}_proj.weight", ([rows, width], numbers[first:first + rows * width])


def text_part(held):
    """What a program writes of the tensors that a folder holds."""
    found = {}
    for name, (shape, numbers) in held.items():
        if name.startswith("model.visual."):
            continue
        name = name.replace("model.language_model.", "model.")
        stacked = name.endswith(("experts.gate_up_proj", "experts.down_proj"))
        found.update(rows_of_experts(name, shape, numbers) if stacked else {name: (shape, numbers)})
    return found


def check(name, build, scratch):
    folder, problems, errors = os.path.join(HERE, name), [], []
    with open(os.path.join(folder, "expected.json")) as file:
        expected = json.load(file)["loss"]
    data = os.path.join(scratch, "text")
    with open(data, "wb") as file:
        file.write(text())
    held, stored = tensors(folder)
    wanted = text_part(held)
    for index, layout in enumerate(LAYOUTS):
        narrow = index and set(stored.values()) == {"BF16"}
        shape = ["--seq-len", str(SEQUENCE), "--global-batch", str(BATCH)]
        program = programs.compile_model(build, folder, shape + layout, os.path.join(scratch, name))
        saved = os.path.join(scratch, f"{name}-{index}")
        log = programs.train(program, data, steps=1, lr=0, seed=SEED, weights=folder, save_weights=saved,
                             weight_file_bytes=20000 if index else 10 ** 9, weight_type="bf16" if narrow else "f32")
        errors.append(abs(log[0]["loss"] - expected) / expected)
        if not errors[-1] <= LOSS_TOLERANCE:
            problems.append(f"{' '.join(layout)}: the loss is {log[0]['loss']}, not {expected}")
        found, types = tensors(saved)
        unrounded = [tensor for tensor in found if tensor.endswith("e_score_correction_bias")]
        for tensor, kind in types.items():
            if kind != ("BF16" if narrow and tensor not in unrounded else "F32"):
                problems.append(f"'{tensor}' is written as {kind}")
        problems += [f"'{tensor}' is only in {'what was read' if tensor in wanted else 'what was written'}"
                     for tensor in sorted(set(wanted) ^ set(found))]
        problems += [f"'{tensor}' was changed" for tensor in set(wanted) & set(found) if wanted[tensor] != found[tensor]]
        try:
            with open(os.path.join(saved, "config.json")) as file:
                config = json.load(file)
            if config.get("torch_dtype", config.get("dtype")) != ("bfloat16" if narrow else "float32"):
                problems.append(f"config.json says {config.get('torch_dtype', config.get('dtype'))}")
        except FileNotFoundError:
            problems.append("config.json is missing")
    print(f"{name}: loss {max(errors):.1e}, {len(wanted)} tensors")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("cases", nargs="*", help="names of folders; all when none is given")
    arguments = parser.parse_args()
    names = arguments.cases or sorted(os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(HERE, "*/config.json")))
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            problems = check(name, arguments.build, scratch)
            for problem in problems:
                print("    " + problem)
            failed += bool(problems)
    sys.exit(1 if failed or not names else 0)


if __name__ == "__main__":
    main()
