"""Reads the text of a module of the ppc dialect, as people write it: its arguments, and its ops in order."""
import json
import re

SHAPED = re.compile(r"tensor<((?:\d+x)*)(\w+)>")


class Argument:
    def __init__(self, value, shape, element, attributes):
        self.value, self.shape, self.element = value, shape, element
        words = dict(re.findall(r'ppc\.(input|parameter) = "([^"]*)"', attributes))
        self.input, self.parameter = words.get("input"), words.get("parameter")
        self.decays = "ppc.no_weight_decay" not in attributes


class Op:
    """`results` are names as they are used (%a, or %a#0), `types` the (shape, element) of each, `text` what is between the name and the types."""

    def __init__(self, line, kind, results, operands, text, types):
        self.line, self.kind, self.results, self.operands, self.text, self.types = line, kind, results, operands, text, types

    def number(self, word, absent=None):
        match = re.search(rf"\b{word}\s+(-?[\d.]+(?:[eE][+-]?\d+)?)", self.text)
        return absent if match is None else float(match[1])

    def numbers(self, word):
        match = re.search(rf"\b{word}\s+\[([^\]]*)\]", self.text)
        return [float(item) for item in match[1].split(",") if item.strip()]

    def has(self, word):
        return re.search(rf"\b{word}\b", self.text) is not None


class Module:
    def __init__(self, text):
        text = re.sub(r"(?m)^\s*//.*$", "", text)
        start = text.index("func.func @")
        end = text.index("->", start)
        self.arguments = [Argument(match[1], shape_of(match[2]), match[3], match[4] or "") for match in re.finditer(
            r"(%\w+)\s*:\s*tensor<((?:\d+x)*)(\w+)>\s*(\{(?:[^{}]|\{[^{}]*\})*\})?", text[start:end])]
        first = text[:end].count("\n")
        self.ops, self.result = [], None
        for number, line in enumerate(text.split("\n")[first:], first + 1):
            line = re.sub(r"\{(?:ppc\.\w+ = [^{}]*)\}", "", line).strip()
            if line.startswith("return"):
                self.result = re.search(r"%[\w#]+", line)[0]
            elif re.match(r"%[\w:, %]* = ppc\.", line):
                self.ops.append(read_op(number, line))


def shape_of(extents):
    return tuple(int(extent) for extent in extents.split("x") if extent)


def read_op(number, line):
    left, right = line.split(" = ", 1)
    kind, text = re.match(r"\s*ppc\.(\w+)\s*(.*)", right).groups()
    types_at = re.search(r" : (?=[^:]*$)", text)
    body, types = text[:types_at.start()], [(shape_of(extents), element) for extents, element in SHAPED.findall(text[types_at.start():])]
    results = []
    for word in left.split(","):
        name, _, count = word.strip().partition(":")
        results += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    body_types = re.search(r"\bas tensor<[^>]*>", body)
    operands = re.findall(r"%[\w]+(?:#\d+)?", body)
    return Op(number, kind, results, operands, body if body_types is None else body.replace(body_types[0], ""), types)


def dense(text):
    """The nested list, or the number, of dense<...>."""
    match = re.search(r"dense<(.*)>", text)
    return json.loads(match[1])
