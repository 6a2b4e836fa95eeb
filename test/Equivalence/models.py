#!/usr/bin/env python3
"""Random models in MLIR with values that are constant along dimensions, in random layouts: each layout whose numbers are right is proved.

    models.py --build BUILD [--count N] [--seed S] [--mutants N] [--kinds KIND,...] [--keep FOLDER]
    models.py --build BUILD --replay FOLDER

A model is a sum or a mean of what a few ops make of an embedding and of parameters: broadcasts, masks, constants, products with vectors,
norms, whose dimensions a layout cuts evenly or not. Numbers are those of the interpreter in f64 (ppc-opt --test-ppc-layout-cases). With
--mutants so many mistakes are made in each program; one that changes numbers and is proved all the same is a failure. What fails is printed
with its seed, and kept with --keep; --replay runs what was kept: models whose first line is their layout.
"""
import argparse
import collections
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

GROUP = 50  # cases of one process
SIZES = {"vocab": 12, "hidden": 6, "n": 5, "m": 4, "k": 3}
HEAD = """func.func @loss(%ids: tensor<{batch}x{seq}xi32> {{ppc.input = "ids", ppc.dims = ["batch", "sequence"]}},
                %targets: tensor<{batch}x{seq}xi32> {{ppc.input = "targets", ppc.dims = ["batch", "sequence"]}}"""


class Model:
    """A function in the making: its parameters, its ops, and its values with the names of their dimensions."""

    def __init__(self, pick):
        self.pick, self.lines, self.parameters, self.count = pick, [], [], 0
        self.layer = 0 if pick.random() < 0.4 else None  # of the ops to come; none: the model has no layers
        self.sizes = {**SIZES, "batch": pick.choice([4, 8]), "sequence": pick.choice([4, 6])}
        self.sizes["n"], self.sizes["hidden"] = pick.choice([4, 5, 7]), pick.choice([4, 5, 6])
        self.sizes["vocab"] = pick.choice([8, 9, 12])

    def type(self, dims):
        return "tensor<" + "".join(f"{self.sizes[dim]}x" for dim in dims) + "f32>"

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def parameter(self, dims):
        name = f"%p{len(self.parameters)}"
        init = self.pick.choice(["normal, 0.5", "normal, 0.5", "ones", "zeros"])
        listed = ", ".join(f'"{dim}"' for dim in dims)
        extra = self.pick.choice(["", "", ", ppc.no_weight_decay"])
        self.parameters.append(f'{name}: {self.type(dims)} {{ppc.parameter = "{name[1:]}", ppc.dims = [{listed}], ppc.init = #ppc.init<{init}>{extra}}}')
        return name, tuple(dims)

    def emit(self, text, dims):
        name = self.name()
        self.say(f"{name} = {text}")
        return name, tuple(dims)

    def sizes_as(self, dims, last):
        """The type with another size of the last dimension."""
        return "tensor<" + "".join(f"{self.sizes[dim]}x" for dim in dims[:-1]) + f"{last}xf32>"

    def say(self, text):
        if self.layer is not None:
            said = f"{{ppc.layer = {self.layer} : i64}}"
            text = f"{text} {said}" if "ppc.constant" in text else text.replace(" : ", f" {said} : ", 1)
        self.lines.append("  " + text)

    def embedding(self, table):
        ids = f"tensor<{self.sizes['batch']}x{self.sizes['sequence']}xi32>"
        dims = ("batch", "sequence", table[1][1])
        padding = f" padding_index {self.pick.randrange(self.sizes[table[1][0]])}" if self.pick.random() < 0.3 else ""
        return self.emit(f"ppc.embedding {table[0]}, %ids{padding} : ({self.type(table[1])}, {ids}) -> {self.type(dims)}", dims)

    def broadcast(self, value, dims):
        """`value`, whose dimensions are among `dims` in their order, constant along the others."""
        if value[1] == tuple(dims):
            return value
        new = [number for number, dim in enumerate(dims) if dim not in value[1]]
        return self.emit(f"ppc.broadcast {value[0]} dims {new} : {self.type(value[1])} to {self.type(dims)}", dims)

    def constant(self, dims):
        number = self.pick.choice(["1.0", "0.5", "-2.0"])
        return self.emit(f"ppc.constant dense<{number}> : {self.type(dims)}", dims)

    def reduce(self, value, drop):
        numbers = [number for number, dim in enumerate(value[1]) if dim in drop]
        rest = [dim for dim in value[1] if dim not in drop]
        return self.emit(f"ppc.reduce <sum> {value[0]} dims {numbers} : {self.type(value[1])} to {self.type(rest)}", rest)

    def scale(self, value, factor):
        return self.emit(f"ppc.scale {value[0]} by {factor!r} : {self.type(value[1])}", value[1])

    def mean(self, value, drop):
        elements = 1
        for dim in drop:
            elements *= self.sizes[dim]
        return self.scale(self.reduce(value, drop), 1 / elements)

    def binary(self, op, a, b):
        return self.emit(f"ppc.{op} {a[0]}, {b[0]} : {self.type(a[1])}", a[1])

    def unary(self, op, a):
        return self.emit(f"ppc.{op} {a[0]} : {self.type(a[1])}", a[1])


