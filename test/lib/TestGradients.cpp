// Every gradient against finite differences in f64, and what it reads against what it says it keeps.
#include "IsolatedOp.h"
#include "RandomOperands.h"
#include "TestPasses.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Interpreter/Interpreter.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

// The op with the gradients of its results as further arguments, and the gradient of one operand as the only result.
struct GradientFunction : IsolatedOp {
  using IsolatedOp::IsolatedOp;
  Value gradient; ///< null when the operand has none
  SmallVector<unsigned> readsOperands, readsResults;

  LogicalResult build(unsigned operand, ArrayRef<bool> receives);

private:
  LogicalResult checkReads(unsigned operand);
};

} // namespace

LogicalResult GradientFunction::build(unsigned operand, ArrayRef<bool> receives) {
  auto gradientOf = cast<DifferentiableOpInterface>(op);
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Value> resultGradients;
  for (auto [result, wanted] : llvm::zip_equal(op->getResults(), receives)) {
    Value argument = function.getBody().addArgument(result.getType(), op->getLoc());
    resultGradients.push_back(wanted ? argument : Value());
  }
  OpBuilder builder(terminator);
  FailureOr<Value> built = gradientOf.buildGradient(builder, operand, resultGradients);
  if (failed(built))
    return failure();
  if (!(gradient = *built))
    return success();
  if (gradient.getType() != op->getOperand(operand).getType())
    return op->emitError() << "gradient of operand " << operand << " is " << gradient.getType() << ", expected "
                           << op->getOperand(operand).getType();
  terminator->setOperands(gradient);
  function.setType(builder.getFunctionType(function.getBody().getArgumentTypes(), gradient.getType()));
  if (failed(verify(*module)))
    return failure();
  return checkReads(operand);
}

// The built ops read what `keptForGradient` names, all of it and nothing else.
LogicalResult GradientFunction::checkReads(unsigned operand) {
  llvm::SmallDenseSet<Value> reads;
  for (Operation &other : function.getBody().front())
    if (&other != op)
      for (Value value : other.getOperands())
        reads.insert(value);
  SmallVector<Value> kept = cast<DifferentiableOpInterface>(op).keptForGradient(operand);
  auto check = [&](Value value, StringRef kind, unsigned number, SmallVector<unsigned> &list) -> LogicalResult {
    bool isKept = llvm::is_contained(kept, value);
    if (isKept)
      list.push_back(number);
    if (isKept == reads.contains(value))
      return success();
    return op->emitError() << "gradient of operand " << operand << (isKept ? " does not read " : " reads ") << kind
                           << " " << number
                           << (isKept ? ", which it says it keeps" : ", which it does not say it keeps");
  };
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    if (failed(check(value, "operand", i, readsOperands)))
      return failure();
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    if (value != gradient && failed(check(value, "result", i, readsResults)))
      return failure();
  return success();
}

// sum over results of <gradient, f(operands)>
static FailureOr<double> loss(Operation *op, ArrayRef<ReferenceTensor> operands, ArrayRef<ReferenceTensor> gradients) {
  SmallVector<ReferenceTensor> results;
  if (failed(cast<ReferenceOpInterface>(op).evaluate(operands, {}, results)))
    return failure();
  double sum = 0;
  for (auto [result, gradient] : llvm::zip_equal(results, gradients))
    for (auto [y, dy] : llvm::zip_equal(result.data, gradient.data))
      sum += y * dy;
  return sum;
}

// Central differences of fourth order: (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12h.
static FailureOr<ReferenceTensor> finiteDifferences(Operation *op, unsigned operand,
                                                    SmallVector<ReferenceTensor> operands,
                                                    ArrayRef<ReferenceTensor> gradients) {
  constexpr double h = 1e-3;
  ReferenceTensor differences(operands[operand].shape);
  for (int64_t i = 0; i < differences.size(); ++i) {
    double x = operands[operand].data[i];
    for (auto [offset, weight] : {std::pair(1, 8.0), {-1, -8.0}, {2, -1.0}, {-2, 1.0}}) {
      operands[operand].data[i] = x + offset * h;
      FailureOr<double> value = loss(op, operands, gradients);
      if (failed(value))
        return failure();
      differences.data[i] += weight * *value / (12 * h);
    }
    operands[operand].data[i] = x;
  }
  return differences;
}

static LogicalResult checkOperand(Operation *op, unsigned operand, int64_t seed) {
  // An unused result receives no gradient.
  auto receives = llvm::map_to_vector(op->getResults(), [](Value result) { return !result.use_empty(); });
  if (!llvm::is_contained(receives, true))
    return op->emitRemark("no gradient: its results are unused"), success();
  GradientFunction function(op);
  if (failed(function.build(operand, receives)))
    return failure();
  if (!function.gradient)
    return op->emitRemark() << "operand " << operand << " has no gradient", success();

  Random random(seed);
  SmallVector<ReferenceTensor> operands = randomOperands(op, random), gradients;
  for (auto [result, wanted] : llvm::zip_equal(op->getResults(), receives))
    gradients.push_back(wanted ? randomTensor(result.getType(), random) : ReferenceTensor::zeros(result.getType()));
  FailureOr<ReferenceTensor> expected = finiteDifferences(op, operand, operands, gradients);
  SmallVector<ReferenceTensor> arguments = operands;
  llvm::append_range(arguments, gradients);
  FailureOr<RankValues> computed = interpret(function.function, arguments);
  if (failed(expected) || failed(computed))
    return failure();

  double largest = 0;
  for (double value : expected->data)
    largest = std::max(largest, std::abs(value));
  for (auto [i, want, got] : llvm::enumerate(expected->data, computed->front().data))
    if (!(std::abs(want - got) <= 1e-6 * largest))
      return op->emitError() << "gradient of operand " << operand << " is " << got << " at element " << i
                             << ", finite differences give " << want << " (seed " << seed << ")";
  InFlightDiagnostic remark = op->emitRemark() << "gradient of operand " << operand << " agrees";
  if (!function.readsOperands.empty())
    remark << ", reads operands [" << ArrayRef<unsigned>(function.readsOperands) << "]";
  if (!function.readsResults.empty())
    remark << ", reads results [" << ArrayRef<unsigned>(function.readsResults) << "]";
  return success();
}

namespace {
struct TestGradientsPass : PassWrapper<TestGradientsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestGradientsPass)
  TestGradientsPass() = default;
  TestGradientsPass(const TestGradientsPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-gradients"; }
  StringRef getDescription() const final { return "Compare gradients with finite differences"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<func::FuncDialect>(); }

  void runOnOperation() override {
    if (failed(verifySizes(getOperation(), int64_t(1) << 12)))
      return signalPassFailure();
    getOperation().walk([&](DifferentiableOpInterface op) {
      if (!op.noGradientReason().empty()) {
        op.emitRemark() << "no gradient: " << op.noGradientReason();
        return;
      }
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        if (failed(checkOperand(op, i, seed)))
          return signalPassFailure();
    });
  }

  Option<int64_t> seed{*this, "seed", llvm::cl::desc("Seed of the random operands"), llvm::cl::init(1)};
};
} // namespace

void test::registerTestGradients() { PassRegistration<TestGradientsPass>(); }
