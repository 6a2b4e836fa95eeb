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

/// Features by which measured steps are compared.
struct StepFeatures {
  std::string kind;         // "sharded" (ZeRO-3), "overlapped" (gradients overlap with backward), "plain", "ppc"
  bool experts = false;     // the model has experts
  bool narrow = false;      // matmuls of 8 bits or less
  std::string architecture; // architecture of the device
  double devices = 0;       // log2
  double size = 0;          // log2 of 12 x layers x hidden^2: the parameters of its dense twin
  double work = 0;          // log2 of a rank's tokens per micro-batch x hidden^2 / tp: the size of its matmuls
};
StepFeatures featuresOf(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                        const ParallelLayout &layout, const Stack &stack);
/// `overlapped/dense/16-bit/sm_90/6/35/37`: rounded, as the file of errors has it.
std::string toString(const StepFeatures &features);

/// Interval for a step with predicted time t: measured, nine of ten steps are within [low t, high t].
struct PredictionInterval {
  double low = 1, high = 1;
  /// Distance of the step to the nearest measured one; a step is "near" within `nearDistance`.
  double distance = 0;
  std::string nearest; // its source
  bool isNear() const;
};
constexpr double nearDistance = 3;
PredictionInterval predictionInterval(const StepFeatures &features);

/// Share of the predicted time below which a difference between two layouts of one model on one machine decides
/// nothing: half of the measured pairs that are predicted this far apart are in the other order or nearer. From the
/// errors within groups of measured steps that differ in layout only.
double indistinctShare();

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_PREDICTIONINTERVAL_H
