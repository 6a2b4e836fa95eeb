"""Generates modules as users write them by hand: any order of dimensions, sizes alike, parameters used twice, unused and of any rank, odd losses.

A module is a list of lines, one op each, so that it can be made smaller line by line. Its numbers (of parameters and inputs) are random, seeded by
its seed alone.
"""
import random
import re
import struct

MOST = 600  # elements of a value
OWN_NAMES = ["n", "m", "two", "wide", "u", "classes", "in", "out"]
NAMES = ["hidden", "vocab", "ffn", "heads", "kv_heads", "head_dim", *OWN_NAMES]


def tensor(shape, element="f32"):
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def product(shape):
    result = 1
    for extent in shape:
        result *= extent
    return result


class Value:
    def __init__(self, name, shape, tags):
        self.name, self.shape, self.tags = name, tuple(shape), tuple(tags)


class Drawing:
    """A module under construction. Each op is appended by `op`; patterns below put ops together."""

    def __init__(self, pick):
        self.pick, self.lines, self.values, self.arguments, self.count, self.layer = pick, [], [], [], 0, None
        alike = pick.random() < 0.4
        some = pick.sample([2, 3, 4, 6, 8], 1 if pick.random() < 0.3 else 2) if alike else None
        size = (lambda choices: pick.choice(some)) if alike else pick.choice
        self.batch, self.sequence = size([2, 4, 4, 6, 8]), size([2, 3, 4, 4, 6, 8])
        self.hidden, self.vocab = size([1, 2, 3, 4, 4, 6, 8]), size([4, 5, 8, 12])
        self.sizes = some or sorted({self.batch, self.sequence, self.hidden, self.vocab, pick.choice([1, 2, 3, 5])})
        self.layers = pick.random() < 0.4
        if self.layers:
            self.layer = 0
        names = pick.choice([["batch", "sequence"]] * 4 + [["batch", "seq"]])
        self.integers = []
        for name in ("ids", "targets"):
            shape = (self.batch, self.sequence)
            self.arguments.append((f"%{name}", shape, "i32", f'ppc.input = "{name}", ppc.dims = {quoted(names)}'))
            self.integers.append((f"%{name}", shape))

    def op(self, text, shape, tags, types=None):
        """Appends `NAME = text : types to the result` and returns its value."""
        self.count += 1
        value = Value(f"%v{self.count}", shape, tags)
        layer = f" {{ppc.layer = {self.layer} : i64}}" if self.layer is not None else ""
        types = f" : {types or tensor(shape)}"
        self.lines.append(f"  {value.name} = {text}" + (types + layer if text.startswith("ppc.constant") else layer + types))
        if self.layer is not None and self.pick.random() < 0.35:
            self.layer += 1
        self.values.append(value)
        return value

    def parameter(self, shape, tags=None):
        number = len(self.arguments)
        names, used = [], set()
        for extent, tag in zip(shape, tags or [None] * len(shape)):
            choices = [name for name in NAMES if name not in used]
            wanted = {"h": "hidden", "v": "vocab"}.get(tag)
            name = wanted if wanted in choices and self.pick.random() < 0.7 else self.pick.choice(choices[:4] if self.pick.random() < 0.4 else choices)
            names.append(name)
            used.add(name)
        kind = self.pick.choice(["#ppc.init<normal, 0.5>"] * 4 + ["#ppc.init<ones>", "#ppc.init<zeros>"])
        path = self.pick.choice(["w{}", "layer.0/w {}", "p{}"]).format(number)
        decay = ", ppc.no_weight_decay" if self.pick.random() < 0.2 else ""
        value = Value(f"%w{number}", shape, [f"{number}.{i}" if tag is None else tag for i, tag in enumerate(tags or [None] * len(shape))])
        self.arguments.append((value.name, tuple(shape), "f32", f'ppc.parameter = "{path}", ppc.dims = {quoted(names)}, ppc.init = {kind}{decay}'))
        return value

    def known_parameter(self, shape, tags=None):
        """A parameter of this shape, often one that is used already."""
        same = [Value(name, there, [f"{name}.{i}" for i in range(len(there))]) for name, there, _, text in self.arguments if "ppc.parameter" in text and there == tuple(shape)]
        return self.pick.choice(same) if same and self.pick.random() < 0.6 else self.parameter(shape, tags)

    def recent(self, least=0, most=8):
        values = [value for value in self.values if least <= len(value.shape) <= most] or self.values
        return self.pick.choice(values[-4:]) if self.pick.random() < 0.6 else self.pick.choice(values)

    # Single ops.
    def scale(self, x, factor):
        return self.op(f"ppc.scale {x.name} by {factor}", x.shape, x.tags)

    def unary(self, kind, x):
        return self.op(f"ppc.{kind} {x.name}", x.shape, x.tags)

    def binary(self, kind, x, y):
        return self.op(f"ppc.{kind} {x.name}, {y.name}", x.shape, x.tags)

    def broadcast(self, x, shape, tags, dims):
        return self.op(f"ppc.broadcast {x.name} dims {list(dims)}", shape, tags, f"{tensor(x.shape)} to {tensor(shape)}")

    def reduce(self, x, dims):
        keep = [i for i in range(len(x.shape)) if i not in dims]
        shape, tags = [x.shape[i] for i in keep], [x.tags[i] for i in keep]
        combiner = self.pick.choice(["<sum>", "#ppc.combiner<sum>"])
        return self.op(f"ppc.reduce {combiner} {x.name} dims {sorted(dims)}", shape, tags, f"{tensor(x.shape)} to {tensor(shape)}")

    def transpose(self, x, order):
        shape, tags = [x.shape[i] for i in order], [x.tags[i] for i in order]
        return self.op(f"ppc.transpose {x.name} by {list(order)}", shape, tags, f"{tensor(x.shape)} to {tensor(shape)}")

    def reshape(self, x, shape, tags):
        return self.op(f"ppc.reshape {x.name}", shape, tags, f"{tensor(x.shape)} to {tensor(shape)}")

    def matmul(self, spec, x, y, shape, tags):
        return self.op(f'ppc.matmul "{spec}" {x.name}, {y.name}', shape, tags, f"({tensor(x.shape)}, {tensor(y.shape)}) -> {tensor(shape)}")

    def constant(self, shape, tags=None, positive=False):
        def nested(rest):
            if not rest:
                return f"{self.pick.choice([0.25, 0.5, 1.0, 1.5] if positive else [-1.5, -0.5, 0.0, 0.3, 0.5, 1.0, 1.25]):.2f}"
            return "[" + ", ".join(nested(rest[1:]) for _ in range(rest[0])) + "]"
        text = nested(()) if self.pick.random() < 0.3 else nested(shape)
        return self.op(f"ppc.constant dense<{text}>", shape, tags or [f"c{i}" for i in range(len(shape))])

    def embed(self, table, ids, shape):
        tags = ["b", "s", table.tags[1]][-len(shape) - 1:] if len(shape) == 2 else [f"i{i}" for i in range(len(shape))] + [table.tags[1]]
        result = (*shape, table.shape[1])
        return self.op(f"ppc.embedding {table.name}, {ids}", result, tags, f"({tensor(table.shape)}, {tensor(shape, 'i32')}) -> {tensor(result)}")


