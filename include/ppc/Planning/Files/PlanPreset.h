// Expansion of degrees of parallelism to the compiler's terms: the mesh axes, and the shardings over each.
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

/// Facts of a model that an expansion needs.
struct PresetModel {
  int64_t kvHeads = 0;   // extent of the dimension `kv_heads`; 0: the model has none
  int64_t headGroup = 0; // query heads that share one; 0 or 1: each has its own
  int64_t layers = 0;    // without embedding and LM head
  int64_t globalBatch = 0;
  int64_t experts = 0; // experts of a layer; 0: the model has none
};
PresetModel presetModel(const ModelShape &model, const TrainingJob &job);

/// Expands degrees to axes and shardings. The batch is sharded over dp, sequences of the inputs over cp, feed-forward,
/// vocabulary and heads over tp. Experts are sharded by their width over tp, or with ep by expert: over tp, and beyond
/// it over ep / tp of the ranks of dp, a separate axis `ep`. Heads are sharded by key-value head if tp divides their
/// number, else by query head within the group, else by both on two axes tp0 x tp1, else by key-value head with
/// padding. Of the ranks of tp, tpRows form an axis `rows` that shards hidden features, of parameters and of
/// activations, instead of widths and heads; tpDepth form an axis `depth` that shards widths and heads with the others,
/// and the sequence of activations; without others, that is sequence parallelism. With sequence parallelism activations
/// between tensor-parallel regions are sharded along the sequence over tp, with Ulysses heads inside attention over cp
/// (exchangedHeads), with ZeRO the optimizer's state over dp and cp, or over a shard group: dp then has a second axis
/// `copies`, over which only the batch is sharded. `firstLayers`: first layer of each stage, beginning with 0 (the
/// embedding). Requires dp x microBatch to divide the batch, and the conditions of lackedBy for ep
/// (TargetCapabilities.h). Uses only decisions of the layout that programs run (TargetLimits.h).
PlanSections expandLayout(const ParallelLayout &layout, const PresetModel &model, llvm::ArrayRef<int64_t> firstLayers);

/// Returns the layout whose expansion shards everything into as many parts as `plan` does, whatever its axes are
/// called; decisions that plans do not have come from `base`. Errors: no layout has such an expansion, with the first
/// difference.
llvm::Expected<ParallelLayout> layoutOfPlan(const PlanSections &plan, const PresetModel &model,
                                            const ParallelLayout &base);

} // namespace mlir::ppc

#endif // PPC_PLANNING_FILES_PLANPRESET_H
