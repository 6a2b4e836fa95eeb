"""Our kernels of the operations that the others' kernels do, at the same sizes."""
import re
import subprocess

FREQUENCIES = ", ".join(f"{10000.0 ** (-i / 64):.6e}" for i in range(64))
ROUNDED = "attributes {test.rounding = 2.0e-02}"


def tensor(*sizes):
    return "tensor<" + "x".join(map(str, sizes)) + ">"


def functions():
    """Operation -> a function that runs it; few rows, whose kernels equal those of many."""
    x, many, w = tensor(8, 4096, "bf16"), tensor(64, 4096, "bf16"), tensor(4096, "bf16")
    q, k = tensor(1, 8, 32, 128, "bf16"), tensor(1, 8, 8, 128, "bf16")
    s, l, n, ids = tensor(8, 14336, "bf16"), tensor(8, 32000, "bf16"), tensor(8, "bf16"), tensor(8, "i32")
    p, one = tensor(64, 4096, "f32"), tensor("f32")
    yield "RMS norm", f"(%x: {x}, %w: {w}) -> {x}", f"""
  %0 = ppc.rms_norm %x, %w epsilon 1.0e-05 : {x}, {w}
  return %0 : {x}"""
    yield "RMS norm, backward", f"(%x: {many}, %w: {w}, %dy: {many}) -> ({many}, {w})", f"""
  %0 = ppc.rms_norm_input_gradient %x, %w, %dy epsilon 1.0e-05 : {many}, {w}
  %1 = ppc.rms_norm_weight_gradient %x, %dy epsilon 1.0e-05 : {many} to {w}
  return %0, %1 : {many}, {w}"""
    yield "layer norm", f"(%x: {x}, %w: {w}, %b: {w}) -> {x}", f"""
  %0 = ppc.layer_norm %x, %w, %b epsilon 1.0e-05 : {x}, {w}
  return %0 : {x}"""
    yield "layer norm, backward", f"(%x: {many}, %w: {w}, %dy: {many}) -> ({many}, {w}, {w})", f"""
  %0 = ppc.layer_norm_input_gradient %x, %w, %dy epsilon 1.0e-05 : {many}, {w}
  %1 = ppc.layer_norm_weight_gradient %x, %dy epsilon 1.0e-05 : {many} to {w}
  %2 = ppc.reduce <sum> %dy dims [0] : {many} to {w}
  return %0, %1, %2 : {many}, {w}, {w}"""
    yield "rotary embedding", f"(%q: {q}, %k: {k}) -> ({q}, {k})", f"""
  %0 = ppc.rotary %q frequencies [{FREQUENCIES}] : {q}
  %1 = ppc.rotary %k frequencies [{FREQUENCIES}] : {k}
  return %0, %1 : {q}, {k}"""
    for name, gate, back in (("SwiGLU", "silu", ""), ("GeGLU", "gelu", " tanh")):
        yield name, f"(%g: {s}, %u: {s}) -> {s}", f"""
  %0 = ppc.{gate} %g{back} : {s}
  %1 = ppc.mul %0, %u : {s}
  return %1 : {s}"""
        yield name + ", backward", f"(%g: {s}, %u: {s}, %dy: {s}) -> ({s}, {s})", f"""
  %0 = ppc.{gate} %g{back} : {s}
  %1 = ppc.mul %dy, %0 : {s}
  %2 = ppc.mul %dy, %u : {s}
  %3 = ppc.{gate}_backward %g, %2{back} : {s}
  return %3, %1 : {s}, {s}"""
    yield "gradient of the loss", f"(%x: {l}, %ids: {ids} {{test.below = 32000 : i64}}, %lse: {n}, %d: {n}) -> {l}", f"""
  %0 = ppc.cross_entropy_backward %x, %ids, %lse, %d : ({l}, {ids}, {n}, {n}) -> {l}
  return %0 : {l}"""
    yield "AdamW", f"""(%p: {p}, %g: {p}, %m: {p}, %v: {p} {{test.range = array<f64: 0.0, 1.0>}},
    %lr: {one} {{test.value = 0.01 : f64}}, %step: {one} {{test.value = 3.0 : f64}}, %scale: {one} {{test.range = array<f64: 0.1, 1.0>}})
    -> ({p} {{ppc.destination = 0 : i64}}, {p} {{ppc.destination = 2 : i64}}, {p} {{ppc.destination = 3 : i64}})""", f"""
  %0, %1, %2 = ppc.adamw %p, %g, %m, %v, %lr, %step, %scale {{beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, weight_decay = 0.1}} : {p}, {one}
  return %0, %1, %2 : {p}, {p}, {p}"""
    for operation, width in (("attention", 128), ("attention, heads of 64", 64)):
        aq, ak, al = tensor(1, 256, 1, 2, width, "bf16"), tensor(1, 256, 1, width, "bf16"), tensor(1, 256, 1, 2, "f32")
        how = f"scale {width ** -0.5:.6e} causal"
        yield operation, f"(%q: {aq}, %k: {ak}, %v: {ak}) -> ({aq}, {al})", f"""
  %0, %1 = ppc.attention %q, %k, %v {how} : {aq}, {ak}, {ak} -> {aq}, {al}
  return %0, %1 : {aq}, {al}"""
        yield operation + ", backward", f"(%q: {aq}, %k: {ak}, %v: {ak}, %d: {aq}) -> ({aq}, {ak}, {ak})", f"""
  %o, %l = ppc.attention %q, %k, %v {how} : {aq}, {ak}, {ak} -> {aq}, {al}
  %0, %1, %2 = ppc.attention_backward %q, %k, %v, %o, %l, %d {how} : {aq}, {ak}, {ak}, {aq}, {al}
  return %0, %1, %2 : {aq}, {ak}, {ak}"""


def kernels(tools, folder, chip):
    """(operation, file of machine code) of each operation. Executed on the stand-in on the way, against the interpreter."""
    for operation, signature, body in functions():
        name = re.sub(r"\W+", "_", operation)
        source, ptx, code = (folder / f"own-{name}.{kind}" for kind in ("mlir", "ptx", "cubin"))
        source.write_text(f"func.func @{name}{signature} {ROUNDED} {{{body}\n}}\n")
        said = subprocess.run([tools / "ppc-opt", source, f"--ppc-test-kernel-numerics=chip={chip} ptx={ptx}", "-o", "/dev/null"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        if "agrees" not in said:
            raise SystemExit(f"error: {operation}: {said}")
        subprocess.run(["ptxas", "-arch", chip, ptx, "-o", code], check=True)
        yield operation, code
