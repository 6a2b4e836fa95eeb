// Work of elementwise ops: scalar operations per element.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

static OpCost perResultElement(Operation *op, double flops) { return costOf(op, flops * elementsOf(op->getResult(0))); }

OpCost AddOp::getCost() { return perResultElement(*this, 1); }
OpCost SubOp::getCost() { return perResultElement(*this, 1); }
OpCost MulOp::getCost() { return perResultElement(*this, 1); }
OpCost DivOp::getCost() { return perResultElement(*this, 1); }
OpCost NegOp::getCost() { return perResultElement(*this, 1); }
OpCost ExpOp::getCost() { return perResultElement(*this, 1); }
OpCost LogOp::getCost() { return perResultElement(*this, 1); }
OpCost SqrtOp::getCost() { return perResultElement(*this, 1); }
OpCost RsqrtOp::getCost() { return perResultElement(*this, 2); }
OpCost SigmoidOp::getCost() { return perResultElement(*this, 4); }       // 1 / (1 + e^-x)
OpCost SiluOp::getCost() { return perResultElement(*this, 4); }          // x / (1 + e^-x)
OpCost SiluBackwardOp::getCost() { return perResultElement(*this, 9); }  // dy * s * (1 + x * (1 - s)), s as above
OpCost GeluOp::getCost() { return perResultElement(*this, 9); }          // x * (1 + tanh(c * (x + a * x^3))) / 2
OpCost GeluBackwardOp::getCost() { return perResultElement(*this, 17); } // dy * (p + x * p'), p as above, p' from it
OpCost ScaleOp::getCost() { return perResultElement(*this, 1); }
OpCost ConvertOp::getCost() { return perResultElement(*this, 1); }
OpCost SumOp::getCost() { return perResultElement(*this, double(getInputs().size()) - 1); }
OpCost ConstantOp::getCost() { return noCost(); }
