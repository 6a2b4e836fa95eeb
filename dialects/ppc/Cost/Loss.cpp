// Work of losses.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

OpCost CrossEntropyOp::getCost() { return costOf(*this, 4.0 * elementsOf(getLogits())); } // max, subtract, exp, add

// Reads one element per row.
OpCost PickOp::getCost() { return {0, bytesOf(getIds()) + bytesOf(getY()), bytesOf(getY()), Engine::Vector}; }

OpCost CrossEntropyBackwardOp::getCost() {
  return costOf(*this, 3.0 * elementsOf(getLogits()));
} // subtract, exp, multiply
