// One run of the compiler: a model through all phases.
#ifndef PPC_TOOLS_COMPILE_COMPILATION_H
#define PPC_TOOLS_COMPILE_COMPILATION_H

#include "Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "ppc/Support/OutputFile.h"
#include "llvm/Support/JSON.h"
#include <functional>

namespace mlir::ppc {

/// Runs the phases in order. Every step reports its own errors, one line each, and returns false on failure.
class Compilation {
public:
  Compilation(MLIRContext &context, const CompileOptions &options) : context(context), options(options) {}

  /// Reads the model and makes the plan: searched, or as it is pinned. With `singleDevice`, the plan of one rank that
  /// takes the whole batch at once.
  bool load();
  bool makePlan();
  bool makeSingleDevicePlan();
  /// Runs the phases after planning up to the one that `last` shows.
  bool lowerTo(Emit last);
  /// Writes the object file; needs Emit::LLVM.
  bool writeObject(OutputFile &output);

  ModuleOp getModule() const { return *module; }
  const std::string &plan() const { return planYaml; }
  int64_t rankCount() const;

private:
  bool runPhase(StringRef name, function_ref<void(OpPassManager &)> build);
  bool setPlan(StringRef phase, function_ref<void(OpPassManager &)> build);
  bool checkDegrees(int64_t ranks);
  bool checkRanks(int64_t ranks);
  bool completePlan(int64_t ranks);
  /// The plan with the fastest step for so many ranks that the options leave; the plan that they say, for as many as
  /// it needs, which `ranks`, where it is not 0, must be.
  bool searchPlan(int64_t ranks);
  bool pinPlan(int64_t ranks);
  /// With a memory budget: how many bytes less each stage must keep per micro-batch from forward to backward than the
  /// plan says (empty: none), found by lowering copies of the planned module until the arenas fit. Reports when they
  /// cannot.
  bool fitMemory(SmallVector<int64_t> &bytesNotToKeep);
  /// Predicts what the plan with the values that fitMemory chose to compute again takes, records and notes it.
  bool priceChosen();
  /// Writes the plan as text, prediction included.
  void recordPlan();
  bool overlaps() const; // communication beside computation, as the plan of the module says
  /// Proves that the partitioned module computes what `logical` does.
  bool verify(ModuleOp logical);
  struct Stopwatch;
  void printTime(StringRef phase, const Stopwatch &watch);
  /// What the planner says of the plan; null when it cannot price it.
  DictionaryAttr prediction() const;
  /// Says which plan was chosen.
  void notePlan() const;
  bool isPricedAsProcessors() const;

  MLIRContext &context;
  const CompileOptions &options;
  OwningOpRef<ModuleOp> module;
  OwningOpRef<ModuleOp> forward; // the model as it was planned; with a memory budget only
  std::string opCuts, planYaml, manifest, configText;
  llvm::json::Object mathematics; // of the model, and of the optimizer once it is there
  bool singleDevice = false;      // the reference of --check, on which no budget is put
};

/// Prints `error: message` to standard error.
void reportError(const Twine &message);

} // namespace mlir::ppc

#endif // PPC_TOOLS_COMPILE_COMPILATION_H
