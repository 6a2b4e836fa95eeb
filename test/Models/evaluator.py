"""Evaluates a module of the ppc dialect independently of the compiler: numpy in f64, and gradients by complex steps (Squire and Trapp, 1998),
for which no derivative of an op is written down: of f(x + ih) with a tiny h, the imaginary part divided by h is f'(x).

Every float value has one dimension more than its type, in front: the directions of parameters in which it is differentiated at once, or one.
"""
import math
import re

import numpy

import module_reader

STEP = 1e-40
DIRECTIONS = 64  # at once

LETTERS = "abcdefghijklmnopqrstuvwxy"
erf = numpy.vectorize(math.erf, otypes=[float])


def largest(x):
    return numpy.max(x.real, axis=-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def gelu(x, tanh):
    if tanh:
        return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    real = x.real
    share = 0.5 * (1 + erf(real / math.sqrt(2)))
    value = real * share
    if not numpy.iscomplexobj(x):
        return value
    return value + 1j * x.imag * (share + real * numpy.exp(-real * real / 2) / math.sqrt(2 * math.pi))


def softmax(x):
    powers = numpy.exp(x - largest(x))
    return powers / numpy.sum(powers, axis=-1, keepdims=True)


def log_sum_exp(x):
    top = largest(x)
    return (numpy.log(numpy.sum(numpy.exp(x - top), axis=-1, keepdims=True)) + top)[..., 0]


def split_runs(x, dim, runs, sizes):
    """The parts along `dim` of the array, which has the directions in front."""
    shape = x.shape
    grouped = x.reshape(shape[:dim] + (runs, shape[dim] // runs) + shape[dim + 1:])
    places = numpy.cumsum([size // runs for size in sizes])[:-1]
    parts = numpy.split(grouped, places, axis=dim + 1)
    return [part.reshape(shape[:dim] + (size,) + shape[dim + 1:]) for part, size in zip(parts, sizes)]


def concat_runs(parts, dim, runs):
    most = max(part.shape[0] for part in parts)
    parts = [numpy.broadcast_to(part, (most,) + part.shape[1:]) for part in parts]
    grouped = [part.reshape(part.shape[:dim] + (runs, part.shape[dim] // runs) + part.shape[dim + 1:]) for part in parts]
    whole = numpy.concatenate(grouped, axis=dim + 1)
    return whole.reshape(whole.shape[:dim] + (-1,) + whole.shape[dim + 2:])


def rotary(op, x):
    frequencies = op.numbers("frequencies")
    offset, start, count = int(op.number("offset", 0)), op.number("start", 0), len(frequencies)
    y = x.copy()
    positions = (start + numpy.arange(x.shape[2])).reshape((1, 1, -1) + (1,) * (x.ndim - 4))
    for i, frequency in enumerate(frequencies):
        a = offset + (2 * i if op.has("interleaved") else i)
        b = a + (1 if op.has("interleaved") else count)
        angle = positions * frequency * (-1 if op.has("inverse") else 1)
        y[..., a] = x[..., a] * numpy.cos(angle) - x[..., b] * numpy.sin(angle)
        y[..., b] = x[..., a] * numpy.sin(angle) + x[..., b] * numpy.cos(angle)
    return y


def attention(op, q, k, v, slopes=None):
    queries, keys = q.shape[2], k.shape[2]
    scores = op.number("scale") * numpy.einsum("zbqhgd,zbkhd->zbhgqk", q, k)
    position = (numpy.arange(queries) + keys - queries)[:, None]
    key = numpy.arange(keys)[None, :]
    if slopes is not None:
        scores = scores + slopes[:, None, :, :, None, None] * (key - position)
    if op.has("causal"):
        allowed = key <= position
        if op.number("window") is not None:
            allowed = allowed & (key > position - op.number("window"))
        scores = numpy.where(allowed, scores, -1e30)
    lse = log_sum_exp(scores)
    out = numpy.einsum("zbhgqk,zbkhd->zbqhgd", numpy.exp(scores - lse[..., None]), v)
    return [out, numpy.transpose(lse, (0, 1, 4, 2, 3))]


def top_k(op, scores, bias, count):
    keys = scores.real if bias is None else scores.real + bias.real
    order = numpy.argsort(-keys, axis=-1, kind="stable")[..., :count]
    some = numpy.broadcast_to(order, scores.shape[:-1] + (count,))
    return [numpy.take_along_axis(scores, some, axis=-1), order[0]]


def norm(x, weight, bias, epsilon):
    if bias is not None:
        x = x - numpy.mean(x, axis=-1, keepdims=True)
    y = x / numpy.sqrt(numpy.mean(x * x, axis=-1, keepdims=True) + epsilon)
    weight = weight.reshape((weight.shape[0],) + (1,) * (x.ndim - 2) + weight.shape[1:])
    y = y * weight
    return y if bias is None else y + bias.reshape((bias.shape[0],) + (1,) * (x.ndim - 2) + bias.shape[1:])


def matmul(spec, a, b):
    operands, result = spec.split("->")
    left, right = operands.split(",")
    most = max(a.shape[0], b.shape[0])
    a, b = (numpy.broadcast_to(x, (most,) + x.shape[1:]) for x in (a, b))
    return numpy.einsum(f"z{left},z{right}->z{result}", a, b)


UNARY = {"neg": lambda x: -x, "exp": numpy.exp, "log": numpy.log, "sqrt": numpy.sqrt, "rsqrt": lambda x: 1 / numpy.sqrt(x), "sigmoid": sigmoid,
         "silu": lambda x: x * sigmoid(x), "softmax": softmax, "convert": lambda x: x}
BINARY = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "div": numpy.divide}


def apply(op, values):
    """The results of an op on values of its operands."""
    kind, shape = op.kind, op.types[-1][0]
    if kind in UNARY:
        return [UNARY[kind](values[0])]
    if kind in BINARY:
        return [BINARY[kind](*values)]
    if kind == "gelu":
        return [gelu(values[0], op.has("tanh"))]
    if kind == "scale":
        return [op.number("by") * values[0]]
    if kind == "sum":
        return [sum(values)]
    if kind == "constant":
        whole = numpy.array(module_reader.dense(op.text))
        element = op.types[-1][1]
        whole = numpy.broadcast_to(whole, shape)
        return [whole.astype(int) if element.startswith("i") else whole.astype(numpy.float32).astype(float)[None]]
    if kind == "matmul":
        return [matmul(re.search(r'"([^"]*)"', op.text)[1].replace(" ", ""), *values)]
    if kind == "transpose":
        return [numpy.transpose(values[0], [0] + [1 + int(dim) for dim in op.numbers("by")])]
    if kind == "reshape":
        return [values[0].reshape((values[0].shape[0],) + shape)]
    if kind == "broadcast":
        x = values[0]
        for dim in op.numbers("dims"):
            x = numpy.expand_dims(x, int(dim) + 1)
        return [numpy.broadcast_to(x, (x.shape[0],) + shape)]
    if kind == "reduce":
        return [numpy.sum(values[0], axis=tuple(1 + int(dim) for dim in op.numbers("dims")))]
    if kind == "split":
        dim = int(op.number("dim"))
        return split_runs(values[0], dim + 1, int(op.number("runs", 1)), [part[dim] for part, _ in op.types[1:]])
    if kind == "concat":
        return [concat_runs(values, int(op.number("dim")) + 1, int(op.number("runs", 1)))]
    if kind == "embedding":
        return [values[0][:, values[1]]]
    if kind == "cross_entropy":
        logits, targets = values
        lse = log_sum_exp(logits)
        index = numpy.broadcast_to(targets[None, ..., None], (logits.shape[0],) + targets.shape + (1,))
        return [lse - numpy.take_along_axis(logits, index, axis=-1)[..., 0], lse]
    if kind == "rms_norm":
        return [norm(values[0], values[1], None, op.number("epsilon"))]
    if kind == "layer_norm":
        return [norm(values[0], values[1], values[2], op.number("epsilon"))]
    if kind == "rotary":
        return [rotary(op, values[0])]
    if kind == "attention":
        return attention(op, *values)
    if kind == "top_k":
        return top_k(op, values[0], values[1] if len(values) > 1 else None, op.types[-1][0][-1])
    raise NotImplementedError(f"line {op.line}: ppc.{kind}")


class OutOfRange(Exception):
    """A value that is not finite, or so large that rounding would hide a difference."""


def run(module, given, most=None):
    """All values of the module by name, from those of its arguments, with directions in front of floats."""
    values = dict(given)
    for op in module.ops:
        results = apply(op, [values[operand] for operand in op.operands])
        for name, value in zip(op.results, results):
            values[name] = value
            if most and not numpy.all(numpy.abs(value) <= most):
                raise OutOfRange(f"line {op.line}: ppc.{op.kind}")
    return values


def plain(module, numbers):
    """Arguments as arrays, without directions: floats [1, ...]."""
    return {argument.value: numpy.array(numbers[argument.value], dtype=float).reshape((1,) + argument.shape) if argument.element.startswith("f")
            else numpy.array(numbers[argument.value], dtype=int).reshape(argument.shape) for argument in module.arguments}


def loss(module, numbers, most=None):
    return float(run(module, plain(module, numbers), most)[module.result].reshape(-1)[0])


def gradients(module, numbers):
    """Gradient of each parameter, by value, flat."""
    given = plain(module, numbers)
    places = [(argument.value, i) for argument in module.arguments if argument.parameter is not None for i in range(given[argument.value].size)]
    found = {argument.value: numpy.zeros(given[argument.value].size) for argument in module.arguments if argument.parameter is not None}
    for first in range(0, len(places), DIRECTIONS):
        some = places[first:first + DIRECTIONS]
        stepped = dict(given)
        for value in {value for value, _ in some}:
            whole = numpy.repeat(given[value].reshape(1, -1), len(some), axis=0).astype(complex)
            for row, (name, i) in enumerate(some):
                if name == value:
                    whole[row, i] += 1j * STEP
            stepped[value] = whole.reshape((len(some),) + given[value].shape[1:])
        result = run(module, stepped)[module.result].reshape(-1)
        slopes = numpy.broadcast_to(numpy.imag(result), (len(some),)) / STEP
        for (name, i), slope in zip(some, slopes):
            found[name][i] = slope
    return found


def step(module, numbers, rate, epsilon, max_norm, beta1=0.9, beta2=0.95, decay=0.1):
    """Results of a first training step, by the names in programs: the loss, the norm of the gradients, states and parameters."""
    slopes = gradients(module, numbers)
    length = math.sqrt(sum(float(numpy.sum(slope * slope)) for slope in slopes.values()))
    scale = min(1, max_norm / (length + 1e-6)) if max_norm else 1
    results = {"loss": numpy.array([loss(module, numbers)]), "grad_norm": numpy.array([length])}
    for argument in module.arguments:
        if argument.parameter is None:
            continue
        slope, before = scale * slopes[argument.value], numpy.array(numbers[argument.value], dtype=float).reshape(-1)
        results[f"m of {argument.parameter}"] = (1 - beta1) * slope
        results[f"v of {argument.parameter}"] = (1 - beta2) * slope * slope
        results[f"parameter {argument.parameter}"] = before - rate * ((decay if argument.decays else 0) * before + slope / (numpy.abs(slope) + epsilon))
    return results
