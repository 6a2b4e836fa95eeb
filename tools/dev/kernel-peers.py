#!/usr/bin/env python3
"""Compares machine code of others' kernels with ours, without a GPU: prints the tables of docs/performance/kernel-peers.txt, or checks
them.

    python3 tools/dev/kernel-peers.py --environment build/dev/kernel-peers --tools
    python3 tools/dev/kernel-peers.py --environment build/dev/kernel-peers --build build/dev [--check docs/performance/kernel-peers.txt]
    ppc-bench kernels --nvdisasm build/dev/kernel-peers/bin/nvdisasm --arch sm_80 build/dev/kernel-peers/sm_80/liger-*.cubin

--tools installs NVIDIA's disassembler from PyPI (5 MB) as bin/nvdisasm of the environment, and no more. Otherwise Triton and
Liger's kernels are installed too (300 MB), and PyTorch's CUDA build (540 MB), which is opened and not imported: FlashAttention-2,
AdamW and layer norms are taken out of its library. All of them and ours go through `ppc-bench kernels`; nothing is run on a GPU.
Ours are also executed by the PTX emulator and compared with the interpreter."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

TOOLS = ["nvidia-cuda-nvdisasm==13.5.37", "nvidia-cuda-cuobjdump==13.5.37"]
PEERS = ["triton==3.9.0", "liger-kernel==0.8.5", "packaging==26.4", "torch==2.15.0", "zstandard==0.25.0"]
CHIPS = {"sm_80": 80, "sm_90a": 90, "sm_100a": 100}
# Kernels of PyTorch: heads of 128 and of 64 in bf16, causal, sizes that fill tiles, without dropout, windows, ALiBi, softcap, in the tiles that it runs on
# sm_80; AdamW in f32, four tensors; norms of bf16.
FORWARD = r"flash_fwd_kernelI23Flash_fwd_kernel_traitsI{}E.*bfloat16.*Lb0ELb1ELb0ELb0ELb1ELb1ELb0ELb0E"
BACKWARD = r"flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI23Flash_bwd_kernel_traitsI{}E.*bfloat16.*Lb0ELb1ELb0ELb0ELb1ELb1ELb0E"
TORCH = {
    "attention": FORWARD.format("Li128ELi128ELi64"),
    "attention, backward": BACKWARD.format("Li128ELi64ELi128"),
    "attention, heads of 64": FORWARD.format("Li64ELi128ELi128"),
    "attention, heads of 64, backward": BACKWARD.format("Li64ELi128ELi128"),
    "AdamW": r"fused_adamw_impl_cu.*FusedAdamMathFunctorIfLi4E.*ADAM_MODEE1ELb0E",
    "layer norm": r"vectorized_layer_norm_kernelIN3c108BFloat16EfLb0E",
    "layer norm, backward": r"layer_norm_grad_input_kernel_vectorizedIN3c108BFloat16EfLb0E",
}
SHORT = {"AdamW": "PyTorch", "layer norm": "PyTorch", "layer norm, backward": "PyTorch (of the input alone)"}


def install(environment, packages):
    python = environment / "bin/python3"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    # PyTorch is only opened, never imported: what it depends on is left out.
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", *packages], check=True)
    for name in ("nvdisasm", "cuobjdump"):  # packages put them into a folder of their own
        link = environment / "bin" / name
        for program in environment.glob(f"lib/python3*/site-packages/nvidia/*/bin/{name}"):
            link.unlink(missing_ok=True)
            link.symlink_to(program.resolve())
    return python


def only(text, pattern):
    """Disassembly of the one kernel with this name."""
    parts = re.split(r"(?m)^(?=\t\.section\t\.text\.)", text)
    found = [part for part in parts[1:] if re.search(pattern, part.split(",", 1)[0])]
    return found[0] if len(found) == 1 else None


def torch_kernels(environment, folder, architecture):
    from kernel_peers import fatbinary
    wanted = {operation: folder / f"torch-{re.sub(r'[^a-z]+', '-', operation.lower())}.sass" for operation in TORCH}
    if not all(path.exists() for path in wanted.values()):
        library = next(environment.glob("lib/python3*/site-packages/torch/lib/libtorch_cuda.so"))
        for cubin in fatbinary.cubins(library, architecture):
            names = fatbinary.kernel_names(cubin)
            for operation, pattern in TORCH.items():
                if wanted[operation].exists() or not any(re.search(pattern, name) for name in names):
                    continue
                whole = folder / "torch.cubin"
                whole.write_bytes(cubin)
                text = subprocess.run([environment / "bin/nvdisasm", "-c", whole], check=True, stdout=subprocess.PIPE, text=True).stdout
                if found := only(text, pattern):
                    wanted[operation].write_text(found)
    for operation, path in wanted.items():
        if not path.exists():
            sys.exit(f"error: PyTorch's library has no kernel for {operation} of sm_{architecture}")
        yield operation, SHORT.get(operation, "FlashAttention-2"), path


def liger_kernels(folder, architecture):
    from kernel_peers import liger
    for operation, name, code in liger.kernels(architecture):
        path = folder / f"liger-{name}.cubin"
        path.write_bytes(code)
        yield operation, "Liger", path


class Row:
    """A line of `ppc-bench kernels`: numbers by column, empty if unknown. The name is longer than its column's."""

    def __init__(self, header, line):
        name, *_ = line.split()
        line = " " * len(name) + line[len(name):]
        self.cells = {column: line[start:end].strip() for column, start, end in header[1:]}
        self.cells[header[0][0]] = name

    def __getitem__(self, name):
        return self.cells[name]


