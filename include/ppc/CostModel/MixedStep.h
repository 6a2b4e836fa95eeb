// A training step whose pipeline stages lie on groups of devices of different kinds. Every stage has the same dp x tp x
// cp; the k-th stage on a group has the k-th dp x tp x cp devices of it. What a stage does is priced as on a cluster of
// its group alone; groups meet only in the messages between stages (docs/guide/Plan.md).
#ifndef PPC_COSTMODEL_MIXEDSTEP_H
#define PPC_COSTMODEL_MIXEDSTEP_H

#include "ppc/CostModel/StepParts.h"

namespace mlir::ppc {

/// A cluster of one group: that one of `cluster`. Its host is the cluster's.
Cluster groupAlone(const Cluster &cluster, int64_t group);

/// Whether the layout's stages can lie on the groups that it says. Errors: a cluster of several groups and a layout
/// that says none; another count than pp; a group that there is not; stages of a group apart from each other; more
/// stages than a group has devices for.
llvm::Error verifyStageGroups(const Cluster &cluster, const ParallelLayout &layout);

/// The contexts that the stages of one layout are priced in. Refers to what it is made from; the layout passes
/// verifyStageGroups.
class MixedPricing {
public:
  /// `slices`: as PricingContext. `deviceOf`: per virtual stage, the device of the pipeline axis that holds it.
  MixedPricing(const ModelShape &model, const TrainingJob &job, const Cluster &cluster, const ParallelLayout &layout,
               const Stack &stack, int64_t slices, std::vector<int64_t> deviceOf);

  const PricingContext &contextOf(int64_t device) const { return *contexts[layout.stageGroups[device]]; }
  const PricingContext &contextOfChunk(size_t chunk) const { return contextOf(deviceOf[chunk]); }

  /// One time for all messages: that of the slowest, of those between groups and within them. An upper bound where both
  /// occur.
  const PipelineMessages &messages() const { return slowest; }
  /// What a chunk's passes lose to messages beside them (timeBesideMessages).
  Seconds beside(size_t chunk) const;

  const LayerPrograms &programsOf(int64_t device) const { return programs[layout.stageGroups[device]]; }
  const LayerPrices &pricesOfChunk(size_t chunk) const { return prices[layout.stageGroups[deviceOf[chunk]]]; }
  ChunkCost priceChunk(const ChunkLayers &layers, size_t chunk, bool splitBackward) const;

  /// Layers per virtual stage: the layout's; as the stack cuts where all groups take equally long for every layer; else
  /// those with the least slowest stage, each by the times of its group. `most`: no stage has more layers than that;
  /// empty: any. No cut: nothing within `most`.
  std::vector<int64_t> cut(llvm::ArrayRef<int64_t> most = {}) const;

private:
  PipelineMessages priceSlowest(const Cluster &cluster) const;

  const ParallelLayout &layout;
  std::vector<int64_t> deviceOf;
  std::vector<std::unique_ptr<Cluster>> clusters; // per group; null: no stage lies there
  std::vector<std::unique_ptr<PricingContext>> contexts;
  std::vector<LayerPrograms> programs;
  std::vector<LayerPrices> prices;
  PipelineMessages slowest;
};

/// The contiguous cut of layers with the least slowest chunk (where layers differ among each other: nearly), at least
/// one layer in each. `ends[i]`: of chunk i, the time of the first 0, 1, ... layers of the model there; `extra`: what
/// it takes besides; `most`: the most layers that it may have. Among those, early chunks take as few layers as they
/// may. No cut: there is none within `most`.
std::vector<int64_t> cutByTimes(llvm::ArrayRef<llvm::ArrayRef<double>> ends, llvm::ArrayRef<double> extra,
                                llvm::ArrayRef<int64_t> most);

/// Per virtual stage, the device that holds it, of a schedule with one replica.
std::vector<int64_t> stageDevices(llvm::ArrayRef<llvm::SmallVector<PipelineChunk, 2>> chunks);

/// StepEstimator::estimate for clusters of several groups. `detail`: its programs are those of the busiest stage.
/// Errors also: as verifyStageGroups; a schedule that keeps the model twice.
llvm::Expected<StepCost> estimateMixed(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                       const ParallelLayout &layout, const Stack &stack, StepDetail *detail,
                                       StepEstimator &estimator, PipelineTimer &timer, PipelineTime &time);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_MIXEDSTEP_H
