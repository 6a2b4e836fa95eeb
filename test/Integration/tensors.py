"""Reads safetensors files and compares tensors with nothing but the standard library."""
import array
import json
import math
import struct
import sys

TYPES = {"F32": "f", "F64": "d", "I32": "i", "I64": "q"}


def read(path):
    """The tensors of a safetensors file as {name: (shape, array)}, and its metadata."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = array.array(TYPES[entry["dtype"]])
        values.frombytes(data[begin:end])
        if sys.byteorder == "big":
            values.byteswap()
        if len(values) != math.prod(entry["shape"]):
            raise ValueError(f"{path}: '{name}' has {len(values)} values and shape {entry['shape']}")
        tensors[name] = (tuple(entry["shape"]), values)
    return tensors, metadata


def write(path, tensors, metadata=None):
    """Writes {name: (shape, array)}; arrays of type f, d, i or q."""
    header, offset = {"__metadata__": metadata} if metadata else {}, 0
    codes = {code: name for name, code in TYPES.items()}
    for name, (shape, values) in tensors.items():
        size = len(values) * values.itemsize
        header[name] = {"dtype": codes[values.typecode], "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, values in tensors.values():
            file.write(values.tobytes())


def relative_l2(found, expected):
    """|found - expected| / |expected|; the plain norm if `expected` is zero."""
    difference = math.sqrt(sum((a - b) ** 2 for a, b in zip(found, expected)))
    norm = math.sqrt(sum(b * b for b in expected))
    return difference / norm if norm else difference


def compare(found, expected, tolerance, flat=False):
    """Lines about tensors that differ by more than `tolerance` in relative L2, and the largest difference.

    `flat` compares element counts in place of shapes: a head dimension may be written apart or folded."""
    problems, worst, worst_name = [], 0.0, ""
    for name in sorted(set(found) ^ set(expected)):
        problems.append(f"'{name}' is only in {'the first' if name in found else 'the second'} file")
    for name in sorted(set(found) & set(expected)):
        (shape, values), (wanted_shape, wanted) = found[name], expected[name]
        if len(values) != len(wanted) or (shape != wanted_shape and not flat):
            problems.append(f"'{name}' has shape {list(shape)}, not {list(wanted_shape)}")
            continue
        error = relative_l2(values, wanted)
        if not error <= worst:
            worst, worst_name = error, name
        if not error <= tolerance:
            problems.append(f"'{name}' differs by {error:.2e} in relative L2; at most {tolerance:g} is accepted")
    return problems, worst, worst_name