def step(model, value, tables):
    """One more op on `value`, at random; what fits."""
    pick, dims = model.pick, value[1]
    subset = lambda: [dim for dim in dims if dim not in ("batch", "sequence") and pick.random() < 0.5]  # noqa: E731
    choice = pick.randrange(16)
    if choice == 0:  # a vector along some dimensions, or a number, added or multiplied
        return model.binary(pick.choice(["add", "mul", "sub"]), value, model.broadcast(model.parameter(subset()), dims))
    if choice == 1:
        return model.binary(pick.choice(["add", "mul", "sub"]), value, model.constant(dims))
    if choice == 2:
        return model.unary(pick.choice(["silu", "gelu", "neg", "exp", "sigmoid"] + ["softmax"] * (len(dims) > 1)), value) if dims else value
    if choice == 3:  # a mean, put back where it was
        drop = [dim for dim in dims if dim != "batch" and pick.random() < 0.5]
        return model.binary(pick.choice(["sub", "add", "mul"]), value, model.broadcast(model.mean(value, drop), dims)) if drop else value
    if choice == 4 and "n" not in dims and len(dims) < 4 and dims:  # one dimension more
        vector, letters = model.parameter(["n"]), "abcdefg"[:len(dims)]
        return model.emit(f'ppc.matmul "{letters},z->{letters}z" {value[0]}, {vector[0]} : ({model.type(dims)}, {model.type(vector[1])}) -> {model.type(dims + ("n",))}', dims + ("n",))
    if choice == 5 and len(dims) > 1:
        return pick.choice([model.reduce, model.mean])(value, [pick.choice([dim for dim in dims if dim != "batch"])])
    if choice == 6 and len(dims) > 1:  # a product with a matrix
        letters, to = "abcdefg"[:len(dims)], pick.choice([dim for dim in ("m", "k", "n", "hidden") if dim not in dims] or [None])
        if to:
            matrix = model.parameter([dims[-1], to] if pick.random() < 0.5 else [to, dims[-1]])
            spec = letters[-1] + "z" if matrix[1][-1] == to else "z" + letters[-1]
            return model.emit(f'ppc.matmul "{letters},{spec}->{letters[:-1]}z" {value[0]}, {matrix[0]} : ({model.type(dims)}, {model.type(matrix[1])}) -> {model.type(dims[:-1] + (to,))}', dims[:-1] + (to,))
    if choice == 7 and len(dims) > 1:
        weight = model.parameter([dims[-1]])
        if pick.random() < 0.5:
            return model.emit(f"ppc.rms_norm {value[0]}, {weight[0]} epsilon 1.0e-2 : {model.type(dims)}, {model.type(weight[1])}", dims)
        bias = model.parameter([dims[-1]])
        return model.emit(f"ppc.layer_norm {value[0]}, {weight[0]}, {bias[0]} epsilon 1.0e-2 : {model.type(dims)}, {model.type(weight[1])}", dims)
    if choice == 8 and dims == ("batch", "sequence", tables[0][1][1]):  # another, or the same table
        return model.binary(pick.choice(["add", "mul"]), value, model.embedding(pick.choice(tables)))
    if choice == 9:
        return model.binary(pick.choice(["mul", "add"]), value, value)
    if choice == 10 and len(dims) < 4:  # constant along a new dimension
        new = [dim for dim in ("m", "k", "n") if dim not in dims]
        if new:
            at, dim = pick.randrange(1, len(dims) + 1), pick.choice(new)
            return model.broadcast(value, dims[:at] + (dim,) + dims[at:])
    if choice == 11 and len(dims) > 2:
        order = [0] + pick.sample(range(1, len(dims)), len(dims) - 1)
        to = tuple(dims[number] for number in order)
        return model.emit(f"ppc.transpose {value[0]} by {order} : {model.type(dims)} to {model.type(to)}", to)
    if choice == 12 and dims:  # what no sample decides
        other = model.parameter(subset())
        other = model.unary(pick.choice(["exp", "silu", "sigmoid"]), other)
        return model.binary("mul", value, model.broadcast(other, dims))
    if choice == 13 and len(dims) > 1 and model.sizes[dims[-1]] > 1:  # cut in two and put together, as it was or exchanged
        parts = model.sizes[dims[-1]]
        first = pick.randrange(1, parts)
        sizes = [model.sizes_as(dims, first), model.sizes_as(dims, parts - first)]
        a, b = model.name(), model.name()
        model.say(f"{a}, {b} = ppc.split {value[0]} dim {len(dims) - 1} : {model.type(dims)} to {sizes[0]}, {sizes[1]}")
        order = pick.choice([[0, 1], [1, 0]])
        return model.emit(f"ppc.concat {', '.join((a, b)[number] for number in order)} dim {len(dims) - 1} : "
                          f"{', '.join(sizes[number] for number in order)} to {model.type(dims)}", dims)
    if choice == 14 and len(dims) > 1:  # looked at with one dimension more, and back
        number = pick.randrange(1, len(dims) + 1)
        shape = [str(model.sizes[dim]) for dim in dims]
        other = "tensor<" + "x".join(shape[:number] + ["1"] + shape[number:]) + "xf32>"
        name = model.name()
        model.say(f"{name} = ppc.reshape {value[0]} : {model.type(dims)} to {other}")
        return model.emit(f"ppc.reshape {name} : {other} to {model.type(dims)}", dims)
    return value


