// Degrees of parallelism in the compiler's terms: the one place that says which axes they make and what each cuts.
//
//   dp 2, tp 8, pp 2, sp, zero 1   ->   grid: { dp: 2, tp0: 4, tp1: 2 }          # 4 key-value heads
//                                       stages: [ 0, 10 ]
//                                       dimensions: { batch: [ dp ], ffn: [ tp0, tp1 ], kv_heads: [ tp0 ], ... }
//                                       activations: { sequence: [ tp0, tp1 ] }
//                                       update: [ dp ]
#ifndef PPC_PLANNING_FILES_PLANPRESET_H
#define PPC_PLANNING_FILES_PLANPRESET_H

#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/Planning/Files/PlanSections.h"

namespace mlir::ppc {

/// What an expansion must know of a model.
struct PresetModel {
  int64_t kvHeads = 0;   // extent of the dimension `kv_heads`; 0: the model has none
  int64_t headGroup = 0; // query heads that share one; 0 or 1: each has its own
  int64_t layers = 0;    // without embedding and head
  int64_t globalBatch = 0;
  int64_t experts = 0; // of a layer; 0: the model has none
};
PresetModel presetModel(const ModelShape &model, const TrainingJob &job);

/// The batch is cut over dp, sequences of the inputs over cp, feed-forward, vocabulary and heads over tp. Experts are
/// cut by their width over tp, or with ep by expert: over tp, and beyond it over ep / tp of the ranks of dp, an axis
/// `ep` of its own. Heads are cut by key-value head where tp divides their number, else by query head within the group,
/// else by both on two axes tp0 x tp1, else by key-value head with padding. Of the ranks of tp those of tpRows are an
/// axis `rows` that cuts hidden features, of parameters and of what is computed, instead of widths and heads; those of
/// tpDepth an axis `depth` that cuts widths and heads with the others, and the sequence of activations; where there are
/// no others, that is sequence parallelism. With sequence parallelism what lies between is cut along the sequence over
/// tp, with Ulysses heads inside attention over cp (exchangedHeads), with ZeRO the optimizer's state over dp and cp, or
/// over those of a shard group: dp is then an axis `copies` besides, outside of which nothing is cut but the batch.
/// `firstLayers`: of each stage, beginning with 0 (the embedding). Requires dp x microBatch to divide the batch, and of
/// ep what lackedBy says (TargetCapabilities.h). Of the layout, only what programs run is looked at (TargetLimits.h).
PlanSections expandLayout(const ParallelLayout &layout, const PresetModel &model, llvm::ArrayRef<int64_t> firstLayers);

/// The layout whose expansion cuts everything into as many parts as `plan` does, whatever its axes are called; what
/// plans do not say is as in `base`. Errors: no layout has such an expansion, with what it would cut otherwise.
llvm::Expected<ParallelLayout> layoutOfPlan(const PlanSections &plan, const PresetModel &model,
                                            const ParallelLayout &base);

} // namespace mlir::ppc

#endif // PPC_PLANNING_FILES_PLANPRESET_H
