"""Damage of an input file of a random command line, as data: [KIND, ARGUMENT...] for each edit.

Dimensions: depth (brackets, blocks, regions, attributes, types, aliases, locations, chains of ops), magnitude (a number of the file
becomes another), and paths that are not regular files.
"""
import os
import random
import re

DEPTHS = [33, 70, 1000, 20000, 200000]
NUMBERS = ["0", "-1", "1", "3", "7", "4096", "65537", "1000000", "2147483647", "2147483648", "4294967296", "1000000000000", "4611686018427387904",
           "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616", "1e15", "1e18", "1e308", "1e-308", "1e999", "0.5",
           "-0.0", "nan", "inf", "-inf", "", "null", "true", "many", "0x7fffffff"]
LONGEST = 64 << 20  # characters that lines are repeated to
SPECIAL = ["fifo", "full", "zero", "null", "folder", "empty", "sparse", "missing", "unreadable", "binary", "itself"]
BRACKETS = [("[", "]"), ('{"a":', "}"), ("[[],", "]"), ("{a: ", "}"), ("(", ")"), ("<", ">")]

NUMBER = re.compile(r"(?<![\w.%@#\"-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")
ANY_NUMBER = re.compile(r"(?<![%@#\w])\d+")  # in MLIR also an extent of a type


def nested(opening, closing, depth, closed):
    return opening * depth + "1" + (closing * depth if closed else "")


def nested_module(kind, depth):
    """MLIR text that is deep in one way."""
    if kind == "regions":
        return "module {\n" * depth + "}\n" * depth
    if kind == "functions":
        return "".join(f"func.func @f{i}() {{\n" for i in range(depth)) + "return\n}\n" * depth
    if kind == "repeats":
        return '"a.b"() ({\n' * depth + "}) : () -> ()\n" * depth
    if kind == "attributes":
        return "module attributes {a = " + "[" * depth + "]" * depth + "} {}\n"
    if kind == "dictionaries":
        return "module attributes {a = " + "{b = " * depth + "1" + "}" * depth + "} {}\n"
    if kind == "types":
        return "module attributes {a = " + "tuple<" * depth + "i1" + ">" * depth + "} {}\n"
    if kind == "functiontypes":
        return "module attributes {a = " + "(" * depth + "i1" + ") -> ()" * depth + "} {}\n"
    if kind == "aliases":
        return "#a0 = [1]\n" + "".join(f"#a{i} = [#a{i - 1}]\n" for i in range(1, depth)) + f"module attributes {{a = #a{depth - 1}}} {{}}\n"
    if kind == "doubling":
        return "#a0 = [1]\n" + "".join(f"#a{i} = [#a{i - 1}, #a{i - 1}]\n" for i in range(1, depth)) + f"module attributes {{a = #a{depth - 1}}} {{}}\n"
    if kind == "typealiases":
        return "!a0 = i1\n" + "".join(f"!a{i} = tuple<!a{i - 1}>\n" for i in range(1, depth)) + f"module attributes {{a = !a{depth - 1}}} {{}}\n"
    if kind == "locations":
        return "module {} loc(" + "callsite(" * depth + "unknown" + " at unknown)" * depth + ")\n"
    if kind == "locationaliases":
        return "module {} loc(#l0)\n" + "".join(f"#l{i} = loc(callsite(#l{i + 1} at unknown))\n" for i in range(depth)) + f"#l{depth} = loc(unknown)\n"
    if kind == "minus":
        return "module attributes {a = affine_map<(d0) -> (" + "-" * depth + "d0)>} {}\n"
    if kind == "sum":
        return "module attributes {a = affine_map<(d0)[s0] -> (d0" + " mod s0" * depth + ")>} {}\n"
    if kind == "chain":
        return chain(depth)
    if kind == "signatures":
        return "func.func @loss(" + ", ".join(f"%a{i}: tensor<1xf32>" for i in range(depth)) + ") { return }\n"
    raise ValueError(kind)


