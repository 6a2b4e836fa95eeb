// A training step on a heterogeneous cluster, with pipeline stages on groups of devices of different types. Every stage
// has the same dp x tp x cp; the k-th stage on a group has the k-th dp x tp x cp devices of it. The cost of a stage is
// estimated as on a cluster of its group alone; only sends between stages connect groups (docs/guide/Plan.md).
#ifndef PPC_COSTMODEL_MIXEDSTEP_H
#define PPC_COSTMODEL_MIXEDSTEP_H

#include "ppc/CostModel/StepParts.h"

namespace mlir::ppc {

/// A cluster of one group: that one of `cluster`. Its host is the cluster's.
Cluster groupAlone(const Cluster &cluster, int64_t group);

/// Checks that the layout's stages fit on the groups that it names. Errors: a cluster of several groups and a layout
/// without groups; another count than pp; an unknown group; stages of a group that are not neighbours; more stages than
/// a group has devices for.
llvm::Error verifyStageGroups(const Cluster &cluster, const ParallelLayout &layout);

/// Contexts for the costs of the stages of one layout. Refers to its arguments; the layout passes verifyStageGroups.
class MixedPricing {
public:
  /// `slices`: as PricingContext. `deviceOf`: per virtual stage, its pipeline rank.
  MixedPricing(const ModelShape &model, const TrainingJob &job, const Cluster &cluster, const ParallelLayout &layout,
               const Stack &stack, int64_t slices, std::vector<int64_t> deviceOf);

  const PricingContext &contextOf(int64_t device) const { return *contexts[layout.stageGroups[device]]; }
  const PricingContext &contextOfChunk(size_t chunk) const { return contextOf(deviceOf[chunk]); }

  /// One time for all messages: that of the slowest, of those between groups and within them. An upper bound where both
  /// occur.
  const PipelineMessages &messages() const { return slowest; }
  /// Slowdown of a chunk's passes by concurrent sends and receives (timeBesideMessages).
  Seconds beside(size_t chunk) const;

  const LayerPrograms &programsOf(int64_t device) const { return programs[layout.stageGroups[device]]; }
  const LayerPrices &pricesOfChunk(size_t chunk) const { return prices[layout.stageGroups[deviceOf[chunk]]]; }
  ChunkCost priceChunk(const ChunkLayers &layers, size_t chunk, bool splitBackward) const;

  /// Layers per virtual stage: the layout's; as the stack partitions if all groups take equally long for every layer;
  /// else the partition with the fastest slowest stage, each by the times of its group. `most`: maximum layers per
  /// stage; empty: any. Returns an empty list if no partition satisfies `most`.
  std::vector<int64_t> cut(llvm::ArrayRef<int64_t> most = {}) const;

private:
  PipelineMessages priceSlowest(const Cluster &cluster) const;

  const ParallelLayout &layout;
  std::vector<int64_t> deviceOf;
  std::vector<std::unique_ptr<Cluster>> clusters; // per group; null: no stage is on it
  std::vector<std::unique_ptr<PricingContext>> contexts;
  std::vector<LayerPrograms> programs;
  std::vector<LayerPrices> prices;
  PipelineMessages slowest;
};

/// Contiguous partition of layers with the fastest slowest chunk (if layers differ among each other: nearly), at least
/// one layer in each. `ends[i]`: for chunk i, the time of the first 0, 1, ... layers of the model there; `extra`: its
/// additional time; `most`: its maximum number of layers. Among those, early chunks take as few layers as possible.
/// Returns an empty list if there is none within `most`.
std::vector<int64_t> cutByTimes(llvm::ArrayRef<llvm::ArrayRef<double>> ends, llvm::ArrayRef<double> extra,
                                llvm::ArrayRef<int64_t> most);

/// Per virtual stage, the device that holds it, of a schedule with one replica.
std::vector<int64_t> stageDevices(llvm::ArrayRef<llvm::SmallVector<PipelineChunk, 2>> chunks);

/// StepEstimator::estimate for clusters of several groups. `detail`: programs of the busiest stage. Errors also: as
/// verifyStageGroups; a schedule that keeps the model twice.
llvm::Expected<StepCost> estimateMixed(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                       const ParallelLayout &layout, const Stack &stack, StepDetail *detail,
                                       StepEstimator &estimator, PipelineTimer &timer, PipelineTime &time);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_MIXEDSTEP_H
