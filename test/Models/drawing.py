"""A module while it is drawn: its arguments, its lines, its values with the names of their dimensions.

A module is drawn as lines, one op each, so that it can be made smaller line by line.
"""
MOST = 600  # elements of a value
OWN_NAMES = ["n", "m", "two", "wide", "u", "classes", "in", "out"]
NAMES = ["hidden", "vocab", "ffn", "heads", "kv_heads", "head_dim", "experts", *OWN_NAMES]


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
    """A module while it is drawn. Each op is appended by `op`; patterns below put ops together."""

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

    def two(self, text, types):
        """Appends an op with two results; their names."""
        self.count += 2
        names = f"%v{self.count - 1}", f"%v{self.count}"
        layer = f" {{ppc.layer = {self.layer} : i64}}" if self.layer is not None else ""
        self.lines.append(f"  {names[0]}, {names[1]} = {text}{layer} : {types}")
        return names

    def integer_constant(self, shape, values):
        """The name of a constant with these integers, in order of rows."""
        values = iter(values)

        def nested(rest):
            return str(next(values)) if not rest else "[" + ", ".join(nested(rest[1:]) for _ in range(rest[0])) + "]"
        self.count += 1
        self.lines.append(f"  %v{self.count} = ppc.constant dense<{nested(shape)}> : {tensor(shape, 'i32')}")
        return f"%v{self.count}"

    def parameter(self, shape, tags=None):
        number = len(self.arguments)
        names, used = [], set()
        for extent, tag in zip(shape, tags or [None] * len(shape)):
            choices = [name for name in NAMES if name not in used]
            wanted = {"h": "hidden", "v": "vocab", "e": "experts", "f": "ffn"}.get(tag)
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

    def reduce(self, x, dims, combiner=None):
        keep = [i for i in range(len(x.shape)) if i not in dims]
        shape, tags = [x.shape[i] for i in keep], [x.tags[i] for i in keep]
        combiner = combiner or self.pick.choice(["<sum>", "#ppc.combiner<sum>"])
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
