// Work of micro-batching, resharding and padding.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

// The additions into the sums, once per micro-batch; the ops of the region have costs of their own.
OpCost AccumulateOp::getCost() {
  int64_t count = getMicroBatches(), bytes = bytesOf(getSums());
  double flops = 0;
  for (Value sum : getSums())
    flops += double(elementsOf(sum)) * count;
  return {flops, 2 * bytes * count, bytes * count, Engine::Vector};
}

OpCost YieldOp::getCost() { return noCost(); }

// Known when partitioning has made collectives of it.
OpCost ReshardOp::getCost() { return noCost(); }

OpCost MaskPaddingOp::getCost() { return costOf(*this, 0); }
