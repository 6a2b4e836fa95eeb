// Passes that choose the element types of a model's computation.
#ifndef PPC_TRANSFORMS_PRECISION_PASSES_TD
#define PPC_TRANSFORMS_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerPrecisionPass : Pass<"ppc-lower-precision", "mlir::ModuleOp"> {
  let summary = "let the matmuls of an f32 model read bf16";
  let description = [{
    Casts (`ppc.convert`) the operands of matmuls and attention of an f32 model to bf16: activations, and parameters,
    which stay f32 themselves. Matmuls sum in f32 and return f32; attention keeps its scores and sums in f32 and returns
    bf16. Ops between matmuls whose results only matmuls read (`silu`, `gelu`, `mul`, `rotary`, changes of shape) run on
    bf16 values, so that their saved activations are half as large. All else stays f32: the residual stream, norms,
    softmax, losses, the choice of experts and its matmuls.

    Every value that may be partial over the ranks of a group is therefore f32: sums between ranks are formed before
    they are rounded, once.

    Requires: a logical model before `ppc-build-backward`; values that are not f32 stay as they are.
    Guarantees: parameters, inputs and results have the types they had; `ppc.precision` on the module names the precision.

    Example (test/Transforms/Precision/lower-precision.mlir): `%y = ppc.matmul %x, %w` becomes a matmul of `ppc.convert
    %x` and `ppc.convert %w` with an f32 result.
  }];
  let options = [Option<"precision", "precision", "std::string", "\"bf16\"", "bf16, or f32: leave everything as it is">];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

#endif // PPC_TRANSFORMS_PRECISION_PASSES_TD
