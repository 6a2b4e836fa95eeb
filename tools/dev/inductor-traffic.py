#!/usr/bin/env python3
"""Memory traffic of torch.compile for layers of the table of docs/performance/gpu-kernels.md, next to that of our kernels.

    python3 tools/dev/inductor-traffic.py [--environment FOLDER] [--build build/dev] [--check docs/performance/gpu-kernels.md]

TorchInductor makes its kernels for fake tensors of an H100, without a GPU or a driver; nothing is run. The layers are written as
those of our programs are: the residual in f32, bf16 matmuls with the same types of results, and matmuls, attention and all-reduces
as calls that nothing is fused with. PyTorch's partitioner splits joint graphs into forward and backward, and may recompute. Counts
the bytes that Inductor's kernels read and write, each buffer once a kernel, as Inductor counts it (a sum into one number is two
kernels to it, too). With --build the table has columns of our kernels for the same layers. PyTorch is installed into the
environment if it is missing (3.8 GB)."""
import argparse
import copy
import importlib.util
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TORCH = "torch==2.15.0"
EPSILON = 1e-5


def pretend_a_gpu():
    """As much of an H100 as code generation asks for; figures of its data sheet."""
    import torch
    import torch._dynamo.device_interface as interface
    import triton
    from triton.backends.compiler import GPUTarget

    class Properties:
        name, major, minor, multi_processor_count, total_memory, warp_size, gcnArchName = "NVIDIA H100", 9, 0, 132, 80 << 30, 32, ""
        max_threads_per_multi_processor, regs_per_multiprocessor, L2_cache_size = 2048, 65536, 50 << 20
        shared_memory_per_block, shared_memory_per_block_optin, shared_memory_per_multiprocessor = 49152, 232448, 233472
        clock_rate, memory_clock_rate, memory_bus_width = 1980000, 2619000, 5120

    class Driver:
        get_current_target = staticmethod(lambda: GPUTarget("cuda", 90, 32))
        get_current_device = staticmethod(lambda: 0)
        get_active_torch_device = staticmethod(lambda: torch.device("cuda", 0))
        get_device_interface = staticmethod(lambda: torch.cuda)
        is_active = staticmethod(lambda: True)

    triton.runtime.driver.set_active(Driver())
    facts = dict(get_device_properties=Properties(), get_device_capability=(9, 0), current_device=0, is_available=True, device_count=1,
                 is_bf16_supported=True, get_compute_capability=90)
    for name, value in facts.items():
        setattr(torch.cuda, name, lambda *a, value=value, **k: value)
        setattr(interface.CudaInterface, name, staticmethod(lambda *a, value=value, **k: value))
    torch.cuda.get_rng_state, torch.cuda.set_rng_state = lambda *a, **k: torch.zeros(16, dtype=torch.uint8), lambda *a, **k: None
    interface.CudaInterface.Worker.get_device_properties = staticmethod(lambda *a, **k: Properties())


