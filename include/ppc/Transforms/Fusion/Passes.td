// Passes that fuse ops into kernels.
#ifndef PPC_TRANSFORMS_FUSION_PASSES_TD
#define PPC_TRANSFORMS_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseAccumulationPass : Pass<"ppc-fuse-accumulation", "mlir::ModuleOp"> {
  let summary = "Let a matmul accumulate into the buffer that its sum updates";
  let description = [{
    `add(acc, gemm)`, whose result is stored in the buffer of `acc`, becomes a gemm that accumulates into `acc`: without
    a buffer for the matmul, and without a pass over it. The sum is the same up to its order of additions.

    Requires: `ppc-pass-destinations`, `ppc-to-ppc-rt`. Runs before `ppc-to-linalg`.
  }];
  let dependentDialects = ["ppcrt::PpcRtDialect"];
}

def FuseRoundingPass : Pass<"ppc-fuse-rounding", "mlir::ModuleOp"> {
  let summary = "Let a bf16 matmul write bf16 if its f32 result is only rounded";
  let description = [{
    `convert(gemm)` from f32 to bf16, if it is the only use of the matmul, becomes a gemm with a bf16 destination: the
    sum is still in f32, and rounded as it is stored.

    Requires: `ppc-to-ppc-rt`. Runs before `ppc-to-linalg`.
  }];
  let dependentDialects = ["ppcrt::PpcRtDialect", "tensor::TensorDialect"];
}

def FuseEpiloguesPass : Pass<"ppc-fuse-epilogues", "mlir::ModuleOp"> {
  let summary = "Fuse ops on the sums of matmuls into their epilogues if that moves fewer bytes";
  let description = [{
    Elementwise ops after a matmul become its epilogue (`ppcrt.epilogue_gemm`): a bias of its columns, the sum with a
    matrix of its shape, rounding to bf16, `gelu` by its tanh approximation with its operand as a second result if that
    is saved, the gradient of `gelu`. A split of its columns becomes a matmul for each part, which is written where it
    is used. The cost of each prefix of such a chain is estimated in bytes, a launch counted as 1 MiB, and the cheapest
    is taken: the bytes that the epilogue and the remaining kernels read and write; the kernels between the matmul and
    the next one count as one. A bias of a result in bf16 is rounded to bf16, since libraries require that type, and
    gelu is applied to the sum before it is rounded.

    Requires: `ppc-fuse-rounding`. Runs before `ppc-to-linalg`.
  }];
  let options = [Option<"explain", "explain", "bool", /*default=*/"false",
                        "Remark at each matmul the bytes its epilogue saves, or why it has none">];
  let dependentDialects = ["ppcrt::PpcRtDialect", "tensor::TensorDialect"];
}

def RoundTokensPass : Pass<"ppc-round-tokens", "mlir::ModuleOp"> {
  let summary = "Round tokens before they go to the slots of their experts";
  let description = [{
    `convert(dispatch(x))` from f32 to bf16, without weights and if it is the only use of the slots, becomes
    `dispatch(convert(x))`: a slot holds one token or zeros, so that the numbers are the same, and slots in f32, of
    which there are more than tokens, are never in memory. If each token has the slot of its own number, and no other op
    rounds the tokens, the rounding stays after the dispatch: it becomes part of the loops that write the slots, which
    read the unrounded tokens.

    Runs before `ppc-to-linalg`.
  }];
}

def ForwardDestinationsPass : Pass<"ppc-forward-destinations", "mlir::ModuleOp"> {
  let summary = "Compute values directly in the buffers that store them";
  let description = [{
    A buffer that is copied to an argument at its end, in any shape, becomes that argument where nothing else uses it: what bufferization
    leaves where results are kept in another shape than they are computed in, or begin as zeros.

    Requires: buffers of static shapes. Runs before `ppc-forward-fills`.
  }];
  let dependentDialects = ["memref::MemRefDialect"];
}

