"""Edits of module text: numbers, types, attributes, names of ops, lines. Edits of a word everywhere keep a module consistent, so that it
is read and reaches the passes; edits in one place are for the parsers and verifiers.
"""
import re

NUMBERS = ["0", "1", "2", "3", "5", "7", "8", "12", "13", "16", "31", "64", "127", "1000", "4096", "65536", "1048576", "2147483647", "2147483648", "4294967295", "4294967296",
           "1099511627776", "4611686018427387904", "9223372036854775807", "9223372036854775808", "18446744073709551615", "-1", "-2", "-9223372036854775808"]
SMALL = ["0", "1", "2", "3", "4", "5", "6", "8"]
FLOATS = ["0.0", "-0.0", "1.0", "-1.0", "1.0e-300", "1.0e300", "1.0e999", "0x7FC00000", "0.5"]
ELEMENTS = ["f32", "f64", "bf16", "f16", "i32", "i64", "i1", "index", "i8", "complex<f32>", "f8E4M3FN"]
NUMBER = re.compile(r"(?<![%@#\w.\"])-?\d+(?![\w.])")
ANY_NUMBER = re.compile(r"(?<![%@#A-Za-z_\d])\d+")
FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][+-]?\d+)?")
TYPE = re.compile(r"(?:tensor|memref)<[^<>]*>")
OP = re.compile(r"\b(?:ppc|ppcrt|func|arith|linalg|memref|tensor)\.[a-z_][\w.]*")
VALUE = re.compile(r"%[\w]+(?:#\d+)?")
SYMBOL = re.compile(r"@[\w.]+")
STRING = re.compile(r'"[^"\n]*"')
ATTRIBUTE = re.compile(r"\b(?:ppc|ppcrt|test)?\.?[a-z_]+ = ")
KEYWORD = re.compile(r"(?<![%@#!\w.\"])[a-z_]{3,}(?![\w.\"])")
WRAPPERS = [("builtin.module {\n", "}\n"), ("func.func @nested{n}() {{\n", "return\n}}\n"), ("func.func private @nested{n}() -> () {{\n", "return\n}}\n"),
            ("ppcrt.step {\n", "}\n"), ("scf.execute_region {\n", "scf.yield\n}\n")]


def substitute(text, match, word):
    return text[:match.start()] + word + text[match.end():]


def one_of(pick, text, expression):
    found = list(expression.finditer(text))
    return pick.choice(found) if found else None


def change_number(pick, text):
    match = one_of(pick, text, pick.choice([NUMBER, ANY_NUMBER]))
    return text if match is None else substitute(text, match, pick.choice(pick.choice([NUMBERS, SMALL])))


def change_number_everywhere(pick, text):
    match = one_of(pick, text, ANY_NUMBER)
    if match is None:
        return text
    word = pick.choice(pick.choice([NUMBERS, SMALL]))
    return re.sub(r"(?<![%@#A-Za-z_\d.])" + match[0] + r"(?![\d.])", word, text)


def change_float(pick, text):
    match = one_of(pick, text, FLOAT)
    return text if match is None else substitute(text, match, pick.choice(FLOATS))


def other_type(pick, text, word):
    """A type that differs in its element, in one extent, or in its rank, which is up to 14."""
    head, inside = word[:-1].split("<", 1)
    inside, comma, rest = inside.partition(",")
    extents = inside.split("x")
    kind = pick.randrange(5)
    if kind == 0:
        extents[-1] = pick.choice(ELEMENTS)
    elif kind == 1 and len(extents) > 1:
        extents[pick.randrange(len(extents) - 1)] = pick.choice(pick.choice([NUMBERS, SMALL, ["?"]]))
    elif kind == 2:
        rank = pick.choice([0, 1, 2, 5, 6, 8, 12, 13, 14])
        extents = (["1"] * max(0, rank - len(extents) + 1) + extents[:-1])[:rank] + extents[-1:] if rank else extents[-1:]
    elif kind == 3 and len(extents) > 1:
        place = pick.randrange(len(extents) - 1)
        extents[place:place] = [pick.choice(["1", "2"])]
    else:
        return pick.choice(TYPE.findall(text))
    return f"{head}<{'x'.join(extents)}{comma}{rest}>"


def change_type(pick, text):
    match = one_of(pick, text, TYPE)
    return text if match is None else substitute(text, match, other_type(pick, text, match[0]))


def change_type_everywhere(pick, text):
    match = one_of(pick, text, TYPE)
    return text if match is None else text.replace(match[0], other_type(pick, text, match[0]))


def exchange(pick, text, expression):
    """A word becomes another of its kind."""
    match = one_of(pick, text, expression)
    return text if match is None else substitute(text, match, pick.choice(expression.findall(text)))


def change_word(pick, text):
    return exchange(pick, text, pick.choice([VALUE, SYMBOL, STRING, ATTRIBUTE, KEYWORD]))


def change_value(pick, text):
    return exchange(pick, text, VALUE)


def change_symbol(pick, text):
    return exchange(pick, text, pick.choice([SYMBOL, STRING]))


def change_op(pick, text):
    match = one_of(pick, text, OP)
    return text if match is None else substitute(text, match, pick.choice(OPS or OP.findall(text)))


def drop_attribute(pick, text):
    """Drops an item of a dictionary, or an optional clause of the assembly."""
    match = one_of(pick, text, re.compile(r"(?:, )?[\w.]+ = (?:[^,{}<>\[\]()]+|[<#][^{}]*?>|\[[^\[\]]*\])|\b(?:slots|places|shares|offset|stride|arena|causal|window|runs|start|chunk|micro_batch|early|scratch) [@\d\[\]\w, ]+"))
    return text if match is None else substitute(text, match, "")


def edit_lines(pick, text):
    lines = text.split("\n")
    place, other = pick.randrange(len(lines)), pick.randrange(len(lines))
    length = pick.choice([1, 1, 1, 2, 4])
    kind = pick.randrange(4)
    if kind == 0:
        del lines[place:place + length]
    elif kind == 1:
        lines[other:other] = lines[place:place + length]
    elif kind == 2:
        lines[place], lines[other] = lines[other], lines[place]
    else:
        near = min(len(lines) - 1, place + 1)
        lines[place], lines[near] = lines[near], lines[place]
    return "\n".join(lines)


def nest(pick, text):
    """Some lines, or all, inside of another op."""
    head, tail = pick.choice(WRAPPERS)
    head, tail = (part.replace("{n}", str(pick.randrange(1000))).replace("{{", "{").replace("}}", "}") for part in (head, tail))
    lines = text.split("\n")
    first = pick.choice([0, pick.randrange(len(lines))])
    last = pick.choice([len(lines), first + 1])
    return "\n".join(lines[:first]) + "\n" + head + "\n".join(lines[first:last]) + "\n" + tail + "\n".join(lines[last:])


OPS = []  # names of ops that texts have; set by the generator
EDITS = [(change_number, 5), (change_number_everywhere, 5), (change_type, 2), (change_type_everywhere, 5), (change_word, 3), (change_value, 3), (change_symbol, 3),
         (change_op, 1), (change_float, 1), (drop_attribute, 3), (edit_lines, 5), (nest, 1)]


def mutate(pick, text):
    edits, weights = zip(*EDITS)
    for edit in pick.choices(edits, weights, k=pick.choice([1, 1, 1, 2, 2, 3])):
        text = edit(pick, text)
        if len(text) > 200000:
            break
    return re.sub(r"(?m)^// -----.*$", "", text)
