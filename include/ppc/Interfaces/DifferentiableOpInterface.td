// The question "what is the derivative of this op, and what must be saved for it?"
#ifndef PPC_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
#define PPC_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::ppc";
  let description = [{
    Reverse-mode derivative, one operand at a time, so that gradients of activations and of weights can be scheduled
    apart. Gradients of several operands that come from one op (attention) are built identically for each and merged by
    CSE. For `y = a * b`, the gradient of operand 0 given dy is `dy * b`, and `b` must be kept.
  }];
  let methods = [
    InterfaceMethod<[{
      Why the op has no derivative; "" when it has one.
    }], "::llvm::StringRef", "noGradientReason", (ins), "", [{ return ""; }]>,
    InterfaceMethod<[{
      Builds the gradient of operand `operand` from the gradients of the results, one value per result, null where a
      result receives none (at least one is not null). Returns a null value when the operand has no gradient (indices);
      fails when the op has none (`noGradientReason`). The gradient has the operand's type.
    }], "::mlir::FailureOr<::mlir::Value>", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "unsigned":$operand, "::llvm::ArrayRef<::mlir::Value>":$resultGradients),
      "", [{ return ::mlir::failure(); }]>,
    InterfaceMethod<[{
      The operands and results of this op whose values the gradient of `operand` reads: what must be kept, or
      recomputed, between forward and backward.
    }], "::llvm::SmallVector<::mlir::Value>", "keptForGradient", (ins "unsigned":$operand), "", [{ return {}; }]>
  ];
}

#endif // PPC_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
