// Work of ops that rearrange elements: traffic only.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

OpCost TransposeOp::getCost() { return costOf(*this, 0); }
OpCost ReshapeOp::getCost() { return noCost(); } // does not move bytes
OpCost BroadcastOp::getCost() { return costOf(*this, 0); }
OpCost SplitOp::getCost() { return costOf(*this, 0); }
OpCost ConcatOp::getCost() { return costOf(*this, 0); }
