// Conversions between dialects.
#ifndef PPC_CONVERSION_PASSES_TD
#define PPC_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PpcToLinalgPass : Pass<"ppc-to-linalg", "mlir::ModuleOp"> {
  let summary = "Lower every op that is a loop nest to linalg.generic on tensors";
  let description = [{
    Elementwise ops, reductions, normalisations, softmax, embeddings, rotary embedding, the parts of the loss, the
    optimizer and the masks of uneven blocks become loop nests; collectives that the runtime does not support directly
    (blocks along an inner dimension, padding, `log_sum_exp`) become a supported one and rearranging loops. The index of
    a block comes from `ppcrt.coordinate`.

    Matmuls and the remaining collectives are left to `ppc-to-ppc-rt`.
  }];
  let dependentDialects = ["arith::ArithDialect", "linalg::LinalgDialect", "math::MathDialect", "ppcrt::PpcRtDialect",
                           "scf::SCFDialect", "tensor::TensorDialect"];
}

def PpcToPpcRtPass : Pass<"ppc-to-ppc-rt", "mlir::ModuleOp"> {
  let summary = "Lower matmuls and communication to calls of the runtime";
  let description = [{
    `ppc.matmul` becomes one `ppcrt.gemm`: its indices are split into batches, free and summed dimensions; neighbours
    that are contiguous in every tensor merge; the largest group of each kind is m, n or k, the others are loops.
    Transposes cost nothing: they are strides. Attention and its gradients become one call each. Collectives whose
    blocks are a leading dimension become the runtime's; their groups of ranks become `ppcrt.group`s of the module.

    Other ops stay for `ppc-to-linalg`, whose output this pass takes as well: the two run in turn.
  }];
  let dependentDialects = ["ppcrt::PpcRtDialect", "tensor::TensorDialect", "linalg::LinalgDialect"];
}

def LinalgToSCFPass : Pass<"convert-linalg-to-scf", "mlir::ModuleOp"> {
  let summary = "Lower structured ops on buffers to loops that LLVM vectorises";
  let description = [{
    Parallel loops come first and sums live in registers (loop-carried) where the innermost data is summed over; where it is not,
    the summed loop goes outside and the innermost loop runs along memory. Copies become one loop over their elements. How many sums LLVM keeps
    of a vectorised loop is said (`llvm.loop_annotation`), so that it does not depend on where buffers lie.

    Requires: static shapes, buffers only. `exp`, `log` and the like are replaced by polynomials in f32 (relative error
    below 1e-6), which LLVM can vectorise; f64 keeps the calls.
  }];
  let dependentDialects = ["arith::ArithDialect", "LLVM::LLVMDialect", "memref::MemRefDialect", "scf::SCFDialect", "vector::VectorDialect"];
}

def RotateProductsPass : Pass<"ppc-rotate-products", "mlir::ModuleOp"> {
  let summary = "Expand ring matmuls into the steps of a ring exchange";
  let description = [{
    A matmul of a `rotated` gather becomes one matmul per rank of the ring: each uses the block that the rank holds,
    which is sent to the next rank meanwhile (`ppcrt.permute`). If the blocks are columns, each gives a block of the
    result, and the blocks are put in order after the last step; if the blocks are summed over, each uses its block of
    the other operand, and accumulates into the result: no other partial result is stored. No rank ever holds more than
    two blocks of the parameter.
  }];
  let dependentDialects = ["arith::ArithDialect", "bufferization::BufferizationDialect", "linalg::LinalgDialect", "tensor::TensorDialect", "ppcrt::PpcRtDialect"];
}

def PpcRtToLLVMPass : Pass<"ppc-rt-to-llvm", "mlir::ModuleOp"> {
  let summary = "Turn bufferized host code into the LLVM dialect, runtime ops into calls";
  let description = [{
    Buffers become bare pointers. Each `ppcrt` op becomes one call of the C ABI; the descriptors of matmuls are
    constants of the module. Every function gets a first argument, the rank that it runs as, which it forwards: code
    belongs to no rank. Each function with `ppcrt.routine` becomes an entry `void name(ppcrt_rank *rank, void
    **buffers)` that loads its buffers in the order of the other arguments; everything else is internal. A function that
    only makes calls (`ppcrt.call`) becomes a table of numbers, the callee and the offsets of its buffers per call,
    which one loop reads.

    Requires: no tensors, no structured ops, no allocations. Guarantees: LLVM dialect only.
  }];
  let dependentDialects = ["LLVM::LLVMDialect"];
}

#endif // PPC_CONVERSION_PASSES_TD
