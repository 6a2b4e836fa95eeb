// Matmuls of any shape, as a two-operand einsum.
#ifndef PPC_IR_MATMUL_TD
#define PPC_IR_MATMUL_TD

include "dialects/ppc/IR/PpcDialect.td"

def Ppc_MatmulOp : Ppc_DifferentiableOp<"matmul"> {
  let summary = "matmul with any batches and transposes";
  let description = [{
    Matmul of two tensors in Einstein notation. Each index of `spec` is a loop (and, with the same name, a factor of the
    sharding rule): indices in both operands and the result are batches, indices of one operand and the result are its
    free dimensions, indices in both operands and not in the result are summed over, in f32 or wider.

    C1: `spec` reads `lhs,rhs->result` in lower-case letters, no index twice within one tensor. C2: each tensor has as
    many dimensions as indices.
    C3: an index has one size everywhere. C4: an index of the result is in an operand; an index of one operand only is
    in the result.
    C5: the operands have one element type; the result has it too, or f32 where the operands have 16 bits.

    Example, the query projection of grouped heads:
    `%q = ppc.matmul "bsh,kgdh->bskgd" %x, %w : (tensor<2x8x16xf32>, tensor<2x2x4x16xf32>) -> tensor<2x8x2x2x4xf32>`
  }];
  let arguments = (ins StrAttr:$spec, Ppc_FloatTensor:$lhs, Ppc_FloatTensor:$rhs);
  let results = (outs Ppc_FloatTensor:$result);
  let builders = [
    // Infers the result type; `spec` must fit the operands.
    OpBuilder<(ins "::llvm::StringRef":$spec, "::mlir::Value":$lhs, "::mlir::Value":$rhs)>,
    // Overload with another element type of the result.
    OpBuilder<(ins "::llvm::StringRef":$spec, "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Type":$element)>
  ];
  let assemblyFormat = "$spec $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Einsum indices of each tensor, one character per dimension.
    ::llvm::StringRef lhsLetters();
    ::llvm::StringRef rhsLetters();
    ::llvm::StringRef resultLetters();
  }];
}

#endif // PPC_IR_MATMUL_TD
