// Work of reductions and normalisations: scalar operations per element of the large tensor.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

static OpCost perOperandElement(Operation *op, double flops) {
  return costOf(op, flops * elementsOf(op->getOperand(0)));
}

OpCost ReduceOp::getCost() { return perOperandElement(*this, 1); }
OpCost LogSumExpOp::getCost() { return perOperandElement(*this, 4); }       // max, subtract, exp, add
OpCost SoftmaxOp::getCost() { return perOperandElement(*this, 5); }         // the same, divide
OpCost SoftmaxBackwardOp::getCost() { return perOperandElement(*this, 4); } // y * dy, add, subtract, multiply
OpCost RmsNormOp::getCost() { return perOperandElement(*this, 4); }         // square, add, * r, * weight
OpCost RmsNormInputGradientOp::getCost() {
  return perOperandElement(*this, 8);
} // square, add; g; g * x, add; r g - c x
OpCost RmsNormWeightGradientOp::getCost() { return perOperandElement(*this, 5); } // square, add; dy * x, * r, add
OpCost LayerNormOp::getCost() {
  return perOperandElement(*this, 7);
} // add; subtract, square, add; * r, * weight, + bias
OpCost LayerNormInputGradientOp::getCost() { return perOperandElement(*this, 13); } // statistics 4, z; g; 2 means 3; 4
OpCost LayerNormWeightGradientOp::getCost() { return perOperandElement(*this, 7); } // statistics 4, z; dy * z, add