def quoted(names):
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


# Patterns: each appends some ops to a drawing.

def pointwise(d):
    x = d.recent()
    kind = d.pick.choice(["exp", "sigmoid", "silu", "gelu", "gelu tanh", "neg", "scale", "log", "sqrt", "rsqrt", "square"])
    if kind == "exp":
        d.unary("exp", d.scale(x, 0.5))
    elif kind == "gelu tanh":
        d.op(f"ppc.gelu {x.name} tanh", x.shape, x.tags)
    elif kind == "scale":
        d.scale(x, d.pick.choice([0.5, -1.5, 0.125, 2.0]))
    elif kind in ("log", "sqrt", "rsqrt"):
        d.unary(kind, d.unary(d.pick.choice(["exp", "sigmoid"]), d.scale(x, 0.5)))
    elif kind == "square":
        d.binary("mul", x, x)
    else:
        d.unary(kind, x)


def combined(d):
    x = d.recent()
    kind = d.pick.choice(["add", "sub", "mul", "mul", "div"])
    same = [value for value in d.values if value.shape == x.shape]
    y = d.pick.choice(same)
    if d.pick.random() < 0.3:
        y = d.known_parameter(x.shape, x.tags) if "b" not in x.tags or d.pick.random() < 0.1 else d.constant(x.shape, x.tags)
    if kind == "div":
        y = d.unary("exp", d.scale(y, 0.25)) if d.pick.random() < 0.5 else d.unary("sigmoid", y)
    d.binary(kind, *d.pick.sample([x, y], 2)) if kind != "div" else d.binary(kind, x, y)


