// A layer's pass in the ops that it is made of.
#ifndef PPC_LIB_SIMULATION_LAYERPARTS_H
#define PPC_LIB_SIMULATION_LAYERPARTS_H

#include "ppc/Simulation/StepWork.h"

namespace mlir::ppc {

struct LayerPart {
  const LayerOp *op = nullptr; // null: time of the layer besides its ops
  bool communication = false, again = false;
  Seconds taken;
  Seconds beside; // communication time that overlaps with earlier compute
};

/// Returns parts in order; compute and communication each add up to the times of `layer` in this pass.
std::vector<LayerPart> layerParts(const LayerWork &layer, PipelineActionKind pass, bool selective);

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_LAYERPARTS_H
