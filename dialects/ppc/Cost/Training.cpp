// Work of the optimizer.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

// Per element: g 1, m' 3, v' 4, both corrections 2, root 1, epsilon 1, quotient 1, decay 2, step 2.
OpCost AdamwOp::getCost() { return costOf(*this, 17.0 * elementsOf(getParameter())); }
OpCost SquaredNormOp::getCost() { return costOf(*this, 2.0 * elementsOf(getX())); }
OpCost ClipScaleOp::getCost() { return costOf(*this, 3); }
