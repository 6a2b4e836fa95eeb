#include "ppc/Analysis/ModelRecord.h"
#include "ppc/Analysis/IdRange.h"

namespace mlir::ppc {

/// Programs keep parameters, and what updates them, in f32.
static LogicalResult checkElements(func::FuncOp function, StringRef what, unsigned number, Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF32())
    return success();
  Location loc = what == "parameter" ? Location(function.getArgument(number).getLoc()) : function.getLoc();
  InFlightDiagnostic error = emitError(loc) << what << " ";
  if (auto name = function.getArgAttrOfType<StringAttr>(number, attr::parameter); name && what == "parameter")
    error << name;
  else
    error << number;
  return error << " is of " << element
               << ": programs keep parameters and the loss in f32; --precision rounds operands of matmuls";
}

LogicalResult recordModel(ModuleOp module, StringRef name, double flopsPerToken) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1)
    return module.emitError() << "a model is one function, found " << functions.size();
  func::FuncOp function = functions.front();
  int64_t parameters = 0, vocabulary = 0, batch = 0, sequence = 0;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return function.emitOpError() << "argument " << argument.getArgNumber()
                                    << " is not a tensor: " << argument.getType();
    unsigned number = argument.getArgNumber();
    auto dims = function.getArgAttrOfType<ArrayAttr>(number, attr::dims);
    if (auto input = function.getArgAttrOfType<StringAttr>(number, attr::input)) {
      if (type.getRank() != 2)
        return function.emitOpError() << "input " << input << " must be [batch, sequence], found " << type;
      batch = type.getDimSize(0);
      sequence = type.getDimSize(1);
    }
    if (!function.getArgAttr(number, attr::parameter))
      continue;
    if (failed(checkElements(function, "parameter", number, type)))
      return failure();
    parameters += type.getNumElements();
    if (dims && int64_t(dims.size()) == type.getRank())
      for (auto [dim, size] : llvm::zip(axisNames(dims), type.getShape()))
        if (dim == "vocab")
          vocabulary = std::max(vocabulary, size);
  }
  if (function.getNumResults() && failed(checkElements(function, "result", 0, function.getResultTypes().front())))
    return failure();
  if (!batch)
    return function.emitOpError("has no argument with ppc.input: the program needs data to train on");
  // An id that one of the look-ups does not know is none: it is refused where data is loaded.
  if (std::optional<InputIds> ids = inputIds(function))
    vocabulary = ids->count;
  if (!vocabulary)
    return function.emitOpError(
        "has no parameter with a dimension called \"vocab\" in ppc.dims: token ids need a range");
  Builder builder(module.getContext());
  module->setAttr("ppc.model", builder.getDictionaryAttr(
                                   {builder.getNamedAttr("name", builder.getStringAttr(name)),
                                    builder.getNamedAttr("sequence_length", builder.getI64IntegerAttr(sequence)),
                                    builder.getNamedAttr("global_batch", builder.getI64IntegerAttr(batch)),
                                    builder.getNamedAttr("vocabulary", builder.getI64IntegerAttr(vocabulary)),
                                    builder.getNamedAttr("parameters", builder.getI64IntegerAttr(parameters)),
                                    builder.getNamedAttr("flops_per_token", builder.getF64FloatAttr(flopsPerToken))}));
  return success();
}

} // namespace mlir::ppc