def FuseElementwisePass : Pass<"ppc-fuse-elementwise", "mlir::ModuleOp"> {
  let summary = "Fuse elementwise loops with the loops that use their values";
  let description = [{
    Upstream's elementwise fusion of `linalg.generic` on tensors: a producer without reduction whose only user is the
    consumer disappears into it, and constants that fill a whole tensor become scalars. Afterwards dead ops are gone.
  }];
  let dependentDialects = ["linalg::LinalgDialect", "affine::AffineDialect", "tensor::TensorDialect"];
}

def ForwardFillsPass : Pass<"ppc-forward-fills", "mlir::ModuleOp"> {
  let summary = "Fill buffers instead of copying constant ones";
  let description = [{
    Sums that begin with the same zeros copy them from one buffer after bufferization. A copy of a buffer that holds one
    number everywhere becomes a fill, which waits for nothing and moves to where the buffer is used first, so that it can
    go into a row region; fills that nobody reads go. Other copies become loops.

    Requires: buffers of static shapes. Runs before `ppc-split-sums`.
  }];
  let dependentDialects = ["linalg::LinalgDialect"];
}

def CopyPartsPass : Pass<"ppc-copy-parts", "mlir::ModuleOp"> {
  let summary = "Copy parts of a buffer into it instead of adding them to zeros";
  let description = [{
    `ppc.concat` adds each part at its offset to zeros, because a loop on tensors that writes a part does not define the
    rest. On buffers, if adjacent parts of each row fill all of it, they are copied into views of it, and the zeros are
    removed. A sum with zero is the number itself, except for the sign of -0. Gradients of attention that are only used
    as parts are written into these views directly.

    Requires: `ppc-forward-fills`. Runs before `ppc-fuse-rows`.
  }];
  let dependentDialects = ["linalg::LinalgDialect", "memref::MemRefDialect"];
}

def SplitSumsPass : Pass<"ppc-split-sums", "mlir::ModuleOp"> {
  let summary = "Sum columns and whole tensors in two steps";
  let description = [{
    A sum over rows, as of the gradient of a bias or of a norm's weight, becomes sums over up to 256 equal chunks of at
    least 8 rows, which have a buffer of their own, and a sum of these. The former can be part of a row region; the
    latter begins with what the result is added to where it is added to something. A sum over a whole
    tensor, as of squares for the norm of gradients, becomes sums of up to 1,024 equal rows of at least 256 elements and
    their sum. The order of additions is another, and fixed. What has no such divisor stays.

    Requires: buffers of static shapes. Runs before `ppc-fuse-rows`.
  }];
  let dependentDialects = ["arith::ArithDialect", "linalg::LinalgDialect", "memref::MemRefDialect"];
}

def FuseRowsPass : Pass<"ppc-fuse-rows", "mlir::ModuleOp"> {
  let summary = "Fuse loops that share rows into one kernel if that moves the fewest bytes";
  let description = [{
    Structured ops on buffers between matmuls, attention, communication and calls are grouped into row regions (see
    RowRegion.h), such that the fewest bytes are moved to and from memory; a launch counts as 1 MiB. Runs of up to 12
    ops are solved exactly. Ops of a group may write disjoint parts of the same buffer. A group becomes an
    `scf.execute_region` that is not inlined, in which buffers without uses outside are allocated: a target that makes a
    kernel of it keeps them in registers. Its ops, unchanged, define the computation.

    Requires: `ppc-forward-fills`. Runs before `ppc-assign-offsets`.
  }];
  let options = [Option<"explain", "explain", "bool", /*default=*/"false",
                        "Remark the cost of each run, and at the first op of each group its saving and why the preceding group is not fused with it">];
  let dependentDialects = ["arith::ArithDialect", "linalg::LinalgDialect", "memref::MemRefDialect", "scf::SCFDialect"];
}

#endif // PPC_TRANSFORMS_FUSION_PASSES_TD
