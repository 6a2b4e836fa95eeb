"""Losses of drawn modules: sums of all elements, and odd ones."""


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


def largest(d, loss):
    """The loss and a sum of maxima, of which there is no derivative."""
    x = d.recent(1)
    dims = sorted(d.pick.sample(range(len(x.shape)), d.pick.randrange(1, len(x.shape) + 1)))
    return d.binary("add", loss, to_scalar(d, d.reduce(x, dims, "<max>")))


def curved(d, loss):
    return d.unary(d.pick.choice(["exp", "sigmoid", "silu"]), loss)


def logarithm(d, loss):
    return d.unary(d.pick.choice(["log", "sqrt", "rsqrt"]), d.unary("exp", d.scale(loss, 0.125)))


def ratio(d, loss):
    """Divided by something of which nobody knows that it is a sum over samples."""
    return d.binary("div", loss, d.unary(d.pick.choice(["exp", "sigmoid"]), d.scale(to_scalar(d, d.recent(1)), 0.125)))


def squared(d, loss):
    return d.binary("mul", loss, loss)


def twice(d, loss):
    return d.binary("add", loss, loss)


def nothing(d, loss):
    """Zero, by no constant."""
    return d.binary("sub", loss, loss) if d.pick.random() < 0.5 else d.scale(loss, 0.0)


def constant(d, loss):
    return d.op("ppc.constant dense<1.50>", (), ())


def number(d, loss):
    """A parameter that is one number, alone or with the loss."""
    weight = d.parameter(())
    return weight if d.pick.random() < 0.3 else d.binary(d.pick.choice(["add", "mul", "sub"]), loss, weight)


def parameters(d, loss):
    """Of parameters alone, whatever the data are."""
    weight = d.known_parameter(tuple(d.pick.choice(d.sizes) for _ in range(d.pick.choice([1, 2]))))
    return to_scalar(d, d.binary("mul", weight, weight))


def one_element(d, loss):
    """By way of tensors of one element."""
    there = d.reshape(loss, [1] * d.pick.choice([1, 2]), ["1"] * 2)
    return d.reshape(d.unary("neg", there) if d.pick.random() < 0.5 else there, (), ())


def odd(d, loss):
    return d.pick.choice([largest, curved, logarithm, ratio, squared, twice, nothing, constant, number, parameters, one_element])(d, loss)
