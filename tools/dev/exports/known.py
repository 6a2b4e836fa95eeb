"""The options that a target knows, as facts: which keys there are, and of which type or choice each is.

options/TARGET.txt names where they were read and holds lines `TYPE: KEY KEY ...` and `KEY = VALUE | VALUE | ...`, both going on
in indented lines; TYPE is flag, int, float, bool, str or any.
"""
import os
import textwrap

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "options")
TYPES = ("flag", "int", "float", "bool", "str", "any")


def path_of(target):
    return os.path.join(FOLDER, target + ".txt")


def read(target):
    """(where the options were read, {key: type, or list of values})"""
    with open(path_of(target), encoding="utf-8") as file:
        first, *lines = file.read().splitlines()
    joined = []
    for line in lines:
        if line.startswith("  "):
            joined[-1] += " " + line.strip()
        elif line and not line.startswith("#"):
            joined.append(line)
    options = {}
    for line in joined:
        if " = " in line:
            key, values = line.split(" = ", 1)
            options[key] = [value.strip() for value in values.split(" | ")]
        else:
            kind, keys = line.split(": ", 1)
            options.update(dict.fromkeys(keys.split(), kind))
    return first.removeprefix("# "), options


def write(target, source, options):
    def wrapped(text):
        return textwrap.fill(text, 150, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"
    text = f"# {source}\n"
    for kind in TYPES:
        keys = sorted(key for key, value in options.items() if value == kind)
        text += wrapped(f"{kind}: {' '.join(keys)}") if keys else ""
    for key, value in sorted(options.items()):
        if isinstance(value, list):
            text += wrapped(f"{key} = {' | '.join(value)}")
    os.makedirs(FOLDER, exist_ok=True)
    with open(path_of(target), "w", encoding="utf-8") as file:
        file.write(text)


def _holds(kind, value):
    if isinstance(kind, list):
        return str(value) in kind
    if kind == "flag":
        return value is True
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "str":
        return isinstance(value, str)
    if kind in ("int", "float"):
        if isinstance(value, bool):
            return False
        try:
            number = float(value)
        except (TypeError, ValueError):
            return False
        return kind == "float" or number == int(number)
    return kind == "any"


def check(target, pairs):
    """How many keys of the pairs the target knows. Errors: one that it does not know, or not with that value."""
    _, options = read(target)
    if not pairs:
        raise ValueError("the file says nothing")
    seen = set()
    for key, value in pairs:
        if key not in options:
            raise ValueError(f"unknown option {key}")
        if not _holds(options[key], value):
            kind = options[key]
            raise ValueError(f"{key} is {value!r}, expected {' or '.join(kind) if isinstance(kind, list) else kind}")
        if key in seen and key != "import":
            raise ValueError(f"{key} occurs twice")
        seen.add(key)
    return len(seen)
