// A module as the search over chains of templates takes it (ppc/Planning/Chain/ChainSearch.h), and what the search
// found back in the module: the plan as `ppc.plan`, how every op is cut as `ppc.factors`.
#ifndef PPC_ANALYSIS_PROGRAMCHAIN_H
#define PPC_ANALYSIS_PROGRAMCHAIN_H

#include "ppc/Analysis/TemplateExtraction.h"
#include "ppc/Planning/Chain/ChainSearch.h"

namespace mlir::ppc {

struct ProgramChain {
  func::FuncOp function;
  ExtractedTemplates templates;
  ChainModel model;
  Precision precision = Precision::F32; // of the parameters
  /// Per layer of the chain the `ppc.layer` that it begins with; -1 where ops have none.
  SmallVector<int64_t> numbers;

  /// Whether every layer begins with another, larger `ppc.layer`, so that stages may begin anywhere.
  bool isNumbered() const;
};

/// Reads the one function of a module, before differentiation. Fails with an error on the op or module that cannot be
/// read.
FailureOr<ProgramChain> readProgramChain(ModuleOp module);

/// FLOPs of the chain's products and attention, forward.
double productFlops(const TemplateChain &chain);

/// What of a found layout a plan says besides how ops are cut.
struct ChainLayout {
  ArrayRef<LayoutAxis> axes;
  int64_t dp = 1, microBatches = 1;
  SmallVector<int64_t> stages = {0}; // first `ppc.layer` of each
  int64_t vp = 1;                    // stages per device of the pipeline axis
  StringRef schedule = "1f1b";
  DictionaryAttr recompute = {};
};
/// A plan's `recompute` of all layers but the first and the last; null for none, and where ops have no `ppc.layer` or
/// there is no layer in between.
DictionaryAttr recomputeLayers(const ProgramChain &program, Recompute recompute);
/// A sharding for every parameter and axes for the dimensions of the inputs.
PlanAttr makePlanAttr(const ProgramChain &program, const ChainLayout &layout, const TemplateSearchResult &shardings);
/// The same of a plan. Its stages must begin at numbered layers.
PlanAttr makePlanAttr(const ProgramChain &program, const ChainPlan &plan);

/// `ppc.factors` on the ops of the layers that the cuts say; the batch is cut over `dataAxes` besides.
void writeFactors(const ProgramChain &program, const OpCuts &cuts, ArrayRef<StringRef> dataAxes);
/// How ops are cut by their `ppc.factors`; empty where none has any. Fails as OpSharding::read does.
FailureOr<OpCuts> readFactors(const ProgramChain &program, PlanAttr plan);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_PROGRAMCHAIN_H
