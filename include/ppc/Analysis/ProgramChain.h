// Converts a module to a chain of templates for the op-level sharding search (ppc/Planning/Chain/ChainSearch.h), and
// its result back: the plan as `ppc.plan`, the sharding of every op as `ppc.factors`.
#ifndef PPC_ANALYSIS_PROGRAMCHAIN_H
#define PPC_ANALYSIS_PROGRAMCHAIN_H

#include "ppc/Analysis/TemplateExtraction.h"
#include "ppc/Planning/Chain/ChainSearch.h"

namespace mlir::ppc {

struct ProgramChain {
  func::FuncOp function;
  ExtractedTemplates templates;
  ChainModel model;
  Precision precision = Precision::F32; // precision of the parameters
  /// Per layer of the chain the `ppc.layer` that it begins with; -1 where ops have none.
  SmallVector<int64_t> numbers;

  /// Whether every layer begins with another, larger `ppc.layer`, so that stages may begin anywhere.
  bool isNumbered() const;
};

/// Reads the one function of a module, before differentiation. Fails with an error on the op or module that cannot be
/// read.
FailureOr<ProgramChain> readProgramChain(ModuleOp module);

/// Forward FLOPs of the chain's matmuls and attention.
double productFlops(const TemplateChain &chain);

/// Decisions of a plan besides shardings of ops.
struct ChainLayout {
  ArrayRef<LayoutAxis> axes;
  int64_t dp = 1, microBatches = 1;
  SmallVector<int64_t> stages = {0}; // first `ppc.layer` of each
  int64_t vp = 1;                    // virtual stages per pipeline rank
  StringRef schedule = "1f1b";
  DictionaryAttr recompute = {};
};
/// A plan's `recompute` of all layers but the first and the last; null for none, and where ops have no `ppc.layer` or
/// there is no layer in between.
DictionaryAttr recomputeLayers(const ProgramChain &program, Recompute recompute);
/// A sharding for every parameter and axes for the dimensions of the inputs.
PlanAttr makePlanAttr(const ProgramChain &program, const ChainLayout &layout, const TemplateSearchResult &shardings);
/// Overload for a plan. Its stages must begin at numbered layers.
PlanAttr makePlanAttr(const ProgramChain &program, const ChainPlan &plan);

/// Writes `ppc.factors` on the ops of the layers in `cuts`; the batch is also sharded over `dataAxes`.
void writeFactors(const ProgramChain &program, const OpCuts &cuts, ArrayRef<StringRef> dataAxes);
/// Reads the shardings of ops from their `ppc.factors`; empty if no op has any. Fails as OpSharding::read does.
FailureOr<OpCuts> readFactors(const ProgramChain &program, PlanAttr plan);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_PROGRAMCHAIN_H
