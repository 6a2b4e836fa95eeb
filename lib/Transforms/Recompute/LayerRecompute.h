// Saved activations of one layer, and the cost of recomputing them.
#ifndef PPC_LIB_TRANSFORMS_RECOMPUTE_LAYERRECOMPUTE_H
#define PPC_LIB_TRANSFORMS_RECOMPUTE_LAYERRECOMPUTE_H

#include "dialects/ppc/Ppc.h"
#include "ppc/Transforms/Recompute/RecomputeGraph.h"

namespace mlir::ppc {

/// Whether an op belongs to forward.
bool isForward(Operation *op);

/// "matmul.3": the third but one matmul among the forward ops of its layer. In a plan "matmul" alone means all of them.
std::string nameInLayer(Operation *op);

/// Whether an op may be recomputed: a forward op that is not a constant and whose results stay in its layer, and in
/// its slice of the sequence.
bool canRecompute(Operation *op);

/// Recomputation graph of one layer on one stage.
struct LayerGraph {
  RecomputeGraph graph;
  SmallVector<Operation *> ops; ///< by number in the graph
};

/// `ops`: of the layer, of all parts, in order; those with `ppc.recompute` are chosen already. Costs are in bytes that
/// memory could move in that time; `balance`: FLOPs that the machine does in the time in which its memory moves a byte.
LayerGraph layerGraph(ArrayRef<Operation *> ops, double balance);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_RECOMPUTE_LAYERRECOMPUTE_H
