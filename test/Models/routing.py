"""Patterns with ids: experts, and ids that name no row, class or expert as far as shapes and constants show."""
from drawing import MOST, Value, product, tensor


def largest(d, scores, count):
    """The largest of each row as a value, and the name of where they are; chosen with a bias, or of some groups, at times."""
    length, words = scores.shape[-1], ""
    if d.pick.random() < 0.25:
        bias = d.pick.choice([d.constant, d.parameter])((length,))
        words = f" bias {bias.name} as {tensor(bias.shape)}"
    if length % 2 == 0 and count <= length // 2 and d.pick.random() < 0.2:
        words += " groups 2" + (" groups_per_row 1" if d.pick.random() < 0.7 else "")
    shape = scores.shape[:-1] + (count,)
    names = d.two(f"ppc.top_k {scores.name}{words}", f"{tensor(scores.shape)} -> {tensor(shape)}, {tensor(shape, 'i32')}")
    values = Value(names[0], shape, scores.tags[:-1] + ("top",))
    d.values.append(values)
    return values, names[1]


def dispatch(d, x, ids, weights, shape):
    words, weighted = (f" weights {weights.name}", [tensor(weights.shape)]) if weights else ("", [])
    types = ", ".join([tensor(x.shape), tensor(ids[1], "i32"), *weighted])
    return d.op(f"ppc.dispatch {x.name}, {ids[0]}{words}", shape, (x.tags[0], "e", "c", x.tags[2]), f"({types}) -> {tensor(shape)}")


def combine(d, slots, ids, weights, like):
    words, weighted = (f" weights {weights.name}", [tensor(weights.shape)]) if weights else ("", [])
    types = ", ".join([tensor(slots.shape), tensor(ids[1], "i32"), *weighted])
    return d.op(f"ppc.combine {slots.name}, {ids[0]}{words}", like.shape, like.tags, f"({types}) -> {tensor(like.shape)}")


def route(d, x, count, each):
    """Values and ids (name, shape) of `each` of `count` experts of every token."""
    shape = (*x.shape[:2], each)
    if d.pick.random() < 0.07:
        chosen = [d.pick.sample(range(count), each) for _ in range(product(x.shape[:2]))]
        return None, (d.integer_constant(shape, [expert for some in chosen for expert in some]), shape)
    scores = d.matmul("bsh,he->bse", x, d.known_parameter((x.shape[2], count), (x.tags[2], "e")), (*x.shape[:2], count), (*x.tags[:2], "e"))
    if d.pick.random() < 0.7:
        scores = d.unary(d.pick.choice(["softmax", "sigmoid"]), scores)
    values, ids = largest(d, scores, each)
    return values, (ids, shape)


def compute(d, slots):
    """What each expert makes of its slots."""
    count, width, inner = slots.shape[1], slots.shape[3], d.pick.choice([1, 2, 3])
    if d.pick.random() < 0.2:
        return d.unary(d.pick.choice(["silu", "neg"]), slots)
    hidden = (*slots.shape[:3], inner)
    y = d.matmul("bech,ehf->becf", slots, d.known_parameter((count, width, inner), ("e", slots.tags[3], "f")), hidden, (*slots.tags[:3], "f"))
    y = d.unary(d.pick.choice(["silu", "sigmoid", "gelu"]), y)  # sigmoid: of slots that nobody takes, too
    return d.matmul("becf,efh->bech", y, d.known_parameter((count, inner, width), ("e", "f", slots.tags[3])), slots.shape, slots.tags)


def experts(d, missing=0):
    """A mixture of experts; with `missing`, of fewer than tokens go to."""
    three = [value for value in d.values if len(value.shape) == 3 and product(value.shape) <= MOST // 3]
    if not three:
        return None
    x = d.pick.choice(three[-3:])
    count, length = d.pick.choice([2, 3, 4]), x.shape[1]
    each = d.pick.choice([1, 1, 2])
    count = max(2, min(count, MOST // product(x.shape)))
    slots = length if d.pick.random() < 0.5 else d.pick.randrange(1, length + 1) if d.pick.random() < 0.95 else length + 1
    values, ids = route(d, x, count, each)
    y = dispatch(d, x, ids, values if d.pick.random() < 0.25 else None, (x.shape[0], count - missing, slots, x.shape[2]))
    y = combine(d, compute(d, y), ids, values if d.pick.random() < 0.75 else None, x)
    return d.binary("add", x, y) if d.pick.random() < 0.5 else y


def unknown_ids(d):
    """A value that is looked up by ids some of which name nothing."""
    x = d.recent(2)
    length = x.shape[-1] if x.shape else 0
    kind = d.pick.choice(["table", "constant", "classes", "experts"])
    if kind == "experts" and (y := experts(d, missing=1)):
        return y
    if kind == "table" and length > 1:
        _, ids = largest(d, x, 1)
        return d.embed(d.parameter((d.pick.randrange(1, length), 2)), ids, (*x.shape[:-1], 1))
    if kind == "classes" and length > 0 and product(x.shape[:-1]) <= 100:
        ids = [d.pick.randrange(length) for _ in range(product(x.shape[:-1]))]
        ids[d.pick.randrange(len(ids))] = d.pick.choice([-1, length, length + 2])
        shape, name = x.shape[:-1], d.integer_constant(x.shape[:-1], ids)
        names = d.two(f"ppc.cross_entropy {x.name}, {name}", f"({tensor(x.shape)}, {tensor(shape, 'i32')}) -> ({tensor(shape)}, {tensor(shape)})")
        return Value(names[0], shape, x.tags[:-1])
    rows = d.pick.choice([2, 3, 5])
    ids = [d.pick.randrange(rows) for _ in range(3)] + [d.pick.choice([-1, rows, rows + 7])]
    d.pick.shuffle(ids)
    return d.embed(d.parameter((rows, 2)), d.integer_constant((4,), ids), (4,))
