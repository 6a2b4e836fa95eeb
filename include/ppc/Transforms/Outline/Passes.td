// Passes that turn repeated code into functions.
#ifndef PPC_TRANSFORMS_OUTLINE_PASSES_TD
#define PPC_TRANSFORMS_OUTLINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineLayersPass : Pass<"ppc-outline-layers", "mlir::ModuleOp"> {
  let summary = "Move each layer's ops into a private function, so that equal layers become equal functions";
  let description = [{
    In each function with `ppc.action`, ops of one `ppc.layer` become the body of a private function; in an update, each
    op on tensors of rank above 0 that does not communicate does. Ops are first ordered by layer (ascending, or descending as in a
    backward pass) when their operands allow it, else the given order stays. Constants are copied to where they are used. Ops
    without a layer stay where they are.

    Requires: functions of one block. Guarantees: bodies carry no `ppc.layer`, `ppc.part` or other discardable
    attribute, so that `duplicate-function-elimination` keeps one of each kind and compile time does not grow with depth.

    A result that updates an argument of the function in place (equal `ppc.buffer`) through sums or an optimizer op
    keeps doing so through the bodies: the body's result says which argument with `ppc.destination`.
  }];
  let dependentDialects = ["func::FuncDialect"];
}

#endif // PPC_TRANSFORMS_OUTLINE_PASSES_TD
