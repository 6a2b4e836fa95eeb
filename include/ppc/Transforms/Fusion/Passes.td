// Passes that decide what is computed together.
#ifndef PPC_TRANSFORMS_FUSION_PASSES_TD
#define PPC_TRANSFORMS_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseAccumulationPass : Pass<"ppc-fuse-accumulation", "mlir::ModuleOp"> {
  let summary = "Let a matrix product add into the buffer that its sum updates";
  let description = [{
    `add(acc, gemm)`, whose value is to lie where `acc` lies, becomes a gemm that accumulates into `acc`: no buffer for
    the product, no pass over it. The sum is the same up to its order of additions.

    Requires: `ppc-pass-destinations`, `ppc-to-ppc-rt`. Runs before `ppc-to-linalg`.
  }];
  let dependentDialects = ["ppcrt::PpcRtDialect"];
}

def FuseRoundingPass : Pass<"ppc-fuse-rounding", "mlir::ModuleOp"> {
  let summary = "Let a matrix product of bf16 write bf16 where its f32 result is only rounded";
  let description = [{
    `convert(gemm)` from f32 to bf16, where nothing else uses the product, becomes a gemm with a bf16 destination: the sum is
    in f32 all the same, and rounded as it is stored.

    Requires: `ppc-to-ppc-rt`. Runs before `ppc-to-linalg`.
  }];
  let dependentDialects = ["ppcrt::PpcRtDialect", "tensor::TensorDialect"];
}

def FuseElementwisePass : Pass<"ppc-fuse-elementwise", "mlir::ModuleOp"> {
  let summary = "Merge elementwise loops with the loops that use their values";
  let description = [{
    Upstream's elementwise fusion of `linalg.generic` on tensors: a producer without reduction whose only user is the
    consumer disappears into it, and constants that fill a whole tensor become scalars. Afterwards dead ops are gone.
  }];
  let dependentDialects = ["linalg::LinalgDialect", "affine::AffineDialect", "tensor::TensorDialect"];
}

#endif // PPC_TRANSFORMS_FUSION_PASSES_TD
