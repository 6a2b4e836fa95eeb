// An op taken out of its program, alone in a function that takes its operands and returns its results.
#ifndef PPC_TEST_LIB_ISOLATEDOP_H
#define PPC_TEST_LIB_ISOLATEDOP_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::ppc::test {

struct IsolatedOp {
  /// A copy of `op` with other operand and result types (the same number).
  IsolatedOp(Operation *op, TypeRange operandTypes, TypeRange resultTypes);
  explicit IsolatedOp(Operation *op) : IsolatedOp(op, op->getOperandTypes(), op->getResultTypes()) {}

  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Operation *op;
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_ISOLATEDOP_H