def calls():
    """Matmuls, attention and all-reduces: ops that are called as they are."""
    import torch
    library = torch.library.Library("layer", "DEF")
    library.define("product(Tensor a, Tensor b, bool wide, bool turned) -> Tensor")
    library.define("grouped(Tensor a, Tensor b, Tensor ends, bool wide, bool turned) -> Tensor")
    library.define("grouped_weights(Tensor dy, Tensor a, Tensor ends) -> Tensor")
    library.define("all_reduce(Tensor x) -> Tensor")
    library.define("attention(Tensor q, Tensor k, Tensor v) -> (Tensor, Tensor)")
    library.define("attention_backward(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor y, Tensor lse) -> (Tensor, Tensor, Tensor)")
    ops = torch.ops.layer
    wide, narrow = torch.float32, torch.bfloat16

    def product(a, b, wide_result, turned):  # [m, k] x [k, n]; turned: [m, k] x [n, k]
        return a.new_empty((a.shape[0], b.shape[0] if turned else b.shape[1]), dtype=wide if wide_result else narrow)

    def grouped(a, b, ends, wide_result, turned):  # rows of a up to ends[e], after those of expert e - 1: times b[e]
        return a.new_empty((a.shape[0], b.shape[1] if turned else b.shape[2]), dtype=wide if wide_result else narrow)

    for name, function in {"product": product, "grouped": grouped,
                           "grouped_weights": lambda dy, a, ends: a.new_empty((ends.shape[0], dy.shape[1], a.shape[1])),
                           "all_reduce": torch.empty_like,
                           "attention": lambda q, k, v: (torch.empty_like(q), q.new_empty(q.shape[:2], dtype=wide)),
                           "attention_backward": lambda dy, q, k, v, y, lse: (torch.empty_like(q), torch.empty_like(k), torch.empty_like(v))}.items():
        torch.library.register_fake(f"layer::{name}", function, lib=library)

    class Product(torch.autograd.Function):
        """x w^T; the gradient of x in f32 where it is added to others, that of w in the type of w, as PyTorch keeps it."""
        @staticmethod
        def forward(context, x, w, wide_result, wide_gradient):
            context.save_for_backward(x, w)
            context.wide_gradient = wide_gradient
            return ops.product(x, w, wide_result, True)

        @staticmethod
        def backward(context, dy):
            x, w = context.saved_tensors
            dy = dy.to(narrow)
            return ops.product(dy, w, context.wide_gradient, False), ops.product(dy.t(), x, False, False), None, None

    class Grouped(torch.autograd.Function):
        """The matmul of each expert's rows, which are stored one after the other."""
        @staticmethod
        def forward(context, x, w, ends, wide_result, wide_gradient):
            context.save_for_backward(x, w, ends)
            context.wide_gradient = wide_gradient
            return ops.grouped(x, w, ends, wide_result, True)

        @staticmethod
        def backward(context, dy):
            x, w, ends = context.saved_tensors
            dy = dy.to(narrow)
            return ops.grouped(dy, w, ends, context.wide_gradient, False), ops.grouped_weights(dy, x, ends), None, None, None

    class AllReduce(torch.autograd.Function):
        """Sum over ranks after a row-parallel matmul: its gradient is on every rank."""
        @staticmethod
        def forward(context, x):
            return ops.all_reduce(x)

        @staticmethod
        def backward(context, dy):
            return dy

    class ToAll(torch.autograd.Function):
        """Identity before column-parallel matmuls: the input is on every rank, its gradient is summed."""
        @staticmethod
        def forward(context, x):
            return x.view_as(x)

        @staticmethod
        def backward(context, dy):
            return ops.all_reduce(dy)

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(context, q, k, v):
            y, lse = ops.attention(q, k, v)
            context.save_for_backward(q, k, v, y, lse)
            return y

        @staticmethod
        def backward(context, dy):
            return ops.attention_backward(dy.to(narrow), *context.saved_tensors)

    return library, Product.apply, Grouped.apply, AllReduce.apply, ToAll.apply, Attention.apply


def norm(x, w):
    import torch
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * w


def attention_part(ops, heads, tokens):
    """x + attention(norm(x)) with rotary positions; `of_heads`: the weights of norms of each head, as Qwen3 has them."""
    import torch
    _, product, _, all_reduce, to_all, attention = ops

    def turn(x, cosine, sine):
        x = x.view(tokens, -1, 2, 64).float()
        return (x * cosine + x.flip(2) * sine).to(torch.bfloat16)

    def part(x, w1, wq, wk, wv, wo, cosine, sine, *of_heads):
        # The gradients of the matmuls' operand are added on a rank before they are summed over ranks.
        n = to_all(norm(x, w1)).to(torch.bfloat16)
        q, k, v = (product(n, w, bool(of_heads) and w is not wv, True) for w in (wq, wk, wv))
        q, k = (part.view(tokens, -1, 128) for part in (q, k))
        if of_heads:
            q, k = (norm(part, w).to(torch.bfloat16) for part, w in zip((q, k), of_heads))
        q, k = turn(q, cosine, sine).view(tokens, heads, 128), turn(k, cosine, sine).view(tokens, 1, 128)
        a = attention(q, k, v.view(tokens, 1, 128)).reshape(tokens, heads * 128)
        return x + all_reduce(product(a, wo, True, False))

    return part


def attention_shapes(width, heads, tokens):
    import torch
    f32, bf16 = torch.float32, torch.bfloat16
    return ([((tokens, width), f32), ((width,), f32), ((heads * 128, width), bf16), ((128, width), bf16), ((128, width), bf16),
             ((width, heads * 128), bf16)], [((tokens, 1, 2, 64), f32), ((tokens, 1, 2, 64), f32)])