def columns_of(line):
    """(name, first, end) of each column: names are two blanks apart, numbers lie under their ends."""
    found = [(match[0], match.start(), match.end()) for match in re.finditer(r"\S+(?: \S+)*", line)]
    return [(name, found[i - 1][2] if i else 0, None if i + 1 == len(found) else end) for i, (name, _, end) in enumerate(found)]


def measured(options, chip, path):
    """The kernels of a file, as rows."""
    command = [options.build / "bin/ppc-bench", "kernels", "--nvdisasm", options.environment / "bin/nvdisasm", "--arch", chip, path]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("kernel, nothing was run"))
    header = columns_of(lines[start])
    rows = []
    for line in lines[start + 1:]:
        if not line.strip():
            break
        rows.append(Row(header, line))
    return rows


def most_moving(rows):
    """The kernel of an operation that moves most bytes per thread (the others are sums of its results)."""
    return max(rows, key=lambda row: int(row["bytes loaded"]) + int(row["stored"]))


def tables(options):
    from kernel_peers import own
    memory, tensor, names = {}, {}, []
    for chip, architecture in CHIPS.items():
        folder = options.environment / chip
        folder.mkdir(exist_ok=True)
        found = [(operation, "ours", path) for operation, path in own.kernels(options.build / "bin", folder, chip)]
        found += list(liger_kernels(folder, architecture))
        found += list(torch_kernels(options.environment, folder, architecture))
        for operation, who, path in found:
            rows = measured(options, chip, path)
            if operation.startswith("attention"):
                if operation.endswith("backward") and who == "ours":  # the file has the forward pass, too, which backward needs
                    rows = [row for row in rows if row["kernel, nothing was run"].startswith("attention_backward")]
                for number, row in enumerate(row for row in rows if row["per mma"]):
                    tensor[operation, who, number, chip] = row
                continue
            memory[operation, who, chip] = most_moving(rows)
            if (operation, who) not in names:
                names.append((operation, who))
    order = [operation for operation, _, _ in own.functions()]
    lines = ["| operation, nothing was run | | registers (sm_80) | bytes in flight | issue: sm_80 | sm_90a | sm_100a |", "|---|---|---:|---:|---:|---:|---:|"]
    for operation, who in sorted(names, key=lambda name: (order.index(name[0]), name[1] != "ours", name[1])):
        of = [memory[operation, who, chip] for chip in CHIPS]
        lines.append(f"| {operation} | {who} | {of[0]['registers']} | {' / '.join(row['in flight'] for row in of)} "
                     f"| {' | '.join(row['issue'] for row in of)} |")
    yield "\n".join(lines) + "\n"
    lines = ["| attention, nothing was run | | | instructions / mma | issue | shared memory |", "|---|---|---|---:|---:|---:|"]
    for (operation, who, number, chip), row in sorted(tensor.items(), key=lambda item: (item[0][0], list(CHIPS).index(item[0][3]), item[0][1] != "ours")):
        part = ("backward" if operation.endswith("backward") else "forward") + (", heads of 64" if "64" in operation else "")
        lines.append(f"| {part} | {who} | {chip} | {row['in the loop']} / {row['mma']} = {row['per mma']} "
                     f"| {row['of tensor time: issue']} | {row['shared memory']} |")
    yield "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=pathlib.Path, required=True, help="a Python environment, made if it is not there")
    parser.add_argument("--tools", action="store_true", help="install the disassembler, and no more")
    parser.add_argument("--build", type=pathlib.Path, help="the build folder")
    parser.add_argument("--check", type=pathlib.Path, help="fail unless this file holds the tables")
    parser.add_argument("--installed", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.tools and not options.build:
        sys.exit("error: --build names no build folder, whose kernels are compared; --tools alone installs the disassembler")
    if not options.installed:
        python = install(options.environment, [*TOOLS, *([] if options.tools else PEERS)])
        if not options.tools:
            os.execv(python, [str(python), __file__, *sys.argv[1:], "--installed"])
        return
    for text in tables(options):
        print(text)
        if options.check and text not in options.check.read_text():
            sys.exit(f"error: {options.check} holds another table")


if __name__ == "__main__":
    main()
