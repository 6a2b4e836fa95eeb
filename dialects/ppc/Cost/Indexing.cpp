// Work of ops that address by index or position.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

// Reads the indexed rows, not the whole table.
OpCost EmbeddingOp::getCost() { return {0, bytesOf(getIds()) + bytesOf(getY()), bytesOf(getY()), Engine::Vector}; }

OpCost EmbeddingBackwardOp::getCost() { return costOf(*this, elementsOf(getDy())); }

// Four multiplications and two additions per pair.
OpCost RotaryOp::getCost() { return costOf(*this, 3.0 * elementsOf(getX())); }
