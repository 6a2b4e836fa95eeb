// Passes that decide where values lie.
#ifndef PPC_TRANSFORMS_MEMORY_PASSES_TD
#define PPC_TRANSFORMS_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def BindBuffersPass : Pass<"ppc-bind-buffers", "mlir::ModuleOp"> {
  let summary = "Turn the functions of a stage, which only call compiled functions, into calls on buffers";
  let description = [{
    A function with `ppcrt.routine` that holds nothing but calls gets buffers for arguments: first those of its arguments, then
    one for each result without `ppc.destination`. A result of a call lies in the operand that the body says with
    `ppc.destination`, or in the buffer in which it is returned as soon as nothing needs what was there, or in a new one; the
    body takes the latter two as further operands, in the order of its results (`ppc-pass-destinations`). Where an operand that is to
    be overwritten is still needed, it is copied. Time grows with the number of operands.

    Functions that hold anything else are left as they are. Requires: `ppc-outline-layers`. Guarantees: only
    `ppcrt.call` and allocations in the functions that were bound; bodies are as they were.
  }];
  let dependentDialects = ["memref::MemRefDialect", "ppcrt::PpcRtDialect"];
}

def PassDestinationsPass : Pass<"ppc-pass-destinations", "mlir::ModuleOp"> {
  let summary = "Give each function result the argument in which it is to be written";
  let description = [{
    A result whose `ppc.destination` names an argument is written there; for
    every other result an argument of its type is appended, in the order of the results. Calls pass what their result is
    returned in, or a fresh tensor. Arguments that are no destination become read-only for bufferization
    (`bufferization.writable = false`), except gradients that an update reduces between ranks: their buffer is free to be
    overwritten after its last use.

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
