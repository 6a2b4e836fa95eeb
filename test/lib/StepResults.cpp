// One step of a program on the interpreter, put together.
#include "StepResults.h"
#include "RankExecutor.h"
#include "mlir/IR/Diagnostics.h"
#include "ppc/Equivalence/EquivalenceChecker.h"
#include "ppc/Interpreter/ShardedTensors.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

std::string mlir::ppc::test::oneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

static std::string placeOf(Diagnostic &diagnostic) {
  auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
  return place ? (Twine(place.getLine()) + ":" + Twine(place.getColumn()) + ": ").str() : "";
}

std::string mlir::ppc::test::runPasses(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
  std::string first;
  ScopedDiagnosticHandler collect(module.getContext(), [&](Diagnostic &diagnostic) {
    if (first.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      first = placeOf(diagnostic) + diagnostic.str();
    return success();
  });
  PassManager pm(module.getContext());
  build(pm);
  bool ok = succeeded(pm.run(module));
  return ok ? "" : first.empty() ? "failed without a word" : first;
}

std::string mlir::ppc::test::proveEquivalence(ModuleOp logical, ModuleOp module) {
  std::string first;
  ScopedDiagnosticHandler collect(module.getContext(), [&](Diagnostic &diagnostic) {
    if (first.empty())
      first = diagnostic.str();
    return success();
  });
  return succeeded(checkEquivalence(logical, module)) ? "" : "not proved: " + first;
}

static std::string assemble(ModuleOp module, RankExecutor &executor, StepResults &results) {
  ppcrt::ProgramOp program = ppcrt::findProgram(module);
  GridAttr grid = program.getDeviceGrid();
  std::vector<std::vector<RankTensors>> outputs = executor.outputs();
  std::string first;
  ScopedDiagnosticHandler collect(module.getContext(), [&](Diagnostic &diagnostic) {
    first = diagnostic.str();
    return success();
  });
  for (auto [device, tensors] : llvm::zip_equal(program.getDevices(), outputs))
    for (auto [buffer, ranks] :
         llvm::zip_equal(llvm::to_vector(device.getBody().front().getOps<ppcrt::BufferOp>()), tensors)) {
      if (ranks.empty() || buffer.getRole() == ppcrt::BufferRole::Gradient) // gradient sums are not results
        continue;
      RankedTensorType type = buffer.getLogicalType();
      ShardingAttr sharding = buffer.getShardingAttr();
      if (!sharding)
        sharding = ShardingAttr::replicated(module.getContext(), type.getRank());
      AssembleOptions options;
      options.tolerance = 1e-6;
      FailureOr<ReferenceTensor> whole =
          assembleTensor(ranks, type.getShape(), sharding, grid, [&] { return module.emitError(); }, options);
      if (failed(whole))
        return "differs: " + buffer.describe() + ": " + first;
      results[buffer.describe()] = std::move(*whole);
    }
  return "";
}

std::string mlir::ppc::test::difference(const StepResults &found, const StepResults &expected) {
  for (auto &[name, tensor] : expected) {
    auto other = found.find(name);
    if (other == found.end())
      return "differs: no rank has " + name;
    if (!sameNumbers(tensor.data, other->second.data, 1e-6, 1e-3))
      return "differs: " + name;
  }
  return "";
}

std::string mlir::ppc::test::computeStep(ModuleOp module, const NamedTensors &values, StepResults &results) {
  RankExecutor executor(module);
  if (std::string error = executor.run(values); !error.empty())
    return "failed: " + error;
  return assemble(module, executor, results);
}

std::string mlir::ppc::test::computeStep(ModuleOp logical, ModuleOp module, uint64_t seed, StepResults &results) {
  Random random(seed);
  return computeStep(module, randomValues(*logical.getOps<func::FuncOp>().begin(), random), results);
}
