// Judges mutations by numbers and by the proof.
#include "MutantJudge.h"
#include "ProgramMutation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "ppc/Equivalence/EquivalenceChecker.h"

namespace mlir::ppc::test {

/// Sums of f32, and roundings to bf16 after them, depend on their order.
static bool same(const MutantJudge::Outputs &a, const MutantJudge::Outputs &b, Arithmetic arithmetic) {
  double tolerance = arithmetic == Arithmetic::Exact ? 1e-9 : 2e-2,
         floor = arithmetic == Arithmetic::Exact ? 1e-3 : 0.05;
  for (auto [stageA, stageB] : llvm::zip_equal(a, b))
    for (auto [ranksA, ranksB] : llvm::zip_equal(stageA, stageB))
      for (auto [tensorA, tensorB] : llvm::zip_equal(ranksA, ranksB))
        if (!sameNumbers(tensorA.data, tensorB.data, tolerance, floor))
          return false;
  return true;
}

/// The numbers that ops name become what f32 has of them.
static void roundAttributes(ModuleOp module) {
  Builder builder(module.getContext());
  module.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs()) {
      if (auto number = dyn_cast<FloatAttr>(attribute.getValue()); number && number.getType().isF64())
        op->setAttr(attribute.getName(), builder.getF64FloatAttr(float(number.getValueAsDouble())));
      if (auto list = dyn_cast<DenseF64ArrayAttr>(attribute.getValue())) {
        auto rounded = llvm::map_to_vector(list.asArrayRef(), [](double number) { return double(float(number)); });
        op->setAttr(attribute.getName(), builder.getDenseF64ArrayAttr(rounded));
      }
    }
  });
}

std::string MutantJudge::prepare(int64_t seed) {
  auto step = whole.lookupSymbol<func::FuncOp>("step");
  if (!step)
    return "there is no @step in the logical program";
  Random random(seed);
  values = randomValues(step, random);
  for (Arithmetic arithmetic : {Arithmetic::Exact, Arithmetic::Rounded})
    if (std::string error = execute(program, arithmetic, expected[int(arithmetic)]); !error.empty())
      return "the program does not run: " + error;
  return succeeded(checkEquivalence(whole, program)) ? "" : "the program is not accepted";
}

void MutantJudge::judge(int64_t count, int64_t seed, StringRef only, bool list) {
  ArrayRef<StringRef> kinds = mutationKinds();
  for (int64_t tries = 1; changed + broken < count && tries < 200 * count; ++tries) {
    Random own(seed * 1000003 + tries);
    judge(only.empty() ? kinds[own() % kinds.size()] : only, tries, own, list);
  }
}

std::string MutantJudge::execute(ModuleOp mutant, Arithmetic arithmetic, Outputs &outputs) {
  OwningOpRef<ModuleOp> rounded;
  if (arithmetic == Arithmetic::Rounded) {
    rounded = mutant.clone();
    roundAttributes(*rounded);
    mutant = *rounded;
  }
  RankExecutor step(mutant, arithmetic), evaluation(mutant, arithmetic);
  std::string error = step.run(values);
  if (error.empty())
    error = evaluation.evaluate(values);
  if (!error.empty())
    return error;
  outputs = step.outputs();
  for (std::vector<RankTensors> &loss : evaluation.evaluation())
    outputs.push_back(std::move(loss));
  return "";
}

void MutantJudge::judge(StringRef kind, int64_t number, Random &random, bool list) {
  OwningOpRef<ModuleOp> mutant = program.clone();
  std::optional<std::string> what = mutateProgram(*mutant, kind, random);
  if (!what)
    return;
  std::string first;
  ScopedDiagnosticHandler silent(program.getContext(), [&](Diagnostic &diagnostic) {
    if (first.empty())
      first = diagnostic.str();
    return success();
  });
  if (failed(verify(*mutant)))
    return; // no program
  first.clear();
  bool accepted = succeeded(checkEquivalence(whole, *mutant));
  std::string reason = std::exchange(first, "");
  Outputs found;
  std::string error = execute(*mutant, Arithmetic::Exact, found);
  bool isSame = error.empty() && same(found, expected[0], Arithmetic::Exact);
  StringRef outcome = !error.empty() ? "does not run" : isSame ? "changes nothing" : "changes numbers";
  if (isSame) {
    found.clear();
    error = execute(*mutant, Arithmetic::Rounded, found);
    isSame = error.empty() && same(found, expected[1], Arithmetic::Rounded);
    if (!isSame)
      outcome = "changes numbers of f32 alone";
  }
  if (!error.empty()) {
    ++broken;
    brokenNoticed += !accepted;
  } else if (isSame) {
    ++harmless;
    overcautious += !accepted;
  } else {
    ++changed;
    noticed += !accepted;
  }
  if (accepted && !isSame)
    misses.push_back("#" + std::to_string(number) + " " + kind.str() + ", which " + outcome.str() + ": " + *what);
  if (list)
    llvm::outs() << "#" << number << " " << kind << " " << outcome << ", "
                 << (accepted ? "accepted" : "refused: " + reason) << "\n    " << *what << "\n";
}

} // namespace mlir::ppc::test
