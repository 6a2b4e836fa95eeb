// No op of the dialect is silent: each answers every interface with a method or with a reason. Looks at the ops of a
// module that shows every op once.
#include "IsolatedOp.h"
#include "RandomOperands.h"
#include "TestPasses.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

// A derivative for one operand at least, or a reason.
static LogicalResult checkGradient(DifferentiableOpInterface op) {
  if (!op.noGradientReason().empty())
    return success();
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    IsolatedOp alone(op);
    Operation *terminator = alone.function.getBody().front().getTerminator();
    OpBuilder builder(terminator);
    SmallVector<Value> gradients(op->getNumResults()); // results beyond the first may have no derivative
    gradients[0] = alone.op->getResult(0);
    FailureOr<Value> gradient = cast<DifferentiableOpInterface>(alone.op).buildGradient(builder, i, gradients);
    if (succeeded(gradient) && *gradient)
      return success();
  }
  return op->emitError("has neither a gradient nor a reason for having none");
}

// A value, or a reason.
static LogicalResult checkReference(ReferenceOpInterface op) {
  if (!op.noReferenceReason().empty())
    return success();
  Random random(1);
  SmallVector<ReferenceTensor> results;
  if (succeeded(op.evaluate(randomOperands(op, random), {}, results)) && results.size() == op->getNumResults())
    return success();
  return op->emitError("has neither reference semantics nor a reason for having none");
}

static LogicalResult checkOp(Operation *op) {
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  auto gradient = dyn_cast<DifferentiableOpInterface>(op);
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!rule || !gradient || !reference || !isa<CostOpInterface>(op))
    return op->emitError("does not implement all of sharding rule, cost, gradient and reference");
  ShardingRule answer = rule.getShardingRule();
  if (!answer.isNone() && answer.operands.size() != op->getNumOperands())
    return op->emitError("has neither a sharding rule nor a reason for having none");
  return failure(failed(checkGradient(gradient)) || failed(checkReference(reference)));
}

namespace {
struct TestSilentOpsPass : PassWrapper<TestSilentOpsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestSilentOpsPass)

  StringRef getArgument() const final { return "test-ppc-silent-ops"; }
  StringRef getDescription() const final {
    return "Fail for ops of the dialect that are missing here or answer nothing";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<PpcDialect, func::FuncDialect>(); }

  void runOnOperation() override {
    if (failed(verifySizes(getOperation())))
      return signalPassFailure();
    llvm::StringSet<> seen;
    getOperation().walk([&](Operation *op) {
      if (!isa<PpcDialect>(op->getDialect()))
        return;
      seen.insert(op->getName().getStringRef());
      if (failed(checkOp(op)))
        signalPassFailure();
    });
    for (RegisteredOperationName name : getContext().getRegisteredOperations()) {
      if (name.getDialectNamespace() != PpcDialect::getDialectNamespace() || seen.contains(name.getStringRef()))
        continue;
      getOperation().emitError() << "no " << name.getStringRef()
                                 << " in this module, which shows every op of the dialect";
      signalPassFailure();
    }
    llvm::outs() << seen.size() << " ops speak\n";
  }
};
} // namespace

void test::registerTestSilentOps() { PassRegistration<TestSilentOpsPass>(); }
