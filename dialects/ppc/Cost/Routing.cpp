// Work of routing: tokens move, slots are full.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

// k passes over a row, one comparison each.
OpCost TopKOp::getCost() {
  return costOf(*this, double(elementsOf(getScores())) * tensorType(getIds()).getShape().back());
}
OpCost TopKBackwardOp::getCost() { return costOf(*this, elementsOf(getDvalues())); }

// Elements of all choices of all tokens.
static double movedElements(Value ids, Value tokens) {
  return double(elementsOf(ids)) * tensorType(tokens).getShape().back();
}
static int64_t movedBytes(Value ids, Value tokens) { return bytesOf(tokens) * tensorType(ids).getShape().back(); }

OpCost DispatchOp::getCost() { return costOf(*this, getWeights() ? movedElements(getIds(), getX()) : 0); }
// Reads the slots that tokens come from.
OpCost CombineOp::getCost() {
  int64_t read = movedBytes(getIds(), getY()) + bytesOf(getIds()) + (getWeights() ? bytesOf(getWeights()) : 0);
  return {(getWeights() ? 2 : 1) * movedElements(getIds(), getY()), read, bytesOf(getY()), Engine::Vector};
}
OpCost RoutingWeightsGradientOp::getCost() {
  int64_t read = movedBytes(getIds(), getX()) + bytesOf(getIds()) + bytesOf(getX());
  return {2 * movedElements(getIds(), getX()), read, bytesOf(getDweights()), Engine::Vector};
}
