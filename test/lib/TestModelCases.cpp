// Modules written by hand, by layouts: each is imported, partitioned, proved and executed for a step on the interpreter
// in f64, and its results are printed for a test that knows the right ones (test/Models).
#include "CaseLayout.h"
#include "StepResults.h"
#include "TestPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Phases/Phases.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace json = llvm::json;

namespace {

struct TestModelCasesPass : PassWrapper<TestModelCasesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestModelCasesPass)
  TestModelCasesPass() = default;
  TestModelCasesPass(const TestModelCasesPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-model-cases"; }
  StringRef getDescription() const final {
    return "Import, partition, prove and execute each module of a list under its layouts, and print the results of "
           "each";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<PpcDialect, func::FuncDialect>(); }

  Option<std::string> list{
      *this, "list",
      llvm::cl::desc("file with a case in each line: {\"module\": TEXT, \"values\": {\"parameter w\": [...], \"input "
                     "ids\": [...], \"scalar step\": [1], ...}, \"layouts\": [{\"dp\": 2, ...}, ...]}")};

  void runOnOperation() override {
    auto lines = llvm::MemoryBuffer::getFile(list);
    if (!lines) {
      getOperation().emitError() << "cannot read " << list.getValue();
      return signalPassFailure();
    }
    SmallVector<StringRef> cases;
    (*lines)->getBuffer().split(cases, '\n', -1, /*KeepEmpty=*/false);
    for (auto [number, line] : llvm::enumerate(cases)) {
      llvm::Expected<json::Value> one = json::parse(line);
      const json::Object *object = one ? one->getAsObject() : nullptr;
      if (!object || !object->getString("module") || !object->getObject("values") || !object->getArray("layouts")) {
        getOperation().emitError() << "no case: line " << number + 1;
        llvm::consumeError(one.takeError());
        return signalPassFailure();
      }
      run(number, *object);
    }
  }

private:
  /// Prints a line for each layout: {"case": NUMBER, "layout": NUMBER, "outcome": "computed", "results": {"loss":
  /// ...}}.
  void run(size_t number, const json::Object &one) {
    std::string error;
    OwningOpRef<ModuleOp> model = parse(*one.getString("module"), error);
    if (error.empty())
      error = runPasses(*model, [&](OpPassManager &pm) { buildImportPhase(pm, "f32"); });
    for (auto [place, layout] : llvm::enumerate(*one.getArray("layouts"))) {
      json::Object results;
      std::string outcome = error.empty() ? compute(*model, one, *layout.getAsObject(), results) : "refused: " + error;
      llvm::outs() << json::Value(json::Object{{"case", int64_t(number)},
                                               {"layout", int64_t(place)},
                                               {"outcome", outcome.empty() ? "computed" : outcome},
                                               {"results", std::move(results)}})
                   << "\n";
      llvm::outs().flush();
    }
  }

  OwningOpRef<ModuleOp> parse(StringRef text, std::string &error) {
    ScopedDiagnosticHandler collect(&getContext(), [&](Diagnostic &diagnostic) {
      if (error.empty())
        error = "not read: " + diagnostic.str();
      return success();
    });
    return parseSourceString<ModuleOp>(text, &getContext(), "model.mlir");
  }

  /// "" or what became of it.
  std::string compute(ModuleOp model, const json::Object &one, const json::Object &layout, json::Object &results) {
    OwningOpRef<ModuleOp> module = model.clone(), logical;
    TrainOptions train;
    train.epsilon = one.getNumber("epsilon").value_or(1e-8);
    train.maxNorm = one.getNumber("max_norm").value_or(1);
    if (std::string problem = partition(*module, readLayout(layout), train, logical); !problem.empty())
      return problem;
    NamedTensors values;
    if (std::string problem = readValues(*logical, *one.getObject("values"), values); !problem.empty())
      return problem;
    StepResults computed;
    if (std::string problem = computeStep(*module, values, computed); !problem.empty())
      return oneLine(problem);
    for (auto &[name, tensor] : computed) {
      json::Array numbers;
      for (double number : tensor.data)
        numbers.push_back(std::isfinite(number) ? json::Value(number) : json::Value(nullptr));
      results[name] = std::move(numbers);
    }
    return "";
  }

  /// Values of the inputs of the step. The states of the optimizer are zero unless they are given.
  std::string readValues(ModuleOp logical, const json::Object &given, NamedTensors &values) {
    Random random(1);
    values = randomValues(*logical.getOps<func::FuncOp>().begin(), random);
    for (auto &[name, tensor] : values) {
      const json::Array *numbers = given.getArray(name);
      if (!numbers && StringRef(name).contains(" of "))
        llvm::fill(tensor.data, 0.0);
      else if (!numbers || numbers->size() != tensor.data.size())
        return "failed: the case has no value of " + name;
      for (auto [i, number] : llvm::enumerate(numbers ? *numbers : json::Array()))
        tensor.data[i] = number.getAsNumber().value_or(0);
    }
    return "";
  }
};

} // namespace

void ppc::test::registerTestModelCases() { PassRegistration<TestModelCasesPass>(); }
