// How a training job is laid out on a cluster, in the terms that people use: degrees of parallelism and a few choices.
// The cost model prices it; the search enumerates it; `--evaluate` reads one per row.
#ifndef PPC_COSTMODEL_PARALLELLAYOUT_H
#define PPC_COSTMODEL_PARALLELLAYOUT_H

#include "ppc/Cluster/Device.h"
#include "ppc/CostModel/KernelCost.h"
#include "ppc/Model/ModelShape.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::ppc {

/// What backward computes again instead of keeping: nothing; the attention scores (Korthikanti et al., arXiv
/// 2205.05198); whole layers, of which only the input is kept.
enum class Recompute { None, Selective, Full };
llvm::ArrayRef<llvm::StringLiteral> recomputeNames(); ///< by their numbers
llvm::StringRef toString(Recompute recompute);
std::optional<Recompute> parseRecompute(llvm::StringRef text);

/// What lives in host memory between its uses: a bit for each kind, several as "optimizer+activations".
enum class Offload { None = 0, Optimizer = 1, Activations = 2, Parameters = 4, All = 7 };
constexpr Offload operator|(Offload a, Offload b) { return Offload(int(a) | int(b)); }
constexpr bool offloadsOptimizer(Offload offload) { return int(offload) & int(Offload::Optimizer); }
constexpr bool offloadsActivations(Offload offload) { return int(offload) & int(Offload::Activations); }
constexpr bool offloadsParameters(Offload offload) { return int(offload) & int(Offload::Parameters); }
llvm::ArrayRef<llvm::StringLiteral> offloadNames(); ///< by their numbers, each order once
llvm::StringRef toString(Offload offload);
/// The kinds in any order, with + or commas between them.
std::optional<Offload> parseOffload(llvm::StringRef text);

/// How attention over a context-parallel group works: keys and values passed around a ring; heads exchanged by
/// all-to-all (Ulysses); keys and values all-gathered.
enum class ContextKind { Ring, Ulysses, AllGather };
llvm::ArrayRef<llvm::StringLiteral> contextNames(); ///< by their numbers
llvm::StringRef toString(ContextKind kind);
std::optional<ContextKind> parseContextKind(llvm::StringRef text);

/// What is trained on: sequences of `sequence` tokens, `globalBatch` of them per step.
struct TrainingJob {
  int64_t sequence = 0;
  int64_t globalBatch = 0;
};

/// Ranks are numbered with tp innermost, then cp, then dp, then pp outermost. Experts have a grid of their own over the
/// same ranks of a stage: etp innermost, then ep, then what is left replicates them.
struct ParallelLayout {
  int64_t dp = 1, tp = 1, pp = 1, vp = 1, cp = 1, ep = 1, etp = 1;
  /// Of the tp ranks, parts of the hidden features of parameters and activations (2D); the others cut widths and heads.
  /// Of those, parts of each sequence between products (3D). Innermost are the ones that cut widths alone, then rows,
  /// then depth.
  int64_t tpRows = 1, tpDepth = 1;
  bool sequenceParallel = false;
  int64_t zero = 0;       // 1 optimizer state, 2 and gradients, 3 and parameters are cut over the shard group
  int64_t shardGroup = 0; // ranks of the data group that share one copy of the state; 0: all dp x cp of them
  /// Of those, neighbours that share one copy of the sums of gradients (zero 2, 3), which are reduced among them in
  /// each micro-batch and among the others once per step; 1: sums are whole (zero 3). And of the parameters between
  /// their uses (zero 3). 0: all of them. Where both are neither one nor all, they are the same.
  int64_t gradientGroup = 0, parameterGroup = 0;
  int64_t microBatch = 1; // sequences
  std::string schedule = "1f1b";
  Recompute recompute = Recompute::None;
  /// With Recompute::Full: layers per virtual stage that are recomputed, its first ones, the rest is kept; -1: all. The
  /// prediction layers count as the last of the last virtual stage.
  int64_t recomputedLayers = -1;
  /// The same per virtual stage in model order (pp x vp numbers), instead of recomputedLayers; empty: that for all.
  llvm::SmallVector<int64_t, 8> stageRecomputedLayers;
  Offload offload = Offload::None;
  Precision precision = Precision::Bf16;
  ContextKind contextKind = ContextKind::Ring;
  AttentionKernel attention = AttentionKernel::Flash2;
  bool fusedNorm = true;
  /// Layers per virtual stage, chunk by chunk in model order (pp x vp numbers); empty: as the stack cuts.
  llvm::SmallVector<int64_t, 8> stageLayers;
  /// On a cluster of several groups: the group of devices that each device of the pipeline axis is of (pp numbers);
  /// stages of one group are neighbours. Empty on clusters of one group.
  llvm::SmallVector<int64_t, 8> stageGroups;

