#!/usr/bin/env python3
"""Weights as published files hold them: numbers of 8 and 4 bits with scales, names of models of several parts, one matrix of several projections.

    check_formats.py --build BUILD

Random bytes are written in each format, and their values, decoded here from the formats' definitions, in f32: programs must compute the same loss
from both and save the same bits. What is missing or does not fit is refused by the file and the tensor.
"""
import argparse
import os
import random
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
from check_models import Checks, read, write  # noqa: E402

BLOCK = 8
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def rounded(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def e4m3(byte):
    exponent, fraction = byte >> 3 & 15, byte & 7
    value = (1 + fraction / 8) * 2.0 ** (exponent - 7) if exponent else fraction / 8 * 2.0 ** -6
    return -value if byte & 128 else value


def numbers(draw, count, least=0, most=126):
    return bytes(draw.randint(least, most) + 128 * draw.randint(0, 1) for _ in range(count))


def fp8(name, rows, columns, draw, blocks, scale_type):
    """(tensors of the file, values): scales of blocks, of rows or one."""
    height, width = blocks or (rows, columns)
    data = numbers(draw, rows * columns)
    shape = [-(-rows // height), -(-columns // width)]
    scales = [draw.randint(1, 255) / 65536 for _ in range(shape[0] * shape[1])]
    values = [rounded(e4m3(data[r * columns + c]) * scales[r // height * shape[1] + c // width]) for r in range(rows) for c in range(columns)]
    bf16 = b"".join(floats([scale])[2:] for scale in scales)
    kept = ["BF16", shape, bf16] if scale_type == "BF16" else ["F32", shape if blocks else [], floats(scales)]
    return {name: ["F8_E4M3", [rows, columns], data], name + ("_scale_inv" if blocks and height > 1 else "_scale"): kept}, values


def nvfp4(name, rows, columns, draw, blocks, divides):
    data = bytes(draw.randint(0, 255) for _ in range(rows * columns // 2))
    scales = bytes(draw.randint(32, 80) for _ in range(rows * columns // 16))
    whole = 1 / 64
    values = []
    for index in range(rows * columns):
        half = data[index // 2] >> 4 if index % 2 else data[index // 2] & 15
        scale = rounded(e4m3(scales[index // 16]) * whole)
        values.append(rounded((-1 if half & 8 else 1) * E2M1[half & 7] * scale))
    where = name + "_packed" if divides else name
    return {where: ["U8", [rows, columns // 2], data], name + "_scale": ["F8_E4M3", [rows, columns // 16], scales],
            name + ("_global_scale" if divides else "_scale_2"): ["F32", [1] if divides else [], floats([64.0 if divides else whole])],
            name[:-len("weight")] + "input_scale": ["F32", [], floats([1.0])]}, values


def int4(name, rows, columns, draw, blocks, _):
    data = bytes(draw.randint(0, 255) for _ in range(rows * columns // 2))
    scales = [draw.randint(1, 255) / 4096 for _ in range(rows * columns // BLOCK)]
    values = [rounded(((data[i // 2] >> 4 if i % 2 else data[i // 2] & 15) - 8) * scales[i // BLOCK]) for i in range(rows * columns)]
    bf16 = b"".join(floats([scale])[2:] for scale in scales)
    return {name + "_packed": ["I32", [rows, columns // 8], data], name + "_scale": ["BF16", [rows, columns // BLOCK], bf16],
            name + "_shape": ["I64", [2], struct.pack("<2q", rows, columns)]}, values


# The quantisation (of matrices of 16 columns or more): a function, its blocks, its variant.
FORMATS = {"fp8 blocks": (fp8, (BLOCK, BLOCK), "F32"), "fp8 blocks, bf16 scales": (fp8, (BLOCK, BLOCK), "BF16"),
           "fp8 rows": (fp8, (1, 16), "F32"), "fp8 per tensor": (fp8, None, "F32"), "nvfp4": (nvfp4, None, False),
           "nvfp4, packed": (nvfp4, None, True), "int4": (int4, None, None)}


def quantized(tensors, form, draw):
    """(tensors in the format, in f32) of a folder."""
    make, blocks, variant = form
    stored, plain = {}, {}
    for name, (kind, shape, data) in tensors.items():
        if name.endswith("proj.weight") and ".mlp." in name and len(shape) == 2 and shape[1] == 16:
            parts, values = make(name, *shape, draw, blocks, variant)
            stored.update(parts)
            plain[name] = ["F32", shape, floats(values)]
        else:
            stored[name] = plain[name] = [kind, shape, data]
    return stored, plain


def said(form):
    return {"quant_method": "fp8", **({"weight_block_size": list(form[1])} if form[1] and form[1][0] > 1 else {})}


def formats(checks):
    tensors, config = checks.fixture("deepseek-v3")
    program = checks.compile(checks.folder(tensors, config), ["--tp", "2"])
    for name, form in FORMATS.items():
        stored, plain = quantized(tensors, form, random.Random(name))
        folder = checks.folder(stored, {**config, "quantization_config": said(form)})
        saved, wanted = os.path.join(checks.scratch, "saved"), checks.folder(plain, config)
        _, _, loss = checks.run(program, wanted)
        found = checks.run(program, folder, "--save-weights", saved)
        checks.same(name, found, loss)
        checks.expect(f"{name} is reported", "dequantised from" in found[1], found[1])
        with open(os.path.join(saved, "config.json")) as file:
            checks.expect(f"{name}: the saved folder says no format", "quantization_config" not in file.read(), "")
        kept = read(os.path.join(saved, "model.safetensors"))
        checks.expect(f"{name}: the same bits are saved", all(kept[each][2] == plain[each][2] for each in plain if plain[each][0] == "F32"),
                      [each for each in plain if plain[each][0] == "F32" and kept[each][2] != plain[each][2]][:3])


def damaged(checks):
    tensors, config = checks.fixture("deepseek-v3")
    program = checks.compile(checks.folder(tensors, config))
    one = "model.layers.1.mlp.experts.0.gate_proj.weight"

    def refused(what, form, change, *words, config_change=None):
        stored, _ = quantized(tensors, FORMATS[form], random.Random(1))
        change(stored)
        folder = checks.folder(stored, {**config, "quantization_config": config_change or said(FORMATS[form])})
        checks.refused(what, checks.run(program, folder), folder, *words)

    def without(name):
        return lambda stored: stored.pop(name)

    def set_to(name, value):
        return lambda stored: stored.update({name: value})

    refused("scales are missing", "fp8 blocks", without(one + "_scale_inv"), one, "_scale_inv", "values are unknown")
    refused("another block size", "fp8 blocks", lambda stored: None, "_scale_inv", "4 x 4", config_change={"weight_block_size": [4, 4]})
    refused("blocks that are none", "fp8 blocks", lambda stored: None, "weight_block_size", config_change={"weight_block_size": [0, 8]})
    refused("a number that is none", "fp8 per tensor", lambda stored: stored.update({one: [*stored[one][:2], b"\x7f" * 128]}), one, "finite")
    refused("a scale that is none", "fp8 per tensor", set_to(one + "_scale", ["F32", [], floats([float("inf")])]), one + "_scale", "finite")
    refused("no second scale", "nvfp4", without(one + "_scale_2"), one, "_scale_2")
    refused("groups of another size", "nvfp4", set_to(one + "_scale", ["F8_E4M3", [8, 2], b"\x40" * 16]), one + "_scale", "[8, 1]")
    refused("a zero that moves", "int4", set_to(one + "_zero_point", ["I32", [1, 2], b"\0" * 8]), one + "_zero_point")
    refused("another shape", "int4", set_to(one + "_shape", ["I64", [2], struct.pack("<2q", 8, 8)]), one + "_shape", "[8, 8]")


def parts(checks):
    """Names of files of several parts."""
    tensors, config = checks.fixture("qwen3-moe")
    program = checks.compile(checks.folder(tensors, config))
    _, _, loss = checks.run(program, checks.folder(tensors, config))
    tower = {"model.visual.blocks.0.attn.qkv.weight": ["F32", [2, 2], floats([1.0] * 4)]}
    for prefix, head in (("model.language_model.", "lm_head."), ("language_model.model.", "language_model.lm_head.")):
        renamed = {name.replace("model.", prefix, 1) if name.startswith("model.") else name.replace("lm_head.", head): tensor
                   for name, tensor in tensors.items()}
        found = checks.run(program, checks.folder({**renamed, **tower}, config))
        checks.same(prefix, found, loss)
        checks.expect("the vision part is reported", "model.visual.blocks.0.attn.qkv.weight" in found[1], found[1])
    folder = checks.folder({name.replace("model.", "trunk."): tensor for name, tensor in tensors.items()}, config)
    checks.refused("an unknown prefix", checks.run(program, folder), "missing: ", "the files hold ", "trunk.layers.*")
    checks.refused("a tower alone", checks.run(program, checks.folder(tower, config)), "no tensor of the text part", "model.visual")
    twice = {**tensors, "model.language_model.norm.weight": tensors["model.norm.weight"]}
    checks.refused("two names of one", checks.run(program, checks.folder(twice, config)), "model.language_model.norm.weight", "model.norm.weight")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    with tempfile.TemporaryDirectory() as scratch:
        checks = Checks(parser.parse_args().build, scratch)
        for check in (formats, damaged, parts):
            check(checks)
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
