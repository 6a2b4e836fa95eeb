"""Reasons for which a layout of a module may be refused, and when each of them is true. A refusal for another reason, or for one that does not
hold for the module and the layout, is a failure.
"""
import re

import evaluator
import layouts

class Facts:
    """What reasons speak of: the module, the degrees of the layout or of its plan file, and the number of micro-batches."""

    def __init__(self, case, layout, plan):
        self.case, self.text = case, case.text
        _, self.batch, self.sequence = layouts.axes(case.text)
        grid = re.search(r"grid: \{(.*)\}", plan)
        self.degrees = {axis: int(size) for axis, size in re.findall(r"(\w+): (\d+)", grid[1])} if grid else layout
        self.schedule, self.context = layout.get("schedule", "1f1b"), layout.get("context")
        said = re.search(r"micro_batches: (\d+)", plan)
        self.micro_batches = int(said[1]) if said else self.batch // (self.degree("dp") * layout["micro-batch"])
        self.dims = {name: re.findall(r'"([^"]*)"', dims) for name, dims in re.findall(r'ppc\.(?:parameter|input) = "([^"]*)", ppc\.dims = \[([^\]]*)\]', case.text)}
        self.names = {name for dims in self.dims.values() for name in dims}

    def degree(self, axis):
        return self.degrees.get(axis, 1)

    def gradient_is_zero(self, parameter=None):
        slopes = evaluator.gradients(self.case.module, self.case.numbers)
        return not any(slopes[argument.value].any() for argument in self.case.module.arguments
                       if argument.parameter is not None and parameter in (None, argument.parameter))

    def drops_tokens(self):
        """Whether experts have fewer slots than there are tokens."""
        return any(op.kind == "dispatch" and op.types[-1][0][2] < op.types[0][0][1] or op.kind == "combine" and op.types[0][0][2] < op.types[-1][0][1]
                   for op in self.case.module.ops)

    def maxima(self):
        return any(op.kind == "reduce" and "max" in op.text for op in self.case.module.ops)

    def returns_argument(self):
        return any(argument.value == self.case.module.result for argument in self.case.module.arguments)


def blocks(extent, parts):
    """How many of so many equal blocks have elements."""
    each = -(-extent // parts)
    return -(-extent // each)


def quoted(text):
    return set(re.findall(r"""['"]([^'"]*)['"]""", text))


def one_micro_batch(facts, _):
    return facts.micro_batches > 1


def sliced(facts, _):
    return facts.schedule == "seq1f1b" and facts.degree("pp") > 1


# (what it is about, what the message says, when that is true)
REASONS = [
    ("ids that name nothing", r"op looks up by operand \d+, which has the id -?\d+, but there are \d+", lambda f, m: f.case.unknown is not None),
    ("a parameter without influence", r'parameter "([^"]*)" does not influence the loss', lambda f, m: f.gradient_is_zero(m[1])),
    ("a loss without parameters", r"loss depends on no parameter", lambda f, m: f.gradient_is_zero()),
    ("a loss that is an argument", r"returns an argument as its loss", lambda f, m: f.returns_argument()),
    ("maxima have no derivative", r"maxima are not differentiated", lambda f, m: f.maxima()),
    ("samples apart or together", r"the samples of a batch, apart or together with other dimensions, and cannot run per micro-batch", one_micro_batch),
    ("samples in pairs", r"pairs the samples of a batch with each other, along its loops .* and cannot run per micro-batch", one_micro_batch),
    ("samples mixed", r"mixes (the )?samples of a batch .* run per micro-batch", one_micro_batch),
    ("the number of a sample", r"depends on the number of a sample in the batch, along its loop .* and cannot run per micro-batch", one_micro_batch),
    ("not linear in a sum over the batch", r"is not linear in a value that sums over the batch, so it cannot run per micro-batch", one_micro_batch),
    ("a constant that differs along the batch", r"has different elements along the batch, so it cannot run per micro-batch", one_micro_batch),
    ("a parameter along the batch", r"would cut dimension \d+ of argument \d+, parameter .*, along the batch, but it is no input", one_micro_batch),
    ("slices of the sequence", r"cannot run in slices of the sequence: ", sliced),
    ("slices divide the sequence", r"cannot cut sequences of (\d+) tokens into (\d+) slices", lambda f, m: sliced(f, m) and f.sequence % int(m[2]) and int(m[1]) == f.sequence),
    ("cp divides the sequence", r"cannot cut sequences of (\d+) tokens evenly over cp (\d+)", lambda f, m: f.sequence % f.degree("cp") and int(m[1]) == f.sequence),
    ("heads for ulysses", r"context ulysses cannot exchange sequences in cp \d+ parts for heads: of ([1-9]\d*) ", lambda f, m: f.context == "ulysses" and "ppc.attention" in f.text),
    ("seq1f1b with cp", r"cannot run schedule seq1f1b with context parallelism", lambda f, m: sliced(f, m) and f.degree("cp") > 1),
    ("a name that no dimension has", r'no argument has a dimension called "(\w+)" in ppc.dims', lambda f, m: m[1] not in f.names),
    ("tp shards no parameter", r"tp \d+ cuts none of the parameters (.*): it cuts dimensions that ppc.dims calls (.*), and theirs are called (.*?);",
     lambda f, m: f.degree("tp") > 1 and not quoted(m[2]) & (quoted(m[3]) | {dim for name in quoted(m[1]) for dim in f.dims[name]})),
    ("two dimensions over one axis", r"the plan cuts both dimensions '([^']*)' and '([^']*)' of '([^']*)' over axis '(\w+)'",
     lambda f, m: f.degree(m[4].rstrip("01")) > 1 and {m[1], m[2]} <= set(f.dims[m[3]])),
    ("blocks without elements", r"dimension \d+ .*of '[^']*' has (\d+) elements and cannot be cut into (\d+) parts", lambda f, m: blocks(int(m[1]), int(m[2])) < int(m[2])),
    ("inputs are not padded", r"the (\d+) elements of input .* are no multiple of (\d+) parts", lambda f, m: int(m[1]) % int(m[2])),
    ("micro-batches of a plan", r"global batch of (\d+) sequences cannot be cut into \d+ micro-batches .* it must be a multiple of (\d+)", lambda f, m: int(m[1]) % int(m[2])),
    ("micro-batches both ways", r"sends half of the micro-batches each way .* not (\d+);", lambda f, m: int(m[1]) % 2),
    ("micro-batches in groups", r"sends micro-batches in groups of the (\d+) devices, so (\d+) is no legal number", lambda f, m: int(m[2]) % int(m[1])),
    ("fewer layers than stages", r"cannot cut (\d+) layers .* into (\d+) pipeline stages", lambda f, m: int(m[1]) < int(m[2])),
    ("ep divides the experts", r"cannot cut (\d+) experts evenly over ep (\d+)", lambda f, m: int(m[1]) % int(m[2])),
    ("experts that drop tokens", r"experts that drop tokens", lambda f, m: f.drops_tokens()),
]


def find(case, layout, plan, outcome):
    """The name of the reason of a refusal, and whether it holds: "refused"; "untrue" or "unlisted" otherwise."""
    for name, said, holds in REASONS:
        if match := re.search(said, outcome):
            return name, "refused" if holds(Facts(case, layout, plan), match) else "untrue"
    return re.sub(r"/\S*\.yaml|'[^']*'|\"[^\"]*\"|[0-9]+", "_", outcome)[:110], "unlisted"