def cross_entropy(model, value):
    """Of logits along `vocab`, which may be constant along it."""
    pick, dims = model.pick, value[1]
    if "vocab" not in dims:
        wide = dims + ("vocab",)
        choice = pick.randrange(3)
        value = model.broadcast(value, wide)
        if choice:
            value = model.binary(pick.choice(["mul", "add"]), value, model.broadcast(model.parameter(["vocab"] if choice == 2 else []), wide))
    lines = f"({model.type(value[1])}, tensor<{model.sizes['batch']}x{model.sizes['sequence']}xi32>) -> ({model.type(dims)}, {model.type(dims)})"
    nll, lse = model.name(), model.name()
    model.say(f"{nll}, {lse} = ppc.cross_entropy {value[0]}, %targets : {lines}")
    return nll, dims


def draw_model(pick):
    model = Model(pick)
    tables = [model.parameter(["vocab", "hidden"]) for _ in range(pick.choice([1, 1, 2]))]
    value = model.embedding(tables[0])
    for table in tables[1:]:
        value = model.binary(pick.choice(["add", "mul"]), value, model.embedding(table))
    for _ in range(pick.randrange(0, 6)):
        if model.layer is not None:
            model.layer += pick.random() < 0.5
        value = step(model, value, tables)
    if model.layer is not None:
        model.layer += 1
    if value[1] == ("batch", "sequence", "hidden") and pick.random() < 0.5:
        value = model.reduce(value, ["hidden"])
    if value[1] == ("batch", "sequence") and pick.random() < 0.5:
        value = cross_entropy(model, value)
    while value[1]:
        drop = list(value[1]) if pick.random() < 0.5 else [pick.choice([dim for dim in value[1] if dim != "batch"] or ["batch"])]
        scalar = pick.choice([model.reduce, model.mean])(value, drop)
        value = scalar if "batch" in drop or pick.random() < 0.7 else model.binary("mul", scalar, scalar)
    text = HEAD.format(batch=model.sizes["batch"], seq=model.sizes["sequence"])
    text += "".join(",\n                " + parameter for parameter in model.parameters) + ") -> tensor<f32> {\n"
    return model, text + "\n".join(model.lines) + f"\n  return {value[0]} : tensor<f32>\n}}\n"


