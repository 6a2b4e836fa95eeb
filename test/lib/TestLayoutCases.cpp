// Models by layouts: each case is imported, partitioned, proved, executed in random orders, and compared with the same
// model on one rank, on the interpreter in f64. One process takes many cases, so that tens of thousands take about an
// hour.
#include "CaseLayout.h"
#include "MutantJudge.h"
#include "RoutineNumbers.h"
#include "StepResults.h"
#include "TestPasses.h"
#include "TimedExecutor.h"
#include "mlir/Parser/Parser.h"
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
  std::string module; ///< text of a model in MLIR, instead of a config
  HuggingFaceOptions shape;
  std::string precision = "f32";
  CaseLayout layout;
};

/// Reads {"name":, "config": {}, "seq_len":, "global_batch":, "precision":, "overlap":, "layout": {"dp": ..., "rotate":
/// true}}, or {"name":, "module": "text", "layout": {}}.
std::optional<LayoutCase> readCase(StringRef line) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject(), *layout = object ? object->getObject("layout") : nullptr;
  if (!layout || (!object->getObject("config") && !object->getString("module")))
    return std::nullopt;
  LayoutCase result;
  result.name = object->getString("name").value_or("").str();
  result.module = object->getString("module").value_or("").str();
  if (object->get("config"))
    result.config = llvm::formatv("{0}", *object->get("config")).str();
  result.shape.sequenceLength = object->getInteger("seq_len").value_or(8);
  result.shape.globalBatch = object->getInteger("global_batch").value_or(1);
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
    return "Import, partition, prove and execute each case of a list, and compare its numbers with those of one rank";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<PpcDialect, func::FuncDialect>(); }

  Option<std::string> list{*this, "list", llvm::cl::desc("file with a case in each line, as JSON")};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("seed of values and orders"), llvm::cl::init(1)};
  Option<unsigned> interleavings{*this, "interleavings", llvm::cl::desc("orders to try, besides that of issue"),
                                 llvm::cl::init(2)};

  Option<int64_t> mutants{*this, "mutants",
                          llvm::cl::desc("random mutations that change numbers to make in each program"),
                          llvm::cl::init(0)};

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
      llvm::outs() << one->name << ": " << (outcome.empty() ? "equal" + ofMutants : outcome) << "\n";
      llvm::outs().flush();
    }
  }

private:
  /// "" and the model of a case, or "refused: ...", or "failed: ...".
  std::string read(const LayoutCase &one, OwningOpRef<ModuleOp> &result) {
    if (!one.module.empty()) {
      std::string first;
      ScopedDiagnosticHandler collect(&getContext(), [&](Diagnostic &diagnostic) {
        first = first.empty() ? diagnostic.str() : first;
        return success();
      });
      result = parseSourceString<ModuleOp>(one.module, &getContext());
      return result ? "" : "failed: parse: " + oneLine(first);
    }
    llvm::Expected<ModelConfig> config = parseModelConfig("config", one.config);
    if (!config)
      return "refused: " + oneLine(llvm::toString(config.takeError()));
    llvm::Expected<OwningOpRef<ModuleOp>> model = buildModel(*config, one.shape, getContext());
    if (!model)
      return "refused: " + oneLine(llvm::toString(model.takeError()));
    result = std::move(*model);
    return "";
  }

  /// "" where the layout computes what one rank does and that is proved, "refused: ...", "failed: ..." or "differs:
  /// ...".
  std::string judge(const LayoutCase &one) {
    OwningOpRef<ModuleOp> model;
    if (std::string problem = read(one, model); !problem.empty())
      return problem;
    if (std::string error = runPasses(*model, [&](OpPassManager &pm) { buildImportPhase(pm, one.precision); });
        !error.empty())
      return "failed: import: " + oneLine(error);
    StepResults found, expected;
    std::string unproved, alsoUnproved;
    int64_t microBatches = 1, same = 1;
    if (std::string problem = compute(*model, one, /*everyOrder=*/true, found, unproved, microBatches);
        !problem.empty())
      return problem;
    LayoutCase single;
    single.layout.plan.microBatch = one.module.empty() ? one.layout.plan.microBatch : samples(*model) / microBatches;
    if (std::string problem = compute(*model, single, /*everyOrder=*/false, expected, alsoUnproved, same);
        !problem.empty())
      return "failed: one rank: " + problem;
    if (!alsoUnproved.empty())
      return "failed: one rank: " + alsoUnproved;
    std::string problem = difference(found, expected);
    if (!unproved.empty())
      return problem.empty() ? "failed: its numbers are right, but it is " + unproved : problem + ", and " + unproved;
    return problem;
  }

  /// The samples of a step: dimension 0 of an input.
  static int64_t samples(ModuleOp model) {
    for (auto function : model.getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments())
        if (function.getArgAttr(argument.getArgNumber(), attr::input))
          return tensorType(argument).getDimSize(0);
    return 1;
  }

  /// Runs the case under its layout. `unproved` is the proof's objection.
  std::string compute(ModuleOp model, const LayoutCase &one, bool everyOrder, StepResults &results,
                      std::string &unproved, int64_t &microBatches) {
    OwningOpRef<ModuleOp> module = model.clone(), logical;
    TrainOptions train;
    train.epsilon = 1e-5; // a bias of keys has no gradient without rotary positions: rounding alone would move it
    if (std::string problem = partition(*module, one.layout, train, logical, &unproved); !problem.empty())
      return problem;
    microBatches = (*module)->getAttrOfType<PlanAttr>(attr::plan).getMicroBatches();
    if (std::string error = computeStep(*logical, *module, seed, results); !error.empty())
      return oneLine(error);
    if (everyOrder && mutants && unproved.empty())
      if (std::string problem = mutate(*logical, *module); !problem.empty())
        return problem;
    return everyOrder ? inRandomOrders(*module) : "";
  }

  /// Returns "" or a mutation that the proof does not detect; `ofMutants` counts those that it does.
  std::string mutate(ModuleOp logical, ModuleOp module) {
    MutantJudge judge(logical, module);
    if (std::string problem = judge.prepare(seed); !problem.empty())
      return "failed: " + oneLine(problem);
    judge.judge(mutants, seed, "", /*list=*/false);
    ofMutants = llvm::formatv(", {0} of {1} mutations noticed", judge.noticed + judge.brokenNoticed,
                              judge.changed + judge.broken)
                    .str();
    return judge.misses.empty() ? "" : "failed: missed " + oneLine(judge.misses.front());
  }

  /// Returns "" or the error in one of the orders that streams, tokens and messages allow.
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

  std::string ofMutants; ///< counts of the last case
};

} // namespace

void ppc::test::registerTestLayoutCases() { PassRegistration<TestLayoutCasesPass>(); }
