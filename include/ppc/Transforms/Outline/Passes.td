// Passes that turn repeated code into functions.
#ifndef PPC_TRANSFORMS_OUTLINE_PASSES_TD
#define PPC_TRANSFORMS_OUTLINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineLayersPass : Pass<"ppc-outline-layers", "mlir::ModuleOp"> {
  let summary = "Move each layer's ops into a private function, so that equal layers become equal functions";
  let description = [{
    In each function with `ppcrt.routine`, runs of ops of one `ppc.layer`, or of none, become the body of a private function. Before and
    after the micro-batches (prepare, update, evaluate) each op on tensors of rank above 0 does, and a sum of many scalars becomes sums of
    sixteen. Ops are first ordered by layer (ascending, or descending as in a backward pass) when their operands allow it, else the
    given order stays. Constants are copied to where they are used. Nothing is left but calls.

    Requires: functions of one block. Guarantees: bodies carry no `ppc.layer`, `ppc.part` or other discardable
    attribute, so that `duplicate-function-elimination` keeps one of each kind and compile time does not grow with depth.

    A result that updates an argument of the function in place (`ppc.destination`) through sums or an optimizer op
    keeps doing so through the bodies: the body's result says which argument with `ppc.destination`.
  }];
  let dependentDialects = ["func::FuncDialect"];
}

#endif // PPC_TRANSFORMS_OUTLINE_PASSES_TD
