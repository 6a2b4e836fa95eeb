// The question "how much work is this op?"
#ifndef PPC_INTERFACES_COSTOPINTERFACE_TD
#define PPC_INTERFACES_COSTOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mlir::ppc";
  let description = [{
    States an op's arithmetic and memory traffic from its own types, as if it ran alone: floating-point operations (a
    multiply-add is two), bytes read and written, and the engine that limits it. For `ppc.matmul "mk,nk->mn"` in f32:
    `{2 m n k, 4 (m k + n k), 4 m n, matrix}`. What fusion saves is not its business.
  }];
  let methods = [
    InterfaceMethod<"The work of this op.", "::mlir::ppc::OpCost", "getCost">
  ];
}

#endif // PPC_INTERFACES_COSTOPINTERFACE_TD