def spread(d):
    """Something small along dimensions of something large."""
    x = d.recent(1)
    keep = [i for i in range(len(x.shape)) if d.pick.random() < (0.05 if x.tags[i] == "b" else 0.5)]
    shape = tuple(x.shape[i] for i in keep)
    fitting = [value for value in d.values if value.shape == shape and value is not x]
    small = d.pick.choice(fitting) if fitting and d.pick.random() < 0.6 else d.known_parameter(shape, [x.tags[i] for i in keep])
    y = d.broadcast(small, x.shape, x.tags, [i for i in range(len(x.shape)) if i not in keep])
    d.binary(d.pick.choice(["add", "mul", "sub"]), x, y)


def sums(d):
    x = d.recent(1)
    dims = [i for i in range(len(x.shape)) if d.pick.random() < (0.1 if x.tags[i] == "b" else 0.5)]
    if dims:
        d.scale(d.reduce(x, dims), d.pick.choice([0.5, 0.25]))


def swapped(d):
    x = d.recent(2)
    order = list(range(len(x.shape)))
    d.pick.shuffle(order)
    y = d.transpose(x, order)
    same = [value for value in d.values if value.shape == y.shape and value is not y]
    if same and d.pick.random() < 0.5:
        d.binary(d.pick.choice(["add", "mul"]), y, d.pick.choice(same))


def products(d):
    x = d.recent(1, 5)
    others = [value for value in d.values if 1 <= len(value.shape) <= 5]
    if d.pick.random() < 0.55:
        place = d.pick.randrange(len(x.shape))
        shape, tags = [x.shape[place]], [x.tags[place]]
        for _ in range(d.pick.choice([0, 1, 1, 1, 2])):
            shape.append(d.pick.choice(d.sizes))
            tags.append(None)
        order = list(range(len(shape)))
        d.pick.shuffle(order)
        y = d.known_parameter([shape[i] for i in order], [tags[i] for i in order])
    else:
        y = x if d.pick.random() < 0.35 else d.pick.choice(others)
    einsum(d, x, y)


def einsum(d, x, y):
    left = list("abcdefghij"[:len(x.shape)])
    right, taken = [], set()
    for extent, tag in zip(y.shape, y.tags):
        same = [i for i in range(len(left)) if x.shape[i] == extent and i not in taken]
        alike = [i for i in same if x.tags[i] == tag]
        place = d.pick.choice(alike) if alike and d.pick.random() < 0.8 else d.pick.choice(same) if same and d.pick.random() < 0.4 else None
        if place is None:
            right.append("klmnopqrst"[len(right)])
        else:
            taken.add(place)
            right.append(left[place])
    sizes = dict(zip(left, x.shape)) | dict(zip(right, y.shape))
    tags = dict(zip(right, y.tags)) | dict(zip(left, x.tags))
    both = [letter for letter in left if letter in right]
    result = [letter for letter in left + [other for other in right if other not in left] if letter not in both or d.pick.random() < (0.9 if tags[letter] == "b" else 0.35)]
    if d.pick.random() < 0.4:
        d.pick.shuffle(result)
    if product(sizes[letter] for letter in result) > MOST or len(result) > 6:
        return
    y = d.matmul(f"{''.join(left)},{''.join(right)}->{''.join(result)}", x, y, [sizes[letter] for letter in result], [tags[letter] for letter in result])
    if d.pick.random() < 0.5:
        d.scale(y, 0.25)