def chain(depth):
    """A loss after a chain of `count` ops."""
    lines = ['func.func @loss(%ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "seq"]},',
             '    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "seq"]},',
             '    %t: tensor<64x48xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "stream"], ppc.init = #ppc.init<normal, 0.5>}) -> tensor<f32> {',
             "  %x0 = ppc.embedding %t, %ids {ppc.layer = 0 : i64} : (tensor<64x48xf32>, tensor<8x16xi32>) -> tensor<8x16x48xf32>"]
    lines += [f"  %x{i + 1} = ppc.silu %x{i} {{ppc.layer = {i + 1} : i64}} : tensor<8x16x48xf32>" for i in range(depth)]
    layer = f"{{ppc.layer = {depth + 1} : i64}}"
    lines += [f'  %logits = ppc.matmul "bsh,vh->bsv" %x{depth}, %t {layer} : (tensor<8x16x48xf32>, tensor<64x48xf32>) -> tensor<8x16x64xf32>',
              f"  %nll, %lse = ppc.cross_entropy %logits, %targets {layer} : (tensor<8x16x64xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)",
              f"  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] {layer} : tensor<8x16xf32> to tensor<f32>",
              f"  %loss = ppc.scale %sum by 7.812500e-03 {layer} : tensor<f32>", "  return %loss : tensor<f32>", "}"]
    return "\n".join(lines) + "\n"


MODULES = ["regions", "functions", "repeats", "attributes", "dictionaries", "types", "functiontypes", "aliases", "doubling", "typealiases", "locations",
           "locationaliases", "minus", "sum", "chain", "signatures"]


def draw(rng, suffix):
    """One edit of a file with that suffix."""
    kinds = ["number"] * 6 + ["nest"] * 3 + ["special"] * 2 + ["duplicate", "cut", "repeat"]
    if suffix == ".mlir":
        kinds += ["module"] * 5
    kind = rng.choice(kinds)
    place = rng.randrange(1000)
    if kind == "number":
        return [kind, place, rng.choice(NUMBERS)]
    if kind == "nest":
        return [kind, place, *rng.choice(BRACKETS), rng.choice(DEPTHS), rng.random() < 0.5]
    if kind == "special":
        return [kind, rng.choice(SPECIAL)]
    if kind == "module":
        return [kind, rng.choice(MODULES), rng.choice(DEPTHS)]
    if kind == "repeat":
        return [kind, place, rng.choice([100, 10000, 100000])]
    return [kind, place]


def apply(text, edits, suffix):
    """The text of the file; the edits that make it no file are left to `make`."""
    for kind, *arguments in edits:
        if kind in ("number", "nest"):
            pattern = ANY_NUMBER if suffix == ".mlir" else NUMBER
            places = list(pattern.finditer(text))
            if not places:
                continue
            place = places[arguments[0] % len(places)]
            value = arguments[1] if kind == "number" else nested(*arguments[1:])
            text = text[:place.start()] + value + text[place.end():]
        elif kind == "module":
            text = nested_module(*arguments)
        elif kind == "duplicate":
            if suffix == ".json":
                members = re.findall(r'"\w+": *[^,{}\[\]]+', text)
                if members:
                    text = text.replace("{", "{" + members[arguments[0] % len(members)] + ",", 1)
            else:
                lines = text.split("\n")
                at = arguments[0] % len(lines)
                text = "\n".join(lines[:at + 1] + lines[at:])
        elif kind == "cut":
            text = text[:len(text) * arguments[0] // 1000]
        elif kind == "repeat":
            lines = text.split("\n")
            at = arguments[0] % len(lines)
            most = max(1, LONGEST // max(1, len(lines[at])))
            text = "\n".join(lines[:at] + [lines[at]] * min(arguments[1], most) + lines[at + 1:])
    return text


def make(path, text, edits):
    """Writes the file; the name to give."""
    suffix = os.path.splitext(path)[1]
    special = next((arguments[0] for kind, *arguments in edits if kind == "special"), None)
    if special == "fifo":
        os.mkfifo(path)
    elif special in ("full", "zero", "null"):
        os.symlink("/dev/" + special, path)  # keeps the suffix, by which kinds of models are told apart
    elif special == "folder":
        os.mkdir(path)
    elif special == "sparse":
        with open(path, "wb") as file:
            file.truncate(8 << 40)
    elif special == "itself":
        os.symlink(path, path)
    elif special == "missing":
        pass
    elif special == "binary":
        with open(path, "wb") as file:
            file.write(random.Random(7).randbytes(5000))
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write("" if special == "empty" else apply(text, edits, suffix))
        if special == "unreadable":
            os.chmod(path, 0)
    return path
