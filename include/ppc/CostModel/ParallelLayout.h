// Layout of a training job on a cluster, in the users' terms: degrees of parallelism and a few choices. The cost model
// estimates it; the search enumerates it; `--evaluate` reads one per row.
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

/// Activation recomputation in backward: none; the attention scores (Korthikanti et al., arXiv 2205.05198); all ops of
/// a layer, of which only the input is saved.
enum class Recompute { None, Selective, Full };
llvm::ArrayRef<llvm::StringLiteral> recomputeNames(); ///< by their numbers
llvm::StringRef toString(Recompute recompute);
std::optional<Recompute> parseRecompute(llvm::StringRef text);

/// State in host memory between uses: a bit for each kind, several as "optimizer+activations".
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

/// Training task: sequences of `sequence` tokens, `globalBatch` of them per step.
struct TrainingJob {
  int64_t sequence = 0;
  int64_t globalBatch = 0;
};

/// Degrees of parallelism and choices. Ranks are numbered with tp innermost, then cp, then dp, then pp outermost.
/// Experts have their own mesh over the same ranks of a stage: etp innermost, then ep, then replicas.
struct ParallelLayout {
  int64_t dp = 1, tp = 1, pp = 1, vp = 1, cp = 1, ep = 1, etp = 1;
  /// Factors of tp: rows shard the hidden features of parameters and activations (2D), the other ranks shard widths and
  /// heads. Depth ranks, among the latter, also shard each sequence between matmuls (3D). Innermost are the ranks that
  /// shard widths only, then rows, then depth.
  int64_t tpRows = 1, tpDepth = 1;
  bool sequenceParallel = false;
  int64_t zero = 0;       // 1 optimizer state, 2 also gradients, 3 also parameters are sharded over the shard group
  int64_t shardGroup = 0; // ranks of the data group that share one copy of the state; 0: all dp x cp of them
  /// Neighbours in the shard group over which accumulated gradients are sharded (zero 2, 3); they are reduced in the
  /// group in each micro-batch and among groups once per step; 1: not sharded (zero 3). And over which parameters are
  /// sharded between uses (zero 3). 0: all of the shard group. If both are neither one nor all, they are equal.
  int64_t gradientGroup = 0, parameterGroup = 0;
  int64_t microBatch = 1; // sequences
  std::string schedule = "1f1b";
  Recompute recompute = Recompute::None;
  /// With Recompute::Full: layers per virtual stage that are recomputed, its first ones, the rest is kept; -1: all. The
  /// prediction layers count as the last of the last virtual stage.
  int64_t recomputedLayers = -1;
  /// Recomputed layers per virtual stage in model order (pp x vp numbers), instead of recomputedLayers; empty: that for
  /// all.
  llvm::SmallVector<int64_t, 8> stageRecomputedLayers;
  Offload offload = Offload::None;
  Precision precision = Precision::Bf16;
  ContextKind contextKind = ContextKind::Ring;
  AttentionKernel attention = AttentionKernel::Flash2;
  bool fusedNorm = true;
  /// Layers per virtual stage, chunk by chunk in model order (pp x vp numbers); empty: as the stack partitions.
  llvm::SmallVector<int64_t, 8> stageLayers;
  /// On a cluster of several groups: the group of each pipeline rank (pp numbers); stages of one group are neighbours.
  /// Empty on clusters of one group.
  llvm::SmallVector<int64_t, 8> stageGroups;