  int64_t devices() const { return dp * tp * pp * cp; }
  /// Parts of widths, heads and the vocabulary.
  int64_t tensorColumns() const { return tp / tpRows; }
  /// Ranks that hold the same dense parameters.
  int64_t dataRanks() const { return dp * cp; }
  /// Those of them that share one copy of the cut state: neighbours.
  int64_t shardRanks() const { return shardGroup ? shardGroup : dataRanks(); }
  /// How many ranks the sums of gradients, and the parameters between their uses, are cut over.
  int64_t gradientRanks() const { return zero < 2 ? 1 : gradientGroup ? gradientGroup : shardRanks(); }
  int64_t parameterRanks() const { return zero < 3 ? 1 : parameterGroup ? parameterGroup : shardRanks(); }
  /// Of the state's ranks, neighbours that are an axis of their own; all: there is no such axis.
  int64_t innerRanks() const {
    int64_t all = shardRanks(), gradients = gradientRanks(), parameters = parameterRanks();
    return gradients > 1 && gradients < all ? gradients : parameters > 1 && parameters < all ? parameters : all;
  }
  /// Of compiled programs, whose experts are cut over all tensor-parallel ranks before others: the data-parallel ranks
  /// besides that share experts, and so the tokens of their batches.
  int64_t expertRanks() const { return ep > tp ? ep / tp : 1; }
  /// Of them those that have other parts of the same sequences: none where dp can hold all, else all of cp, or
  /// neighbours in it. The others have batches of their own.
  int64_t expertSequences() const;
  int64_t expertBatches() const { return expertRanks() / expertSequences(); }
  /// Neighbours that share a sequence or experts: groups of shards have whole such groups.
  int64_t ranksTogether() const { return cp * expertBatches(); }
  /// Ranks that hold the same expert parameters.
  int64_t expertDataRanks() const { return dp * cp * tp / (ep * etp); }
  /// Activations leave for the host: a device keeps two chunks' worth, so of one stage, which holds one, nothing
  /// leaves.
  bool copiesActivations() const { return offloadsActivations(offload) && pp * vp > 1; }
  /// Parameters of virtual stages are on the host while others are computed: where each is computed in one go in each
  /// direction, and a device has more of them than are there at a time.
  bool copiesParameters() const { return offloadsParameters(offload) && schedule == "breadth-first" && vp > 2; }
  int64_t microBatches(const TrainingJob &job) const { return job.globalBatch / (dp * microBatch); }
  /// How many of the `layers` of virtual stage `stage` are recomputed as a whole.
  int64_t recomputedOf(size_t stage, int64_t layers) const;
};

/// How compiled programs cut attention over tensor-parallel ranks: `heads` parts of the key-value heads, within each
/// `group` parts of the query heads that share one. Ranks that share a key-value head are neighbours.
struct HeadCut {
  int64_t heads = 1, group = 1;
};
/// The largest part of `tp` that divides the key-value heads, if the rest divides the `groupSize` query heads of one;
/// else by key-value heads alone, the last ranks with fewer.
HeadCut cutHeads(int64_t kvHeads, int64_t groupSize, int64_t tp);
/// Whether `depth` of the ranks of a cut can be an axis of their own: a part of one of the cuts, or of the only one.
bool isDividedBy(HeadCut cut, int64_t depth);
/// How attention of compiled programs cuts heads beside `tensor` parallelism where it exchanges a cut of the sequence
/// over `cp` ranks for one of heads (Ulysses): key-value heads where they divide, else the query heads of each, for
/// which keys and values are gathered; nothing where neither divides.
std::optional<HeadCut> exchangedHeads(int64_t kvHeads, int64_t groupSize, HeadCut tensor, int64_t cp);

/// The dimension of a tensor along which compiled programs cut the optimizer's state and the update `parts` ways
/// besides the `before[d]` ways that dimension d of `extents` is cut already: where the block that is left is smallest,
/// and among equals the outermost; nothing where no dimension has enough elements. A dimension that is cut already is
/// cut further only evenly.
std::optional<unsigned> updateCut(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<int64_t> before, int64_t parts);

/// What of tpRows and tpDepth cannot be, of models with so many hidden features and sequences of so many tokens (0: the
/// model has none). Errors name what does not divide.
llvm::Error verifyTensorAxes(const ParallelLayout &layout, int64_t hidden, int64_t sequence);

/// What of gradientGroup and parameterGroup cannot be.
llvm::Error verifyStateGroups(const ParallelLayout &layout);

/// What of tpRows and tpDepth has no price even of compiled programs: it is known where columns cut whole key-value
/// heads of dense layers and, with sequence parallelism, what lies between, and rows hidden features besides; or where
/// depth cuts what lies between instead. Empty: it has one.
std::string unpricedPart(const ModelShape &model, const ParallelLayout &layout);

/// Whether the layout can exist for the model and the job, whatever its time and memory. Errors name what does not
/// divide or what is too large, with both numbers.
llvm::Error verifyLayout(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout);

/// "dp 8 x tp 4 x pp 2, micro-batch 1, 1f1b, zero 1, recompute full": for people.
std::string toString(const ParallelLayout &layout);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_PARALLELLAYOUT_H
