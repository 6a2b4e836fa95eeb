#!/usr/bin/env python3
"""Machine code of others' kernels, made without a GPU, to be read beside ours by `ppc-bench kernels`.

    python3 tools/dev/kernel-peers.py --environment build/dev/kernel-peers --tools
    python3 tools/dev/kernel-peers.py --environment build/dev/kernel-peers -o build/dev/kernel-peers/sm_80 --arch 80
    ppc-bench kernels --nvdisasm build/dev/kernel-peers/bin/nvdisasm --arch sm_80 build/dev/kernel-peers/sm_80/*.cubin

--tools installs NVIDIA's disassembler from PyPI (5 MB) as bin/nvdisasm of the environment, and no more. Otherwise Triton is installed too (300 MB) and
compiles kernels that are written below as its tutorials and libraries write them: a norm of rows, SwiGLU, the loss of rows with its gradient. With --torch
FlashAttention-2 is taken out of PyTorch's CUDA build (540 MB from PyPI; sm_80)."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

TOOLS = ["nvidia-cuda-nvdisasm==13.5.37", "nvidia-cuda-cuobjdump==13.5.37"]
TRITON = ["triton==3.9.0"]
TORCH = ["torch==2.15.0"]
ATTENTION = r"flash_(fwd|bwd_dq_dk_dv_loop_seqk_parallel)_kernel"


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


def triton_kernels(folder, architecture):
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    @triton.jit
    def rms_norm(x, w, o, n, eps, B: tl.constexpr):
        row, column = tl.program_id(0), tl.arange(0, B)
        a = tl.load(x + row * n + column, mask=column < n, other=0.0).to(tl.float32)
        y = a * tl.rsqrt(tl.sum(a * a) / n + eps) * tl.load(w + column, mask=column < n, other=0.0).to(tl.float32)
        tl.store(o + row * n + column, y.to(tl.bfloat16), mask=column < n)

    @triton.jit
    def swiglu(gate, up, o, n, unused, B: tl.constexpr):
        place = tl.program_id(0) * B + tl.arange(0, B)
        g = tl.load(gate + place, mask=place < n, other=0.0).to(tl.float32)
        u = tl.load(up + place, mask=place < n, other=0.0)
        tl.store(o + place, (g * tl.sigmoid(g)).to(tl.bfloat16) * u, mask=place < n)

    @triton.jit
    def cross_entropy(logits, targets, losses, n, scale, B: tl.constexpr):
        """The largest and the sum of exponentials in one pass, then the gradient in the place of the logits."""
        row = tl.program_id(0)
        target = tl.load(targets + row)
        logits += row.to(tl.int64) * n
        largest, total = float("-inf"), 0.0
        for first in range(0, n, B):
            column = first + tl.arange(0, B)
            x = tl.load(logits + column, mask=column < n, other=float("-inf")).to(tl.float32)
            block = tl.maximum(largest, tl.max(x))
            total = total * tl.exp(largest - block) + tl.sum(tl.exp(x - block))
            largest = block
        ofTarget = tl.load(logits + target).to(tl.float32)
        for first in range(0, n, B):
            column = first + tl.arange(0, B)
            x = tl.load(logits + column, mask=column < n, other=float("-inf")).to(tl.float32)
            gradient = (tl.exp(x - largest) / total - tl.where(column == target, 1.0, 0.0)) * scale
            tl.store(logits + column, gradient.to(tl.bfloat16), mask=column < n)
        tl.store(losses + row, largest + tl.log(total) - ofTarget)

    def compile_one(function, types, block, warps):
        names = [name for name in function.arg_names if name != "B"]
        signature = dict(zip(names, types), B="constexpr")
        aligned = {(place,): [["tt.divisibility", 16]] for place, kind in enumerate(types) if kind != "fp32"}
        source = ASTSource(fn=function, constexprs={"B": block}, attrs=aligned, signature=signature)
        made = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": warps})
        (folder / f"triton-{function.__name__}.cubin").write_bytes(made.asm["cubin"])

    compile_one(rms_norm, ["*bf16", "*bf16", "*bf16", "i32", "fp32"], 4096, 8)
    compile_one(swiglu, ["*bf16", "*bf16", "*bf16", "i32", "fp32"], 2048, 8)
    compile_one(cross_entropy, ["*bf16", "*i64", "*fp32", "i32", "fp32"], 32768, 32)


def flash_attention(environment, folder):
    """Kernels of head size 128, causal, without dropout, windows, softcap or ALiBi, with even sizes, out of PyTorch."""
    library = next(environment.glob("lib/python3*/site-packages/torch/lib/libtorch_cuda.so")).resolve()
    reader = (environment / "bin/cuobjdump").resolve()
    listing = subprocess.run([reader, "-lelf", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    names = [name for name in re.findall(r"\S+\.cubin", listing) if "sm_80" in name]
    print(f"{len(names)} cubins of sm_80 in {library.name}")
    subprocess.run([reader, "-xelf", "sm_80", library], check=True, cwd=folder, stdout=subprocess.DEVNULL)  # one by one it takes hours
    for name in names:
        if not re.search(ATTENTION.encode(), (folder / name).read_bytes()):
            (folder / name).unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=pathlib.Path, required=True, help="a Python environment, made if it is not there")
    parser.add_argument("--tools", action="store_true", help="install the disassembler, and no more")
    parser.add_argument("--arch", type=int, default=90, help="80, 90 or 100")
    parser.add_argument("--torch", action="store_true", help="FlashAttention-2 of PyTorch, too")
    parser.add_argument("-o", dest="folder", type=pathlib.Path, help="folder for the cubins")
    parser.add_argument("--installed", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.tools and not options.folder:
        sys.exit("error: -o names no folder for the cubins; --tools alone installs the disassembler")
    if not options.installed:
        packages = [*TOOLS, *([] if options.tools else TRITON), *(TORCH if options.torch and not options.tools else [])]
        python = install(options.environment, packages)
        if not options.tools:
            os.execv(python, [str(python), __file__, *sys.argv[1:], "--installed"])
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    triton_kernels(options.folder, options.arch)
    if options.torch:
        flash_attention(options.environment, options.folder)


if __name__ == "__main__":
    main()
