// Numbers of recomputed layers and of layers per virtual stage that fit into the memory of the devices.
//
// Recomputation. A schedule's devices and virtual stages fall into groups that share nothing: a device with its stages;
// if two replicas run, also the devices that hold the same stages. The memory of a group depends on its own numbers
// only, and a layer more never saves time. So each group recomputes as few layers as fit, counted round by round: the
// first layer of each of its stages in model order, then the second, ... With one stage per device this is the fastest
// of all combinations of numbers; with several, of all that are filled in rounds.
//
// Partition. If stages of equal length do not fit, or not all recompute equally much, layers move one at a time from
// the group that does not fit or takes longest to the one that is shortest with it, for as long as that one stays
// shorter.
#ifndef PPC_LIB_PLANNING_GRID_STAGEFIT_H
#define PPC_LIB_PLANNING_GRID_STAGEFIT_H

#include "ppc/CostModel/StepParts.h"

namespace mlir::ppc {

struct StageGroup {
  llvm::SmallVector<int64_t, 2> devices, stages; // ascending
};
std::vector<StageGroup> groupStages(const PipelineProgram &program);

/// Layers and recomputed layers of every virtual stage, and their costs.
struct StageFit {
  std::vector<int64_t> cut, recomputed;
  std::vector<ChunkCost> chunks;
};

/// The stages of one choice of layout. Refers to its arguments.
class StageFitter {
public:
  /// `context`: with the layout's state, recomputation and number of chunks. `prices`: of its layers; one set for all
  /// stages as long as all devices are of one kind.
  StageFitter(const PricingContext &context, const LayerPrices &prices, const PipelineProgram &program,
              llvm::ArrayRef<StageGroup> groups, Seconds beside, bool splitBackward, Bytes limit)
      : context(context), prices(prices), program(program), groups(groups), beside(beside),
        splitBackward(splitBackward), limit(limit) {}

  const LayerPrices &layerPrices() const { return prices; }
  bool ignoresHost = false; // offloaded state takes no memory anywhere

  /// As few recomputed layers as fit. False: all of them are too few.
  bool fitFewest(llvm::ArrayRef<int64_t> cut, StageFit &fit);
  enum class FitWithin { Memory, Time, Fits }; // the resource that is exceeded; devices are checked in order
  /// As above; gives up where a device takes longer than `limit` per micro-batch.
  FitWithin fitWithin(llvm::ArrayRef<int64_t> cut, double limit, StageFit &fit);
  /// Raises `fit` by at least that number of rounds over its maximum, to numbers that fit.
  bool raise(int64_t rounds, StageFit &fit);
  /// With these numbers, which are at most those of the stages' layers.
  bool fitExactly(llvm::ArrayRef<int64_t> cut, llvm::ArrayRef<int64_t> recomputed, StageFit &fit);
  /// Moves layers from `cut`. Returns false if no such partition fits, or if it is `cut`.
  bool moveLayers(llvm::ArrayRef<int64_t> cut, StageFit &fit);
  /// Whether some partition into one stage per device can keep each of them within `limit` per micro-batch; true for
  /// models whose layers differ. `descends`: no device saves more micro-batches than the one before.
  bool holdsWithin(llvm::ArrayRef<int64_t> cut, double limit, bool descends);

private:
  /// Layers of a group that can be recomputed.
  int64_t recomputable(const StageGroup &group) const;
  /// Sets the numbers of the group to `number` layers in rounds and estimates them.
  void assign(const StageGroup &group, int64_t number, StageFit &fit);
  /// Bytes beyond the limit on the worst device of the group; at most 0: it fits.
  double excess(const StageGroup &group, const StageFit &fit) const;
  /// Leaves as few recomputed layers as fit; at least `least`.
  bool fitGroup(const StageGroup &group, int64_t least, StageFit &fit);
  /// Ends of ranges of numbers in each of which every layer more saves memory.
  llvm::SmallVector<int64_t, 4> rangeEnds(const StageGroup &group, const StageFit &fit) const;
  void setCut(llvm::ArrayRef<int64_t> cut, StageFit &fit);
  double timeOf(const StageGroup &group, const StageFit &fit) const;
  double timeWithOneMore(const StageGroup &group, StageFit &fit);

  const PricingContext &context;
  const LayerPrices &prices;
  const PipelineProgram &program;
  llvm::ArrayRef<StageGroup> groups;
  Seconds beside;
  bool splitBackward;
  Bytes limit;
  std::vector<ChunkLayers> layers; // chunks of the current fit
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GRID_STAGEFIT_H
