// Runs a program in many random orders and reports an order that goes wrong.
#include "RandomOperands.h"
#include "StepValues.h"
#include "TestPasses.h"
#include "TimedExecutor.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

struct TestTimedExecutionPass : PassWrapper<TestTimedExecutionPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestTimedExecutionPass)
  TestTimedExecutionPass() = default;
  TestTimedExecutionPass(const TestTimedExecutionPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-timed-execution"; }
  StringRef getDescription() const final {
    return "Execute the program on numbers in random orders that its streams and tokens allow; show as errors hangs, "
           "overlaps, and outputs that depend on the order";
  }

  Option<unsigned> interleavings{*this, "interleavings", llvm::cl::desc("orders to try"), llvm::cl::init(100)};
  Option<uint64_t> seed{*this, "seed", llvm::cl::desc("seed of values and orders"), llvm::cl::init(1)};

  void runOnOperation() override {
    if (failed(verifySizes(getOperation())))
      return signalPassFailure();
    ppcrt::ProgramOp program = ppcrt::findProgram(getOperation());
    if (!program)
      return;
    WalkResult inputs = program.walk([](ppcrt::BufferOp buffer) -> WalkResult {
      return buffer.getRole() == ppcrt::BufferRole::Input && !buffer.getTensorType().getRank()
                 ? buffer.emitError("is an input without samples")
                 : WalkResult::advance();
    });
    if (inputs.wasInterrupted())
      return signalPassFailure();
    Random random(seed);
    NamedTensors values = randomValues(program, random);
    for (Arithmetic arithmetic : {Arithmetic::Exact, Arithmetic::Rounded})
      for (bool isEvaluation : {false, true}) {
        if (isEvaluation &&
            llvm::any_of(program.getDevices(), [](ppcrt::DeviceOp device) { return !device.getEvaluate(); }))
          continue;
        RoutineNumbers numbers(program.getGrid(), program.getDeviceGrid(), arithmetic);
        TimedExecutor executor(getOperation(), values, numbers, isEvaluation);
        if (!run(program, executor))
          return signalPassFailure();
      }
    program.emitRemark() << int64_t(interleavings) << " orders agree (seed " << int64_t(seed) << ")";
  }

private:
  /// False, with an error, when the program does not run or gives other numbers than in the first order.
  bool run(ppcrt::ProgramOp program, TimedExecutor &executor) {
    std::vector<double> expected;
    for (unsigned number = 0; number < interleavings; ++number) {
      TimedOutcome outcome = executor.run(seed, number);
      if (outcome.kind != TimedOutcome::Ended) {
        static const StringRef names[] = {"", "hang", "overlap", "cannot run"};
        InFlightDiagnostic error = emitError(outcome.at ? outcome.at->getLoc() : program.getLoc())
                                   << names[outcome.kind] << " in order " << number << ": " << outcome.text;
        if (outcome.other)
          error.attachNote(outcome.other->getLoc()) << "the other";
        return false;
      }
      std::vector<double> found = executor.outputs();
      if (number == 0)
        expected = found;
      if (!sameNumbers(found, expected, 1e-9, 1e-3)) {
        program.emitError() << "gives other numbers in order " << number << " than in the first, or some that are NaN";
        return false;
      }
    }
    return true;
  }
};

} // namespace

void ppc::test::registerTestTimedExecution() { PassRegistration<TestTimedExecutionPass>(); }