def regrouped(d):
    x = d.recent(1)
    shape, tags = list(x.shape), list(x.tags)
    for _ in range(d.pick.choice([1, 1, 2])):
        kind = d.pick.randrange(4)
        place = d.pick.randrange(len(shape)) if shape else 0
        if kind == 0:
            shape.insert(place, 1)
            tags.insert(place, "1")
        elif kind == 1 and shape:
            factor = d.pick.choice([factor for factor in range(1, shape[place] + 1) if shape[place] % factor == 0])
            shape[place:place + 1] = [factor, shape[place] // factor]
            tags[place:place + 1] = [tags[place] + "'", tags[place] + "\""]
        elif kind == 2 and len(shape) > 1 and (place := d.pick.randrange(len(shape) - 1)) is not None and (place or d.pick.random() < 0.15):
            shape[place:place + 2] = [shape[place] * shape[place + 1]]
            tags[place:place + 2] = [tags[place] + tags[place + 1]]
        elif 1 in shape:
            place = shape.index(1)
            del shape[place], tags[place]
    if len(shape) <= 7 and tuple(shape) != x.shape:
        y = d.reshape(x, shape, tags)
        if d.pick.random() < 0.4:
            d.reshape(d.unary(d.pick.choice(["sigmoid", "silu", "neg"]), y), x.shape, x.tags)


def rows(d):
    x = d.recent(1)
    length = x.shape[-1:]
    kind = d.pick.choice(["softmax", "softmax", "rms_norm", "layer_norm"])
    if kind == "softmax":
        d.unary("softmax", x)
        return

    def weight():
        fitting = [value for value in d.values if value.shape == length]
        return d.pick.choice(fitting) if fitting and d.pick.random() < 0.15 else d.known_parameter(length, x.tags[-1:])
    if length[0] > 1:
        weights = [weight().name for _ in range(1 if kind == "rms_norm" else 2)]
        d.op(f"ppc.{kind} {x.name}, {', '.join(weights)} epsilon 1.0e-02", x.shape, x.tags, f"{tensor(x.shape)}, {tensor(length)}")


def parts(d):
    """Split, something with the parts, perhaps concatenated again, in runs."""
    x = d.recent(1)
    dims = [i for i, extent in enumerate(x.shape) if extent > 1]
    if not dims:
        return
    dim = d.pick.choice(dims)
    runs = d.pick.choice([runs for runs in (1, 1, 2, 3, 4) if x.shape[dim] % runs == 0 and x.shape[dim] // runs > 1] or [1])
    of_run = x.shape[dim] // runs
    if of_run < 2:
        return
    first = d.pick.randrange(1, of_run)
    sizes = [first * runs, (of_run - first) * runs]
    shapes = [x.shape[:dim] + (size,) + x.shape[dim + 1:] for size in sizes]
    names = f"%v{d.count + 1}", f"%v{d.count + 2}"
    d.count += 2
    word = f" runs {runs}" if runs > 1 else ""
    layer = f" {{ppc.layer = {d.layer} : i64}}" if d.layer is not None else ""
    d.lines.append(f"  {names[0]}, {names[1]} = ppc.split {x.name} dim {dim}{word}{layer} : {tensor(x.shape)} to {tensor(shapes[0])}, {tensor(shapes[1])}")
    tags = x.tags[:dim] + (x.tags[dim] + "/",) + x.tags[dim + 1:]
    pieces = [Value(name, shape, tags) for name, shape in zip(names, shapes)]
    d.values += pieces
    if d.pick.random() < 0.7:
        pieces = [d.unary("exp", d.scale(pieces[0], 0.5)), pieces[1]]
        d.pick.shuffle(pieces)
        runs = d.pick.choice([runs, 1])
        word = f" runs {runs}" if runs > 1 else ""
        d.op(f"ppc.concat {pieces[0].name}, {pieces[1].name} dim {dim}{word}", x.shape, x.tags, f"{tensor(pieces[0].shape)}, {tensor(pieces[1].shape)} to {tensor(x.shape)}")


def positions(d):
    x = d.recent(3)
    if len(x.shape) < 3 or x.shape[-1] < 2:
        return
    count = d.pick.randrange(1, x.shape[-1] // 2 + 1)
    offset = d.pick.randrange(0, x.shape[-1] - 2 * count + 1)
    words = f" offset {offset}" if offset else ""
    words += " interleaved" if d.pick.random() < 0.3 else ""
    words += f" start {d.pick.randrange(1, 5)}" if d.pick.random() < 0.2 else ""
    frequencies = ", ".join(f"{d.pick.choice([1.0, 0.7, 0.3, 0.1])}" for _ in range(count))
    d.op(f"ppc.rotary {x.name} frequencies [{frequencies}]{words}", x.shape, x.tags)


def attends(d):
    """Attention; its sequence may be any dimension, and keys may be more than queries."""
    three = [value for value in d.values if len(value.shape) == 3]
    if not three:
        return
    x = d.pick.choice(three[-3:])
    if d.pick.random() < 0.2:
        x = d.transpose(x, [1, 0, 2])
    kv, groups, width = d.pick.choice([1, 2]), d.pick.choice([1, 2]), d.pick.choice([2, 4])
    b, s, h = x.shape
    q = d.matmul("bsh,hkgd->bskgd", x, d.parameter((h, kv, groups, width), (x.tags[2], None, None, None)), (b, s, kv, groups, width), (*x.tags[:2], "k", "g", "d"))
    memory, keys = x, s
    if d.pick.random() < 0.25:
        keys = s + d.pick.choice([0, 1, 2, 4])
        small = d.pick.choice([d.constant, d.parameter])((keys, h))
        memory = d.broadcast(small, (b, keys, h), (x.tags[0], "m", x.tags[2]), [0])
    k, v = (d.matmul("bsh,hkd->bskd", memory, d.known_parameter((h, kv, width)), (b, keys, kv, width), (*memory.tags[:2], "k", "d")) for _ in range(2))
    if d.pick.random() < 0.4:
        k = d.op(f"ppc.rotary {k.name} frequencies [0.7]", k.shape, k.tags)
    words = ""
    if d.pick.random() < 0.6:
        words = " causal" + (f" window {d.pick.choice([1, 2, 3])}" if d.pick.random() < 0.3 else "")
    if d.pick.random() < 0.2:
        slopes = d.constant((kv, groups))
        words += f" slopes {slopes.name} as {tensor(slopes.shape)}"
    d.count += 2
    names = f"%v{d.count - 1}", f"%v{d.count}"
    layer = f" {{ppc.layer = {d.layer} : i64}}" if d.layer is not None else ""
    d.lines.append(f"  {names[0]}, {names[1]} = ppc.attention {q.name}, {k.name}, {v.name} scale 0.5{words}{layer} : {tensor(q.shape)}, {tensor(k.shape)}, {tensor(v.shape)} -> {tensor(q.shape)}, {tensor(q.shape[:-1])}")
    out = Value(names[0], q.shape, q.tags)
    d.values.append(out)
    if d.pick.random() < 0.6:
        d.matmul("bskgd,kgdh->bsh", out, d.parameter((kv, groups, width, h), (None, None, None, x.tags[2])), x.shape, x.tags)


def classes(d):
    """Cross-entropy of a value over its last dimension, against ids or classes of a constant."""
    x = d.recent(1)
    ids = [(name, shape) for name, shape in d.integers if shape == x.shape[:-1]]
    if x.shape[-1] < d.vocab and d.pick.random() < 0.8 or not ids:
        two = [value for value in d.values if value.shape[:-1] == (d.batch, d.sequence) and len(value.shape) == 3]
        if two and d.pick.random() < 0.7:
            x = d.pick.choice(two)
            x = d.matmul("bsh,vh->bsv", x, d.known_parameter((d.vocab, x.shape[2]), ("v", x.tags[2])), (d.batch, d.sequence, d.vocab), ("b", "s", "v"))
        else:
            count = product(x.shape[:-1])
            if len(x.shape) < 2 or count > 100:
                return
            flat = [d.pick.randrange(x.shape[-1]) for _ in range(count)]

            def nested(rest):
                return str(flat.pop()) if not rest else "[" + ", ".join(nested(rest[1:]) for _ in range(rest[0])) + "]"
            d.count += 1
            d.lines.append(f"  %v{d.count} = ppc.constant dense<{nested(x.shape[:-1])}> : {tensor(x.shape[:-1], 'i32')}")
            ids = [(f"%v{d.count}", x.shape[:-1])]
    ids = ids or [entry for entry in d.integers if entry[1] == x.shape[:-1]]
    if not ids or (x.shape[-1] < d.vocab and not ids[0][0].startswith("%v")):
        return
    target, shape = d.pick.choice(ids)
    d.count += 2
    names = f"%v{d.count - 1}", f"%v{d.count}"
    layer = f" {{ppc.layer = {d.layer} : i64}}" if d.layer is not None else ""
    d.lines.append(f"  {names[0]}, {names[1]} = ppc.cross_entropy {x.name}, {target}{layer} : ({tensor(x.shape)}, {tensor(shape, 'i32')}) -> ({tensor(shape)}, {tensor(shape)})")
    d.values.append(Value(names[0], shape, x.tags[:-1]))


def tables(d):
    """Another table, by the same ids."""
    name, shape = d.pick.choice(d.integers)
    width = d.pick.choice(d.sizes)
    table = d.known_parameter((d.vocab, width), ("v", None)) if d.pick.random() < 0.7 else d.constant((d.vocab, width), ("v", "c"))
    d.embed(table, name, shape)


def chosen(d):
    """The largest scores, and rows of a table by where they are."""
    x = d.recent(1)
    if x.shape[-1] < 2:
        return
    count = d.pick.randrange(1, min(3, x.shape[-1]) + 1)
    shape = x.shape[:-1] + (count,)
    d.count += 2
    names = f"%v{d.count - 1}", f"%v{d.count}"
    layer = f" {{ppc.layer = {d.layer} : i64}}" if d.layer is not None else ""
    d.lines.append(f"  {names[0]}, {names[1]} = ppc.top_k {x.name}{layer} : {tensor(x.shape)} -> {tensor(shape)}, {tensor(shape, 'i32')}")
    d.values.append(Value(names[0], shape, x.tags[:-1] + ("top",)))
    if d.pick.random() < 0.6 and product(shape) * 2 <= MOST:
        table = d.known_parameter((x.shape[-1], 2), (x.tags[-1], None)) if d.pick.random() < 0.8 else d.constant((x.shape[-1], 2))
        d.embed(table, names[1], shape)


def samples(d):
    """Something that depends on which sample of the batch it is, or mixes samples."""
    three = [value for value in d.values if len(value.shape) == 3 and value.shape[0] == d.batch and value.tags[0] == "b"]
    if not three:
        return
    x = d.pick.choice(three)
    kind = d.pick.choice(["rotary", "rows", "gram", "flat", "flat constant", "mixed", "constants"])
    if kind == "rotary" and x.shape[2] > 1:
        y = d.transpose(x, [1, 0, 2])
        d.op(f"ppc.rotary {y.name} frequencies [0.3]", y.shape, y.tags)
    elif kind == "rows":
        y = d.reduce(x, [1])
        d.count += 1
        d.lines.append(f"  %v{d.count} = ppc.constant dense<[{', '.join(str(d.pick.randrange(d.batch)) for _ in range(3))}]> : tensor<3xi32>")
        d.embed(y, f"%v{d.count}", (3,))
    elif kind == "gram":
        y = d.reduce(x, [1])
        d.scale(d.matmul("bf,cf->bc", y, y, (d.batch, d.batch), ("b", "b")), 0.25)
    elif kind.startswith("flat"):
        whole = x if kind == "flat" else d.embed(d.constant((d.vocab, x.shape[2])), "%ids", (d.batch, d.sequence))
        y = d.unary("sigmoid", d.reshape(whole, (whole.shape[0] * whole.shape[1], whole.shape[2]), ("bs", "h")))
        if d.pick.random() < 0.7:
            d.reshape(y, whole.shape, whole.tags)
    elif kind == "mixed":
        y = d.matmul("bsh,csk->bchk", x, x, (d.batch, d.batch, x.shape[2], x.shape[2]), ("b", "b", "h", "k")) if d.batch <= 4 and x.shape[2] <= 4 else x
        d.scale(y, 0.125)
    elif kind == "constants":  # one value, of the batch and of no batch
        y = d.reduce(x, [2])
        weight = d.parameter(y.shape)
        first, second = (d.op("ppc.constant dense<0.50>", y.shape, y.tags) for _ in range(2))
        d.binary("mul", d.binary("add", y, first), y)
        d.matmul("bs,bs->", weight, d.binary("add", weight, second), (), ())


PATTERNS = [(pointwise, 5), (combined, 4), (spread, 3), (sums, 2), (swapped, 2), (products, 5), (regrouped, 2), (rows, 3), (parts, 2), (positions, 2),
            (attends, 1), (classes, 2), (tables, 1), (chosen, 0.7), (samples, 1.5)]


def to_scalar(d, x):
    """The sum of all elements; at times in steps with something in between."""
    while x.shape:
        dims = list(range(len(x.shape)))
        if len(dims) > 1 and d.pick.random() < 0.4:
            dims = sorted(d.pick.sample(dims, d.pick.randrange(1, len(dims))))
        x = d.reduce(x, dims)
        if x.shape and d.pick.random() < (0.25 if "b" in x.tags else 0.05):
            x = d.unary(d.pick.choice(["sigmoid", "silu", "exp"]), d.scale(x, 0.125))
    return d.scale(x, d.pick.choice([0.03125, 0.25, 0.125]))


def draw(pick):
    """A drawing that ends in a loss."""
    d = Drawing(pick)
    table = d.parameter((d.vocab, d.hidden), ("v", "h"))
    d.embed(table, "%ids", (d.batch, d.sequence))
    if pick.random() < 0.3:
        tables(d)
    patterns, weights = zip(*PATTERNS)
    for pattern in pick.choices(patterns, weights, k=pick.choice([1, 2, 3, 4, 5, 6, 8])):
        pattern(d)
    if pick.random() < 0.1:
        d.parameter(tuple(pick.choice(d.sizes) for _ in range(pick.randrange(0, 4))))
    terms = [to_scalar(d, d.values[-1])]
    for _ in range(pick.choice([0, 0, 0, 1, 1, 2])):
        terms.append(to_scalar(d, pick.choice(d.values)))
    if pick.random() < 0.1:
        weight = pick.choice([Value(name, shape, [""] * len(shape)) for name, shape, _, text in d.arguments if "ppc.parameter" in text])
        terms.append(to_scalar(d, d.binary("mul", weight, weight)))
    loss = terms[0]
    for term in terms[1:]:
        loss = d.binary(pick.choice(["add", "add", "add", "sub"] if pick.random() < 0.95 else ["mul"]), loss, term)
    if pick.random() < 0.03:
        loss = d.unary(pick.choice(["exp", "sigmoid", "silu"]), loss)
    return d, loss


def connected(arguments, lines, result):
    """Without ops that the loss does not need, and parameters that only they read."""
    needed, kept = {result}, []
    for line in reversed(lines):
        left, right = line.split(" = ppc.", 1)
        if needed & set(re.findall(r"%\w+", left)):
            needed |= set(re.findall(r"%\w+", right))
            kept.append(line)
    return [argument for argument in arguments if argument[0] in needed or "ppc.input" in argument[3]], kept[::-1]


def text_of(arguments, lines, result):
    said = ",\n    ".join(f"{name}: {tensor(shape, element)} {{{attributes}}}" for name, shape, element, attributes in arguments)
    return f"func.func @loss({said}) -> tensor<f32> {{\n" + "\n".join(lines) + f"\n  return {result} : tensor<f32>\n}}\n"


def model(seed):
    """The text of module `seed`."""
    pick = random.Random(f"module {seed}")
    d, loss = draw(pick)
    arguments, lines = connected(d.arguments, d.lines, loss.name)
    if pick.random() < 0.08:  # unused values stay
        arguments, lines = d.arguments, d.lines
    return text_of(arguments, lines, loss.name)


def single(number):
    """The nearest number that f32 has."""
    return struct.unpack("f", struct.pack("f", number))[0]


def numbers(module, seed):
    """Values of the arguments of a module that was read: ids in the range of what they select from."""
    pick, found = random.Random(f"numbers {seed}"), {}
    for argument in module.arguments:
        count = product(argument.shape)
        if argument.element.startswith("i"):
            found[argument.value] = [pick.randrange(bound(module, argument)) for _ in range(count)]
        else:
            found[argument.value] = [single(pick.gauss(0, 0.6)) for _ in range(count)]
    return found


def bound(module, argument):
    """The least number of rows or classes that ids select from."""
    least = []
    for op in module.ops:
        if op.kind == "embedding" and op.operands[1] == argument.value:
            least.append(op.types[0][0][0])
        if op.kind == "cross_entropy" and op.operands[1] == argument.value:
            least.append(op.types[0][0][-1])
    return min(least, default=2)
