// Shows the cost of every op as a remark.
#include "TestPasses.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::ppc;

static StringRef nameOf(Engine engine) {
  switch (engine) {
  case Engine::None:
    return "none";
  case Engine::Matrix:
    return "matrix";
  case Engine::Vector:
    return "vector";
  case Engine::Network:
    return "network";
  }
  llvm_unreachable("an engine");
}

namespace {
struct TestCostPass : PassWrapper<TestCostPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestCostPass)

  StringRef getArgument() const final { return "test-ppc-cost"; }
  StringRef getDescription() const final { return "Show the cost of every op as a remark"; }

  void runOnOperation() override {
    getOperation().walk([](CostOpInterface op) {
      OpCost cost = op.getCost();
      op.emitRemark() << llvm::formatv("{0}: {1:f0} flops, {2} bytes read, {3} written", nameOf(cost.engine),
                                       cost.flops, cost.bytesRead, cost.bytesWritten)
                             .str();
    });
  }
};
} // namespace

void ppc::test::registerTestCost() { PassRegistration<TestCostPass>(); }
