// Passes that assign buffers and offsets to values.
#ifndef PPC_TRANSFORMS_MEMORY_PASSES_TD
#define PPC_TRANSFORMS_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def BindBuffersPass : Pass<"ppc-bind-buffers", "mlir::ModuleOp"> {
  let summary = "Turn the functions of a stage, which only call compiled functions, into calls on buffers";
  let description = [{
    A function with `ppcrt.routine` that contains only calls gets buffers for arguments: first those of its arguments,
    then one for each result without `ppc.destination`. A result of a call is stored in the operand that the callee
    names with `ppc.destination`, or in the buffer in which it is returned as soon as its old contents are dead, or in a
    new one; the callee takes the latter two as further operands, in the order of its results (`ppc-pass-destinations`).
    If an operand is still needed when it would be overwritten, it is copied. Time grows with the number of operands.

    Functions that contain anything else are left as they are. Requires: `ppc-outline-layers`. Guarantees: only
    `ppcrt.call` and allocations in the functions that were bound; callees are unchanged.
  }];
  let dependentDialects = ["memref::MemRefDialect", "ppcrt::PpcRtDialect"];
}

def PassDestinationsPass : Pass<"ppc-pass-destinations", "mlir::ModuleOp"> {
  let summary = "Give each function result the argument that it is written to";
  let description = [{
    A result whose `ppc.destination` names an argument is written there; for every other result an argument of its type
    is appended, in the order of the results. Calls pass the tensor in which their result is returned, or a fresh one.
    Arguments that are not destinations become read-only for bufferization (`bufferization.writable = false`), except
    gradients that an update reduces between ranks: their buffer may be overwritten after its last use.

    Requires: functions of one block, every callee private. Guarantees: after one-shot bufferization with function
    boundaries each result is one of the arguments, so that `drop-equivalent-buffer-results` removes all results.
  }];
  let dependentDialects = ["bufferization::BufferizationDialect", "tensor::TensorDialect"];
}

def OrderConstantsPass : Pass<"ppc-order-constants", "mlir::ModuleOp"> {
  let summary = "Name constants and order them in memory as code reads them";
  let description = [{
    Private `memref.global constant`s are named `constant_0`, `constant_1`, ... and put at the start of the module, in the order of the first
    `memref.get_global` of each; one that nothing reads is dropped. One-shot bufferization goes through functions that do not call each
    other in no fixed order, and numbers constants as it finds them.

    Requires: constants are read by `memref.get_global` only. Guarantees: the same code gives the same names in every run.
  }];
}

def AssignOffsetsPass : Pass<"ppc-assign-offsets", "mlir::ModuleOp"> {
  let summary = "Replace every allocation by an offset in one scratch buffer per function";
  let description = [{
    Live ranges of the allocations of a function are laid out best fit, largest first, at 64-byte aligned offsets; a callee's
    scratch lives during its call. Functions with
    `ppcrt.routine` get a last argument `memref<NxI8>`; others only when they need one.

    Requires: bufferized functions of one block that return nothing but arguments of entries; allocations of static shape, outside of regions; no
    recursion. Guarantees: no allocation is left; no two buffers that live at the same time overlap (checked again by an
    independent comparison of all pairs).
  }];
  let dependentDialects = ["memref::MemRefDialect", "arith::ArithDialect"];
}

#endif // PPC_TRANSFORMS_MEMORY_PASSES_TD
