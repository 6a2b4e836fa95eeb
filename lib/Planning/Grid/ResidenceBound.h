// A lower bound on the step of a layout that considers memory, filling and draining, for every stage partition and
// order of the schedule's actions.
//
// Memory. Activations of a micro-batch in layer l are live until its gradient comes back: no less than the chain b(l)
// of forwards and backwards from l on. In a step of time x with M micro-batches, M b(l) / x are live on average
// (Little), and the peak of each device is no less than its average. Summed over the p devices, saved bytes k(l) need
//     M / x (k(0) b(0) + k(1) b(1) + ...) <= p (limit - other memory).
// Bytes beyond the limit are recomputed, at best in the first layers, which save longest. With slices of a sequence, M
// / slices.
//
// Time. With T the work of a micro-batch, C its chain without weight gradients that may wait, and R the recomputation,
// a step takes
//     x >= M (T + R) / p,
// and more if devices wait before their first stage and after it (PipelineFloor). The minimum x with both is the bound.
#ifndef PPC_LIB_PLANNING_GRID_RESIDENCEBOUND_H
#define PPC_LIB_PLANNING_GRID_RESIDENCEBOUND_H

#include "lib/Planning/Grid/ScheduleCache.h"
#include "ppc/CostModel/StepParts.h"
#include "ppc/Planning/PlanSearch.h"

#include <limits>

namespace mlir::ppc {

/// Times of one micro-batch, summed over all stages.
struct ResidenceTerms {
  double busy = 0;    // everything kept
  double forward = 0; // part of that: forwards
  double chain = 0;   // part of that: without weight gradients that may wait
  double kept = 0;    // bytes x seconds: k(l) b(l) of all layers
  double behind = 0;  // seconds: the chain from the first layer on
  // Recomputation of layers, from the first one on.
  double layers = 0, layerChain = 0; // by layer; 0: layers differ, and the best of them stand for all
  double seconds = 0, bytes = 0;     // for one more layer, and the bytes that it saves; if layers differ: for one
                                     // second
  double most = 0;                   // bytes x seconds that all of it saves

  /// Seconds of recomputation that save that number of bytes x seconds; infinity: none do.
  double recompute(double saving) const;
};

/// `split`: weight gradients may wait.
ResidenceTerms sumResidence(const PlanRequest &request, const LayerPrices &prices, bool split, bool canRecompute);

/// Lower bounds on the step x from waits of devices, given the work of a micro-batch: x >= perWork (T + R) + besideWork
/// and x >= perChain (C + R) + besideChain. From the order of a schedule (OrderLimit), with F the forwards of C: x >=
/// roundsForward F + besideForward, x >= roundsBackward (C - F + R) + besideBackward, x >= rounds (C + R) +
/// besideRounds.
struct PipelineFloor {
  bool split = false;
  double perWork = 0, besideWork = 0, perChain = 0, besideChain = 0;
  double roundsForward = 0, besideForward = 0, roundsBackward = 0, besideBackward = 0, rounds = 0, besideRounds = 0;

  /// Lower bound on the step with that recomputation.
  double step(const ResidenceTerms &terms, double recomputed) const;
  /// Whether it never takes longer than `other`.
  bool isBelow(const PipelineFloor &other) const;
};

/// Common terms of the floors of a layout's schedules.
struct FloorTerms {
  FloorTerms(const PlanRequest &request, const LayerTotals &programs, const PipelineMessages &messages, Seconds beside,
             const LayerPrices &prices, Recompute recompute, bool evenCut);

  const PlanRequest &request;
  const PipelineMessages &messages;
  Seconds beside; // timeBesideMessages
  const LayerPrices &prices;
  bool canRecompute;                                             // any number of layers
  bool evenCut;                                                  // stages are partitioned evenly by time
  llvm::SmallVector<std::array<double, layerKinds>, 2> cutTimes; // weights of kinds of layers for such partitions
};
/// A schedule that alternates, on every device: there are enough micro-batches, or slices of them.
bool alternatesEverywhere(const StepSchedule &schedule);
PipelineFloor floorOf(const FloorTerms &terms, const StepSchedule &schedule, const StagePlacement &placement);

/// Memory headroom of all devices together, and the micro-batches that share it.
struct ResidenceRoom {
  double microBatches, slices, devices;
  double capacity; // bytes of one device for activations; infinity: any
};

/// Whether some such pipeline may take x. `terms`: [0] weight gradients part of backwards, [1] where they may wait.
bool mayTake(double x, const std::array<ResidenceTerms, 2> &terms, const PipelineFloor &floor,
             const ResidenceRoom &room);
/// The least time that one of `floors` may take; infinity where it is more than `most`.
double leastStep(const std::array<ResidenceTerms, 2> &terms, llvm::ArrayRef<PipelineFloor> floors,
                 const ResidenceRoom &room, double most = std::numeric_limits<double>::infinity());

/// Adds a floor and drops floors in `floors` that are never above another one.
void addFloor(llvm::SmallVectorImpl<PipelineFloor> &floors, const PipelineFloor &floor);

/// Bytes of some device at least: its share of the state and of one micro-batch. `full`: all layers recomputed.
double leastMemory(const PricingContext &context, const LayerPrices &prices,
                   const std::array<int64_t, layerKinds> &kinds, bool full);

/// Lower bounds on the memory of some device besides activations, and on the time of its update.
struct LeastState {
  double memory, update;
};
/// `update`: where it is known, from other recomputation or slices; negative: it is not.
LeastState leastState(const PricingContext &context, const LayerPrices &prices,
                      const std::array<int64_t, layerKinds> &kinds, double update = -1);

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GRID_RESIDENCEBOUND_H