  int64_t devices() const { return dp * tp * pp * cp; }
  /// Parts of widths, heads and the vocabulary.
  int64_t tensorColumns() const { return tp / tpRows; }
  /// Ranks that hold the same dense parameters.
  int64_t dataRanks() const { return dp * cp; }
  /// Ranks of a shard group, which share one copy of the sharded state: neighbours.
  int64_t shardRanks() const { return shardGroup ? shardGroup : dataRanks(); }
  /// Number of ranks over which accumulated gradients, and parameters between uses, are sharded.
  int64_t gradientRanks() const { return zero < 2 ? 1 : gradientGroup ? gradientGroup : shardRanks(); }
  int64_t parameterRanks() const { return zero < 3 ? 1 : parameterGroup ? parameterGroup : shardRanks(); }
  /// Neighbours among the state's ranks that form a separate axis; all: there is no such axis.
  int64_t innerRanks() const {
    int64_t all = shardRanks(), gradients = gradientRanks(), parameters = parameterRanks();
    return gradients > 1 && gradients < all ? gradients : parameters > 1 && parameters < all ? parameters : all;
  }
  /// Data-parallel ranks over which compiled programs shard experts, after all tensor-parallel ranks; they share the
  /// tokens of their batches.
  int64_t expertRanks() const { return ep > tp ? ep / tp : 1; }
  /// Those of them with other parts of the same sequences: none if dp can hold all, else all of cp, or neighbours in
  /// it. The others have separate batches.
  int64_t expertSequences() const;
  int64_t expertBatches() const { return expertRanks() / expertSequences(); }
  /// Neighbours that share a sequence or experts: groups of shards have whole such groups.
  int64_t ranksTogether() const { return cp * expertBatches(); }
  /// Ranks that hold the same expert parameters.
  int64_t expertDataRanks() const { return dp * cp * tp / (ep * etp); }
  /// Activations leave for the host: a device keeps two chunks' worth, so of one stage, which holds one, nothing
  /// leaves.
  bool copiesActivations() const { return offloadsActivations(offload) && pp * vp > 1; }
  /// Whether parameters of virtual stages are on the host while others are computed: if each is computed in one go in
  /// each direction, and a device has more of them than fit at a time.
  bool copiesParameters() const { return offloadsParameters(offload) && schedule == "breadth-first" && vp > 2; }
  int64_t microBatches(const TrainingJob &job) const { return job.globalBatch / (dp * microBatch); }
  /// How many of the `layers` of virtual stage `stage` are recomputed as a whole.
  int64_t recomputedOf(size_t stage, int64_t layers) const;
};

/// Sharding of attention heads over tensor-parallel ranks in compiled programs: `heads` parts of the key-value heads,
/// within each `group` parts of the query heads that share one. Ranks that share a key-value head are neighbours.
struct HeadCut {
  int64_t heads = 1, group = 1;
};
/// The largest part of `tp` that divides the key-value heads, if the rest divides the `groupSize` query heads of one;
/// else by key-value heads alone, the last ranks with fewer.
HeadCut cutHeads(int64_t kvHeads, int64_t groupSize, int64_t tp);
/// Whether `depth` of the sharding's ranks can form a separate axis: a part of one of the two factors, or of the only
/// one.
bool isDividedBy(HeadCut cut, int64_t depth);
/// Sharding of attention heads in compiled programs on top of `tensor` parallelism if an all-to-all reshards from the
/// sequence over `cp` ranks to heads (Ulysses): key-value heads if they divide, else the query heads of each, for which
/// keys and values are gathered; std::nullopt if neither divides.
std::optional<HeadCut> exchangedHeads(int64_t kvHeads, int64_t groupSize, HeadCut tensor, int64_t cp);

/// Dimension of a tensor along which compiled programs shard optimizer state and the update `parts` ways, in addition
/// to the `before[d]` ways that dimension d of `extents` is sharded already: the one with the smallest remaining block,
/// and among equals the outermost; std::nullopt if no dimension has enough elements. A sharded dimension is sharded
/// further only evenly.
std::optional<unsigned> updateCut(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<int64_t> before, int64_t parts);

/// Checks tpRows and tpDepth for models with `hidden` features and sequences of `sequence` tokens (0: the model has
/// none). Errors name the number that does not divide.
llvm::Error verifyTensorAxes(const ParallelLayout &layout, int64_t hidden, int64_t sequence);

/// Checks gradientGroup and parameterGroup.
llvm::Error verifyStateGroups(const ParallelLayout &layout);

/// Describes a use of tpRows and tpDepth without a cost model even for compiled programs; empty: it has one. Covered
/// are columns that shard entire key-value heads of dense layers and, with sequence parallelism, activations between
/// them, and rows that shard hidden features in addition; or depth that shards these activations instead.
std::string unpricedPart(const ModelShape &model, const ParallelLayout &layout);

/// Checks that the layout can exist for the model and the job, whatever its time and memory. Errors name the number
/// that does not divide or is too large, with both numbers.
llvm::Error verifyLayout(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout);

/// Human-readable: "dp 8 x tp 4 x pp 2, micro-batch 1, 1f1b, zero 1, recompute full".
std::string toString(const ParallelLayout &layout);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_PARALLELLAYOUT_H
