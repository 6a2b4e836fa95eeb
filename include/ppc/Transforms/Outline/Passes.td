// Passes that outline repeated code into functions.
#ifndef PPC_TRANSFORMS_OUTLINE_PASSES_TD
#define PPC_TRANSFORMS_OUTLINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineLayersPass : Pass<"ppc-outline-layers", "mlir::ModuleOp"> {
  let summary = "Move each layer's ops into a private function, so that equal layers become equal functions";
  let description = [{
    In each function with `ppcrt.routine`, runs of ops of one `ppc.layer`, or of none, are moved into a private
    function. Before and after the micro-batches (prepare, update, evaluate) each op on tensors of rank above 0 is moved
    separately, and a sum of many scalars becomes sums of sixteen. Ops are first ordered by layer (ascending, or
    descending as in a backward pass) when their operands allow it, else the given order stays. Constants are copied to
    where they are used. Only calls are left.

    Requires: functions of one block. Guarantees: outlined functions carry no `ppc.layer`, `ppc.part` or other
    discardable attribute, so that `duplicate-function-elimination` keeps one of each kind and compile time does not
    grow with depth.

    A result that updates an argument of the function in place (`ppc.destination`) through sums or an optimizer op keeps
    doing so through the outlined functions: their result names the argument with `ppc.destination`.
  }];
  let dependentDialects = ["func::FuncDialect"];
}

#endif // PPC_TRANSFORMS_OUTLINE_PASSES_TD
