// Models by layouts: each case is imported, cut, proved, executed in random orders, and compared with the same model on
// one rank, on the interpreter in f64. One process takes many, so that tens of thousands are a matter of an hour.
#include "CaseLayout.h"
#include "RoutineNumbers.h"
#include "StepResults.h"
#include "TestPasses.h"
#include "TimedExecutor.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Import/HuggingFace.h"
#include "ppc/Phases/Phases.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

/// A line of the list.
struct LayoutCase {
  std::string name, config;
  HuggingFaceOptions shape;
  std::string precision = "f32";
  CaseLayout layout;
};

/// Of {"name":, "config": {}, "seq_len":, "global_batch":, "precision":, "overlap":, "layout": {"dp": ..., "rotate":
/// true}}.
std::optional<LayoutCase> readCase(StringRef line) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject(), *layout = object ? object->getObject("layout") : nullptr;
  if (!layout || !object->getObject("config"))
    return std::nullopt;
  LayoutCase result;
  result.name = object->getString("name").value_or("").str();
  result.config = llvm::formatv("{0}", *object->get("config")).str();
  result.shape.sequenceLength = object->getInteger("seq_len").value_or(8);
  result.shape.globalBatch = object->getInteger("global_batch").value_or(1);
  result.shape.scoreBias = false;
  result.precision = object->getString("precision").value_or("f32").str();
  result.layout = readLayout(*layout);
  result.layout.overlap = object->getBoolean("overlap").value_or(false);
  return result;
}

struct TestLayoutCasesPass : PassWrapper<TestLayoutCasesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestLayoutCasesPass)
  TestLayoutCasesPass() = default;
  TestLayoutCasesPass(const TestLayoutCasesPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-layout-cases"; }
  StringRef getDescription() const final {
    return "Import, cut, prove and execute each case of a list, and compare its numbers with those of one rank";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<PpcDialect, func::FuncDialect>(); }

  Option<std::string> list{*this, "list", llvm::cl::desc("file with a case in each line, as JSON")};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("seed of values and orders"), llvm::cl::init(1)};
  Option<unsigned> interleavings{*this, "interleavings", llvm::cl::desc("orders to try, besides that of issue"),
                                 llvm::cl::init(2)};

  void runOnOperation() override {
    auto lines = llvm::MemoryBuffer::getFile(list);
    if (!lines) {
      getOperation().emitError() << "cannot read " << list.getValue();
      return signalPassFailure();
    }
    SmallVector<StringRef> cases;
    (*lines)->getBuffer().split(cases, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef line : cases) {
      std::optional<LayoutCase> one = readCase(line);
      if (!one) {
        getOperation().emitError() << "no case: " << line;
        return signalPassFailure();
      }
      std::string outcome = judge(*one);
      llvm::outs() << one->name << ": " << (outcome.empty() ? "equal" : outcome) << "\n";
      llvm::outs().flush();
    }
  }

private:
  /// "" where the layout computes what one rank does, "refused: ...", "failed: ..." or "differs: ...".
  std::string judge(const LayoutCase &one) {
    llvm::Expected<ModelConfig> config = parseModelConfig("config", one.config);
    if (!config)
      return "refused: " + oneLine(llvm::toString(config.takeError()));
    llvm::Expected<OwningOpRef<ModuleOp>> model = buildModel(*config, one.shape, getContext());
    if (!model)
      return "refused: " + oneLine(llvm::toString(model.takeError()));
    if (std::string error = runPasses(**model, [&](OpPassManager &pm) { buildImportPhase(pm, one.precision); });
        !error.empty())
      return "failed: import: " + oneLine(error);
    StepResults found, expected;
    if (std::string problem = compute(**model, one, /*everyOrder=*/true, found); !problem.empty())
      return problem;
    LayoutCase single;
    single.layout.plan.microBatch = one.layout.plan.microBatch;
    if (std::string problem = compute(**model, single, /*everyOrder=*/false, expected); !problem.empty())
      return "failed: one rank: " + problem;
    return difference(found, expected);
  }

  /// Of the case its layout alone.
  std::string compute(ModuleOp model, const LayoutCase &one, bool everyOrder, StepResults &results) {
    OwningOpRef<ModuleOp> module = model.clone(), logical;
    TrainOptions train;
    train.epsilon = 1e-5; // a bias of keys has no gradient without rotary positions: rounding alone would move it
    if (std::string problem = partition(*module, one.layout, train, logical); !problem.empty())
      return problem;
    if (std::string error = computeStep(*logical, *module, seed, results); !error.empty())
      return oneLine(error);
    return everyOrder ? inRandomOrders(*module) : "";
  }

  /// "" or what goes wrong in one of the orders that streams, tokens and messages allow.
  std::string inRandomOrders(ModuleOp module) {
    ppcrt::ProgramOp program = ppcrt::findProgram(module);
    Random random(seed);
    NamedTensors values = randomValues(program, random);
    RoutineNumbers numbers(program.getGrid(), program.getDeviceGrid(), Arithmetic::Exact);
    TimedExecutor executor(module, values, numbers, /*isEvaluation=*/false);
    std::vector<double> expected;
    for (unsigned number = 0; number <= interleavings; ++number) {
      TimedOutcome outcome = executor.run(seed, number);
      if (outcome.kind != TimedOutcome::Ended)
        return oneLine("failed: order " + std::to_string(number) + ": " + outcome.text);
      std::vector<double> found = executor.outputs();
      if (number == 0)
        expected = found;
      else if (!sameNumbers(found, expected, 1e-9, 1e-3))
        return "differs: order " + std::to_string(number) + " gives other numbers than the order of issue";
    }
    return "";
  }
};

} // namespace

void ppc::test::registerTestLayoutCases() { PassRegistration<TestLayoutCasesPass>(); }
