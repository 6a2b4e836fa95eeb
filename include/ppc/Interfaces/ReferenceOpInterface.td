// The question "what does this op compute?", answered on numbers.
#ifndef PPC_INTERFACES_REFERENCEOPINTERFACE_TD
#define PPC_INTERFACES_REFERENCEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let cppNamespace = "::mlir::ppc";
  let description = [{
    The executable meaning of an op: straightforward loops over f64 values, whatever the element type (integers are
    exact in f64 up to 2^53). Sharding rules, gradients, partitioned programs and generated code are all tested against
    it. Collectives are evaluated by the interpreter, which sees every rank.
  }];
  let methods = [
    InterfaceMethod<[{
      Why the op cannot be evaluated alone; "" when it can.
    }], "::llvm::StringRef", "noReferenceReason", (ins), "", [{ return ""; }]>,
    InterfaceMethod<[{
      Appends one tensor per result. `context` gives the coordinates of this rank on the mesh. Fails, with an error on
      the op, when a value makes no sense (an index out of range).
    }], "::mlir::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::mlir::ppc::ReferenceTensor>":$operands,
           "const ::mlir::ppc::ReferenceContext &":$context,
           "::llvm::SmallVectorImpl<::mlir::ppc::ReferenceTensor> &":$results),
      "", [{ return ::mlir::failure(); }]>
  ];
}

#endif // PPC_INTERFACES_REFERENCEOPINTERFACE_TD
