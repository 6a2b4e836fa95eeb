"""Machine code in a shared library of CUDA code: the cubins of its section .nv_fatbin, which the library holds compressed.

The section is a row of containers. Each has a header of 16 bytes (magic, version and header size of 16 bits, size of what follows
of 64 bits) and entries: kind and version of 16 bits, header size of 32, size of the stored payload of 64, its size without padding
of 32; at 28 the architecture, at 40 flags, at 56 the size when decompressed. Kind 2 is an ELF file. Payloads of this reader are
plain or compressed by Zstandard."""
import mmap
import re
import struct

MAGIC, ELF, ZSTD = 0xBA55ED50, 2, b"\x28\xb5\x2f\xfd"


def section(library, name):
    """Offset and size of a section of a 64-bit ELF file."""
    table, = struct.unpack_from("<Q", library, 0x28)
    size, count, names = struct.unpack_from("<HHH", library, 0x3A)
    header = lambda number: struct.unpack_from("<IIQQQQIIQQ", library, table + number * size)
    strings = header(names)[4]
    for number in range(count):
        fields = header(number)
        start = strings + fields[0]
        if library[start:start + len(name) + 1] == name.encode() + b"\0":
            return fields[4], fields[5]
    raise SystemExit(f"error: the library has no section {name}")


def cubins(path, architecture):
    """The cubins of a library for an architecture (80, 90, 100), decompressed."""
    import zstandard
    reader = zstandard.ZstdDecompressor()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as library:
        at, size = section(library, ".nv_fatbin")
        end = at + size
        while at < end:
            magic, _, header, bytes_inside = struct.unpack_from("<IHHQ", library, at)
            if magic != MAGIC:  # between containers
                at += 8
                continue
            entry, at = at + header, at + header + bytes_inside
            while entry < at:
                kind, _, own_header, stored = struct.unpack_from("<HHIQ", library, entry)
                compressed, = struct.unpack_from("<I", library, entry + 16)
                chip, = struct.unpack_from("<I", library, entry + 28)
                whole, = struct.unpack_from("<Q", library, entry + 56)
                if kind == ELF and chip == architecture:
                    payload = library[entry + own_header:entry + own_header + (compressed or stored)]
                    if payload.startswith(ZSTD):
                        payload = reader.decompress(payload, max_output_size=whole)
                    if not payload.startswith(b"\x7fELF"):
                        raise SystemExit(f"error: {path} has machine code that is compressed in a way that is not known here")
                    yield payload
                entry += own_header + stored


def kernel_names(cubin):
    """Names of the functions of a cubin that have code."""
    return sorted({name.decode() for name in re.findall(rb"\.text\.([\w$.]+)", cubin)})
