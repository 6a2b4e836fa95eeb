// An op taken out of its program.
#include "IsolatedOp.h"

using namespace mlir;
using namespace mlir::ppc;

test::IsolatedOp::IsolatedOp(Operation *original, TypeRange operandTypes, TypeRange resultTypes)
    : module(ModuleOp::create(original->getLoc())) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Location loc = original->getLoc();
  function = func::FuncOp::create(builder, loc, "alone", builder.getFunctionType(operandTypes, resultTypes));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  op = builder.clone(*original);
  op->setOperands(function.getArguments());
  for (auto [result, type] : llvm::zip_equal(op->getResults(), resultTypes))
    result.setType(type);
  if (auto constant = dyn_cast<ConstantOp>(op))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      constant.setValueAttr(splat.resizeSplat(cast<ShapedType>(resultTypes.front())));
  func::ReturnOp::create(builder, loc, op->getResults());
}
