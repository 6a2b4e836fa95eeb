"""Content of an exported file: (key, value) pairs, from each format with the standard library alone.

Nested keys are joined by dots. Of Python files every import is a pair ("import", "module.name"), and a keyword of a call that is
assigned to `config.section` is one of that section.
"""
import ast
import json
import re
import shlex
import tomllib


def megatron(text):
    """The arguments of the array as the shell reads them; a flag's value is True."""
    body = re.search(r"^MEGATRON_ARGS=\(\n(.*?)^\)", text, re.M | re.S)
    if not body:
        raise ValueError("no array MEGATRON_ARGS")
    pairs = []
    for line in body[1].splitlines():
        name, *values = shlex.split(line, comments=True) or [""]
        if name:
            pairs.append((name.removeprefix("--"), values[0] if values else True))
    return pairs


def _value(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def python(text):
    pairs = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            pairs += [("import", f"{node.module}.{name.name}") for name in node.names]
        if not isinstance(node, ast.Assign):
            continue
        target, value = ast.unparse(node.targets[0]), node.value
        if not target.startswith(("cfg.", "config.")):
            continue
        key = target.split(".", 1)[1]
        if key in ("parallelism", "compile", "peft") and isinstance(value, ast.Call):
            pairs += [(f"{key}.{word.arg}", _value(word.value)) for word in value.keywords]
        elif key == "model_spec":
            pairs.append(("flavor", value.args[0].value))
            pairs += [(f"model_spec.{word.arg}", _value(word.value)) for word in value.keywords]
        else:
            pairs.append((key, _value(value)))
    return pairs


def _flat(value, prefix):
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in _flat(item, f"{prefix}.{key}" if prefix else key)]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [pair for item in value for pair in _flat(item, prefix)]
    return [(prefix, value)]


def toml(text):
    return _flat(tomllib.loads(text), "")


def deepspeed(text):
    values = json.loads(text)
    values.pop("ppc_notes")
    return _flat(values, "")


def _scalar(text):
    text = text.strip()
    if text[:1] == '"':
        return json.loads(text)
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _flow(text):
    """{ a: 1, b: { c: 2 } }"""
    inner, parts, depth = text.strip()[1:-1], [""], 0
    for letter in inner:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    pairs = (part.split(":", 1) for part in parts if part.strip())
    return {key.strip(): _flow(value) if value.strip().startswith("{") else _scalar(value) for key, value in pairs}


def yaml(text):
    """The part of YAML that the exporters write: nested mappings by indentation, mappings in braces, lists of those."""
    root = {}
    open_mappings = [(-1, root)]
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if stripped.startswith("- "):
            open_mappings[-1][1].setdefault("-", []).append(_flow(stripped[2:]))
            continue
        while open_mappings[-1][0] >= indent:
            open_mappings.pop()
        key, value = stripped.split(":", 1)
        parent = open_mappings[-1][1]
        if key in parent:
            raise ValueError(f"{key} twice")
        if not value.strip():
            parent[key] = {}
            open_mappings.append((indent, parent[key]))
        else:
            parent[key] = _flow(value) if value.strip().startswith("{") else _scalar(value)
    return [(key.replace(".-", ""), value) for key, value in _flat(root, "")]


def nanotron(text):
    """The keys of a model carry the one that names its class: model.model_config(is_llama_config).hidden_size."""
    pairs = yaml(text)
    section = "model.model_config."
    kind = next((key.removeprefix(section) for key, _ in pairs if re.match(re.escape(section) + r"is_\w+_config$", key)), "")
    return [(key.replace(section, f"model.model_config({kind})."), value) for key, value in pairs]


READERS = {
    "megatron": megatron,
    "megatron-bridge": python,
    "torchtitan": python,
    "torchtitan-0.2.2": toml,
    "deepspeed": deepspeed,
    "accelerate": yaml,
    "nanotron": nanotron,
}