def llama(ops, norms, width, inner, heads, tokens=4096):
    """(the layer, its arguments' shapes and types, the first of which is the residual, and which are constants); `norms`: of each head, as
    Qwen3 has them."""
    import torch
    _, product, _, all_reduce, to_all, _ = ops
    f32, bf16 = torch.float32, torch.bfloat16
    attend = attention_part(ops, heads, tokens)

    def layer(x, w1, wq, wk, wv, wo, w2, wg, wu, wd, cosine, sine, *of_heads):
        h = attend(x, w1, wq, wk, wv, wo, cosine, sine, *of_heads)
        n = to_all(norm(h, w2)).to(bf16)
        gate, up = product(n, wg, False, True), product(n, wu, False, True)
        act = torch.nn.functional.silu(gate.float()).to(bf16) * up
        return h + all_reduce(product(act, wd, True, False))

    first, positions = attention_shapes(width, heads, tokens)
    shapes = first + [((width,), f32), ((inner, width), bf16), ((inner, width), bf16), ((width, inner), bf16)] + positions
    return layer, shapes + ([((128,), f32)] * 2 if norms else []), (10, 11)


def mixtral(ops, width=4096, inner=1792, heads=4, experts=8, chosen=2, tokens=4096):
    """Experts as in Hugging Face's grouped matmuls: choices sorted by expert, a matmul for each expert's rows, weights on the way back
    to the order of tokens, and the sum over a token's choices."""
    import torch
    _, _, grouped, all_reduce, to_all, _ = ops
    f32, bf16 = torch.float32, torch.bfloat16
    attend = attention_part(ops, heads, tokens)

    def layer(x, w1, wq, wk, wv, wo, w2, wr, wg, wu, wd, cosine, sine):
        h = attend(x, w1, wq, wk, wv, wo, cosine, sine)
        n = norm(h, w2)
        weights, ids = torch.softmax(n @ wr.t(), -1).topk(chosen, -1)
        weights = to_all(weights / weights.sum(-1, keepdim=True))
        order = ids.flatten().argsort()
        ends = ids.flatten().float().histc(experts, 0, experts - 1).cumsum(0).int()
        rows = to_all(n).to(bf16)[order // chosen]
        gate, up = grouped(rows, wg, ends, False, True), grouped(rows, wu, ends, False, True)
        act = torch.nn.functional.silu(gate.float()).to(bf16) * up
        y = grouped(act, wd, ends, True, False) * weights.flatten()[order].unsqueeze(-1)
        return h + all_reduce(y[order.argsort()].view(tokens, chosen, width).sum(1))

    first, positions = attention_shapes(width, heads, tokens)
    return layer, first + [((width,), f32), ((experts, width), f32), ((experts, inner, width), bf16), ((experts, inner, width), bf16),
                           ((experts, width, inner), bf16)] + positions, (11, 12)


def gpt2(ops, tokens=8192, width=768, heads=12):
    import torch
    _, product, _, _, _, attention = ops
    f32, bf16 = torch.float32, torch.bfloat16
    functional = torch.nn.functional

    def layer(x, w1, b1, wqkv, bqkv, wo, bo, w2, b2, wi, bi, wd, bd):
        n = functional.layer_norm(x, (width,), w1, b1, EPSILON).to(bf16)
        q, k, v = ((product(n, wqkv, True, True) + bqkv).to(bf16).view(tokens, 3, heads, 64).unbind(1))
        a = attention(q.contiguous(), k.contiguous(), v.contiguous()).reshape(tokens, width)
        h = x + (product(a, wo, True, False) + bo)
        n = functional.layer_norm(h, (width,), w2, b2, EPSILON).to(bf16)
        act = functional.gelu(product(n, wi, True, True) + bi, approximate="tanh").to(bf16)
        return h + (product(act, wd, True, False) + bd)

    square, row = (width, width), (width,)
    return layer, [((tokens, width), f32), (row, f32), (row, f32), ((3 * width, width), bf16), ((3 * width,), f32), (square, bf16), (row, f32),
                   (row, f32), (row, f32), ((4 * width, width), bf16), ((4 * width,), f32), ((width, 4 * width), bf16), (row, f32)], ()


def count(layer, shapes, constants):
    """[(kernels, bytes)] forward and backward."""
    import torch
    import torch._inductor as inductor
    from functorch.compile import aot_function, min_cut_rematerialization_partition
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp
    from torch._inductor.debug import DebugContext
    from torch._inductor.fx_passes import fuse_attention, misc_patterns, pad_mm
    from torch._inductor.fx_passes.joint_graph import joint_graph_passes
    from torch._inductor.fx_passes.post_grad import post_grad_passes
    from torch._inductor.graph import GraphLowering
    from torch._inductor.scheduler import FusedSchedulerNode, SchedulerNode
    from torch._inductor.virtualized import V
    from torch._subclasses.fake_tensor import FakeTensorMode
    counted = []
    # Patterns of attention and of matmuls, which are calls here, would be traced on a GPU.
    fuse_attention._sfdp_init = pad_mm._pad_mm_init = misc_patterns._misc_patterns_init = lambda *a, **k: None

    def compiler(module, inputs):
        # Gradients are taken of tensors of a processor, since the engine asks for streams of a GPU; code is made for those of a GPU.
        fake = inputs[0].fake_mode
        moved = copy.deepcopy(module)
        for node in moved.graph.nodes:
            if "device" in node.kwargs:
                node.kwargs = dict(node.kwargs, device=torch.device("cuda", 0))
        with fake:
            inputs = [torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device="cuda") for one in inputs]
        FakeTensorProp(moved, mode=fake).propagate_dont_convert_inputs(*inputs)
        with V.set_fake_mode(fake):
            post_grad_passes(moved, is_inference=False)
            graph = GraphLowering(moved, example_inputs=inputs)
            with DebugContext(), V.set_graph_handler(graph):
                graph.run(*inputs)
                graph._update_scheduler()
                nodes = [node for node in graph.scheduler.nodes if isinstance(node, (FusedSchedulerNode, SchedulerNode))]
                counted.append((len(nodes), sum(node.get_read_write_buffers_sizes() for node in nodes)))
        return module

    def partition(module, inputs, **options):
        joint_graph_passes(module)
        return min_cut_rematerialization_partition(module, inputs, **options)

    with FakeTensorMode():
        arguments = [torch.empty(shape, dtype=dtype, requires_grad=place not in constants)
                     for place, (shape, dtype) in enumerate(shapes)]
        compiled = aot_function(layer, fw_compiler=compiler, bw_compiler=compiler, partition_fn=partition,
                                decompositions=inductor.decomposition.select_decomp_table())
        result = compiled(*arguments)
        result.backward(torch.empty_like(result))
    return counted


