// The dialect: registration and constants.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

#include "dialects/ppc/IR/PpcDialect.cpp.inc"
#include "dialects/ppc/IR/PpcEnums.cpp.inc"

void PpcDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Elementwise.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Matmul.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Reduction.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Attention.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Indexing.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Shape.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Routing.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Loss.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Training.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Placement.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppc/IR/Collective.cpp.inc"
      >();
}

Operation *PpcDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