def draw_layout(pick, model):
    """Options of ppc-compile, or the text of a plan file that cuts dimensions by name."""
    batch = model.sizes["batch"]
    if pick.random() < 0.4:
        dp = pick.choice([1, 1, 2])
        cp = pick.choice([1, 1, 2])
        layout = {"dp": dp, "tp": pick.choice([1, 2, 3, 4]) if cp == 1 else pick.choice([1, 2]), "cp": cp, "zero": pick.choice([0, 1, 2, 3]),
                  "micro-batch": pick.choice([size for size in (1, 2, 4) if batch // dp % size == 0])}
        if model.layer is not None and layout["tp"] < 3:
            layout["pp"] = 2
            layout["schedule"] = pick.choice(["1f1b", "gpipe", "zb1p"] + (["chimera", "dualpipe"] if batch // dp // layout["micro-batch"] % 2 == 0 else []))
        return layout, ""
    axes = pick.sample(["dp", "tp", "a"], pick.choice([1, 2, 2, 3]))
    sizes = {axis: 2 if axis == "dp" else pick.choice([2, 2, 3, 4]) for axis in axes}
    while sizes and len(sizes) == 3 and max(sizes.values()) > 2:
        sizes = {axis: 2 for axis in sizes}
    share = 2 if "dp" in axes else 1
    lines = ["grid: { " + ", ".join(f"{axis}: {sizes[axis]}" for axis in axes) + " }", f"stages: [ {pick.choice(['0', '0, 1']) if model.layer else 0} ]", "schedule: 1f1b",
             f"micro_batches: {pick.choice([count for count in (1, 2, 4) if batch // share % count == 0])}", "dimensions:"]
    if "dp" in axes:
        lines.append("  batch: [ dp ]")
    others, taken = [axis for axis in axes if axis != "dp"], collections.defaultdict(list)
    for dim in ("sequence", "vocab", "hidden", "n", "m", "k"):
        cut = pick.sample(others, min(len(others), pick.choice([0, 1, 1, 2])))
        of = [parameter for parameter in model.parameters if f'"{dim}"' in parameter]
        cut = [axis for axis in cut if not any(f'"{other}"' in parameter for other in taken[axis] for parameter in of)]
        if dim == "sequence" and model.sizes[dim] % math.prod(sizes[axis] for axis in cut):
            cut = []
        if cut and (dim == "sequence" or of):
            for axis in cut:
                taken[axis].append(dim)
            lines.append(f"  {dim}: [ {', '.join(cut)} ]")
    if lines[-1] == "dimensions:":
        lines[-1] = "dimensions: { }"
    return {}, "\n".join(lines) + "\n"


def draw(seed):
    pick = random.Random(seed)
    model, text = draw_model(pick)
    layout, plan = draw_layout(pick, model)
    return {"name": f"--seed {seed}", "module": text, "layout": layout, "plan": plan}


def outcomes(build, cases, mutants, kinds):
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        empty, listed = os.path.join(folder, "empty.mlir"), os.path.join(folder, "list")
        with open(empty, "w") as file:
            file.write("module {}\n")
        for number, case in enumerate(cases):
            if case["plan"]:
                path = os.path.join(folder, f"plan-{number}.yaml")
                with open(path, "w") as file:
                    file.write(case["plan"])
                case["layout"] = {**case["layout"], "plan-file": path}
        while len(found) < len(cases):
            rest = [case for case in cases if case["name"] not in found]
            with open(listed, "w") as file:
                file.writelines(json.dumps(case) + "\n" for case in rest)
            done = subprocess.run([os.path.join(build, "bin/ppc-opt"), empty, f"--test-ppc-layout-cases=list={listed}" + (f" mutants={mutants} only={kinds}" if mutants else ""), "-o", os.devnull],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
            names = {case["name"] for case in rest}
            for line in done.stdout.splitlines():
                name, _, outcome = line.partition(": ")
                if name in names:
                    found[name] = outcome
            missing = next((case["name"] for case in rest if case["name"] not in found), None)
            if missing and not done.returncode:
                sys.exit(f"no word of {missing}\n{done.stdout}{done.stderr}")
            if missing:
                found[missing] = f"died: exit status {done.returncode}: {(done.stderr.strip().splitlines() or ['no word'])[-1][:300]}"
    return [found[case["name"]] for case in cases]


def kept(folder):
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".mlir"):
            continue
        with open(os.path.join(folder, name)) as file:
            text = file.read()
        layout, plan = json.loads(text.splitlines()[0].removeprefix("//")), ""
        if "plan-file" in layout:
            with open(os.path.join(folder, layout.pop("plan-file"))) as file:
                plan = file.read()
        yield {"name": name, "module": text, "layout": layout, "plan": plan}


def keep(folder, case):
    os.makedirs(folder, exist_ok=True)
    name, layout = case["name"].replace("--seed ", "seed-"), {key: value for key, value in case["layout"].items() if key != "plan-file"}
    if case["plan"]:
        layout["plan-file"] = name + ".yaml"
        with open(os.path.join(folder, name + ".yaml"), "w") as file:
            file.write(case["plan"])
    with open(os.path.join(folder, name + ".mlir"), "w") as file:
        file.write(f"// {json.dumps(layout)}\n{case['module']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-opt")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--kinds", default="", help="of mistakes, separated by commas; default: all")
    parser.add_argument("--keep", help="folder for what fails")
    parser.add_argument("--replay", help="folder of models whose first line is their layout")
    arguments = parser.parse_args()
    cases = list(kept(arguments.replay)) if arguments.replay else [draw(arguments.seed + number) for number in range(arguments.count)]
    counts, by_kind, mutants, failed = collections.Counter(), collections.defaultdict(lambda: [0, 0]), [0, 0], 0
    for first in range(0, len(cases), GROUP):
        group = cases[first:first + GROUP]
        for case, outcome in zip(group, outcomes(arguments.build, group, arguments.mutants, arguments.kinds)):
            noticed = re.match(r"equal, (\d+) of (\d+) mistakes noticed", outcome)
            for kind, found, made in re.findall(r"; (\S+) (\d+) of (\d+)", outcome):
                by_kind[kind] = [a + int(b) for a, b in zip(by_kind[kind], (made, found))]
            mutants = [a + int(b) for a, b in zip(mutants, noticed.groups())] if noticed else mutants
            isRight = outcome == "equal" or bool(noticed) or (outcome.startswith("refused: ") and not arguments.replay)
            counts["proved" if noticed or outcome == "equal" else outcome.partition(":")[0]] += 1
            if not isRight:
                failed += 1
                print(f"FAILED {case['name']}: {outcome}", flush=True)
                if arguments.keep:
                    keep(arguments.keep, case)
    for kind, (made, found) in sorted(by_kind.items()):
        print(f"{kind:22} {made:5} change numbers or do not run, {found:5} noticed")
    said = f", {mutants[0]} of {mutants[1]} mistakes noticed" if arguments.mutants else ""
    print(f"{counts['proved']} layouts are right and proved, {counts['refused']} refused, {failed} failed{said}")
    sys.exit(1 if failed or not counts["proved"] else 0)


if __name__ == "__main__":
    main()