def table(build):
    pretend_a_gpu()
    ops = calls()
    specification = importlib.util.spec_from_file_location("kernel_traffic", HERE / "kernel-traffic.py")
    ours = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(ours)
    cases = {"LLaMA-3-8B": llama(ops, False, 4096, 1792, 4), "Qwen3-8B": llama(ops, True, 4096, 1536, 4), "Mixtral-8x7B": mixtral(ops), "GPT-2": gpt2(ops)}
    lines = ["| layer | | torch.compile's kernels | bytes moved | ours | bytes moved | ours / torch.compile |", "|---|---|---:|---:|---:|---:|---:|"]
    rows = {name: (model, layout) for name, model, layout in ours.CASES}
    for name, case in cases.items():
        mine = [None, None]
        if build:
            import tempfile
            with tempfile.TemporaryDirectory() as folder:
                mine = list(ours.layers(build / "bin/ppc-compile", *rows[name], folder))
        for direction, (kernels, moved), own in zip(("forward", "backward"), count(*case), mine):
            beside = f"{own[0]} | {own[1] / 1e6:,.1f} MB | {own[1] / moved:.2f}" if own else "| |"
            lines.append(f"| {name} | {direction} | {kernels} | {moved / 1e6:,.1f} MB | {beside} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=pathlib.Path, help="a Python environment, made if it is not there; without it this Python's torch")
    parser.add_argument("--build", type=pathlib.Path, help="the build folder: adds columns of our kernels")
    parser.add_argument("--check", type=pathlib.Path, help="fail unless this file holds the table")
    options = parser.parse_args()
    if options.environment:
        python = options.environment / "bin/python3"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", options.environment], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", TORCH, "numpy"], check=True)
        rest = [argument for name in ("build", "check") if getattr(options, name) for argument in (f"--{name}", getattr(options, name).resolve())]
        os.execv(python, [str(part) for part in (python, __file__, *rest)])
    text = table(options.build)
    print(text, end="")
    if options.check and text not in options.check.read_text():
        sys.exit(f"error: {options.check} holds another table")


if __name__ == "__main__":
    main()
