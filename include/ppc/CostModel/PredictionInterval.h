// How far a predicted step may be off: from the errors of the measured steps that are nearest to it in kind of
// software, hardware, scale and size (lib/CostModel/measured-errors.csv, written by tools/dev/accuracy.py). Errors of
// one source go together, so an interval is wide where few sources are near, and wider the farther the nearest one is.
#ifndef PPC_COSTMODEL_PREDICTIONINTERVAL_H
#define PPC_COSTMODEL_PREDICTIONINTERVAL_H

#include "ppc/Cluster/Cluster.h"
#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/CostModel/Stack.h"

#include <string>

namespace mlir::ppc {

/// What measured steps are compared by.
struct StepFeatures {
  std::string kind;         // "sharded" (ZeRO-3), "overlapped" (gradients beside backward), "plain", "ppc"
  bool experts = false;     // of the model
  bool narrow = false;      // products of 8 bits or less
  std::string architecture; // of the device
  double devices = 0;       // log2
  double size = 0;          // log2 of 12 x layers x hidden^2: the parameters of its dense twin
  double work = 0;          // log2 of a rank's tokens per micro-batch x hidden^2 / tp: how large its products are
};
StepFeatures featuresOf(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                        const ParallelLayout &layout, const Stack &stack);
/// `overlapped/dense/16-bit/sm_90/6/35/37`: rounded, as the file of errors has it.
std::string toString(const StepFeatures &features);

/// A step that is predicted to take t should take low t to high t in nine of ten measurements; `coveredShare()` of them
/// do.
struct PredictionInterval {
  double low = 1, high = 1;
  /// Of the step to the nearest measured one; a step is "near" within `nearDistance`.
  double distance = 0;
  std::string nearest; // its source
  bool isNear() const;
};
constexpr double nearDistance = 3;
PredictionInterval predictionInterval(const StepFeatures &features);

/// The share of measured steps that lie within their intervals, each interval made without the errors of the step's own
/// source.
double coveredShare();

/// Of two layouts of one model on one machine whose predicted times differ by less than this share, which is faster
/// cannot be told: half of the measured pairs that are predicted so far apart are the other way round or nearer. From
/// the errors within groups of measured steps that differ in layout only.
double indistinctShare();

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_PREDICTIONINTERVAL_H
