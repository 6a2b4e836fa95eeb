// Work of elementwise ops: scalar operations per element.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

static OpCost perElement(Operation *op, double flops) { return costOf(op, flops * elementsOf(op->getResult(0))); }

OpCost AddOp::getCost() { return perElement(*this, 1); }
OpCost SubOp::getCost() { return perElement(*this, 1); }
OpCost MulOp::getCost() { return perElement(*this, 1); }
OpCost DivOp::getCost() { return perElement(*this, 1); }
OpCost NegOp::getCost() { return perElement(*this, 1); }
OpCost ExpOp::getCost() { return perElement(*this, 1); }
OpCost LogOp::getCost() { return perElement(*this, 1); }
OpCost SqrtOp::getCost() { return perElement(*this, 1); }
OpCost RsqrtOp::getCost() { return perElement(*this, 2); }
OpCost SigmoidOp::getCost() { return perElement(*this, 4); }      // 1 / (1 + e^-x)
OpCost SiluOp::getCost() { return perElement(*this, 4); }         // x / (1 + e^-x)
OpCost SiluBackwardOp::getCost() { return perElement(*this, 9); } // dy * s * (1 + x * (1 - s)), s as above
OpCost GeluOp::getCost() { return perElement(*this, 9); } // x * (1 + tanh(c * (x + a * x^3))) / 2
OpCost GeluBackwardOp::getCost() { return perElement(*this, 17); } // dy * (p + x * p'), p as above, p' from it
OpCost ScaleOp::getCost() { return perElement(*this, 1); }
OpCost ConvertOp::getCost() { return perElement(*this, 1); }
OpCost SumOp::getCost() { return perElement(*this, double(getInputs().size()) - 1); }
OpCost ConstantOp::getCost() { return noCost(); }
