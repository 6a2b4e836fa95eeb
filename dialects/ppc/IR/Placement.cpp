// Micro-batches, resharding, padding: syntax and verification.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Placement.cpp.inc"

// %l, %g = ppc.accumulate (%xi = %x, %ti = %t) micro_batches(4) : (tensor<2x8xi32>, tensor<2x8xi32>) -> (...) { ... }
// The types before the arrow are the types of the block arguments (one micro-batch); operands are `micro_batches`
// times as long along dimension 0.
void AccumulateOp::print(OpAsmPrinter &p) {
  Block &block = getBody().front();
  p << " (";
  llvm::interleaveComma(llvm::zip(block.getArguments(), getInputs()), p,
                        [&](auto pair) { p << std::get<0>(pair) << " = " << std::get<1>(pair); });
  p << ") micro_batches(" << getMicroBatches() << ") : (";
  llvm::interleaveComma(block.getArgumentTypes(), p);
  p << ") -> (";
  llvm::interleaveComma(getResultTypes(), p);
  p << ") ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"micro_batches"});
}

ParseResult AccumulateOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  int64_t microBatches;
  auto parseOne = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  SmallVector<Type> argumentTypes, resultTypes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne) || parser.parseKeyword("micro_batches") ||
      parser.parseLParen() || parser.parseInteger(microBatches) || parser.parseRParen() || parser.parseColon() ||
      parser.parseLParen())
    return failure();
  if (failed(parser.parseOptionalRParen()))
    if (parser.parseTypeList(argumentTypes) || parser.parseRParen())
      return failure();
  if (parser.parseArrowTypeList(resultTypes))
    return failure();
  if (microBatches < 1)
    return parser.emitError(loc) << "micro_batches is " << microBatches << ", expected at least 1";
  if (argumentTypes.size() != arguments.size())
    return parser.emitError(loc) << "expected " << arguments.size() << " types, found " << argumentTypes.size();
  for (auto [argument, operand, type] : llvm::zip(arguments, operands, argumentTypes)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() < 1)
      return parser.emitError(loc) << "micro-batched values have a batch dimension, found " << type;
    argument.type = type;
    SmallVector<int64_t> shape(tensor.getShape());
    shape[0] *= microBatches;
    if (parser.resolveOperand(operand, withShape(tensor, shape), state.operands))
      return failure();
  }
  state.addTypes(resultTypes);
  state.addAttribute("micro_batches", parser.getBuilder().getI64IntegerAttr(microBatches));
  Region *body = state.addRegion();
  return failure(parser.parseRegion(*body, arguments) || parser.parseOptionalAttrDictWithKeyword(state.attributes));
}

LogicalResult AccumulateOp::verify() {
  int64_t count = getMicroBatches();
  if (count < 1) // accumulate_c3
    return emitOpError() << "micro_batches is " << count << ", expected at least 1";
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError() << "has " << getInputs().size() << " operands and " << block.getNumArguments()
                         << " block arguments";
  for (auto [operand, argument] : llvm::zip(getInputs(), block.getArguments())) { // accumulate_c1
    auto whole = tensorType(operand), slice = dyn_cast<RankedTensorType>(argument.getType());
    if (!slice || slice.getRank() < 1 || slice.getRank() != whole.getRank() ||
        whole.getDimSize(0) != slice.getDimSize(0) * count ||
        whole.getShape().drop_front() != slice.getShape().drop_front() ||
        whole.getElementType() != slice.getElementType())
      return emitOpError() << "operand " << whole << " does not hold " << count << " micro-batches of "
                           << argument.getType();
  }
  auto yield = dyn_cast_or_null<YieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield || yield.getValues().getTypes() != getResultTypes()) // accumulate_c2
    return emitOpError("region must end in ppc.yield with values of the result types");
  return success();
}

LogicalResult ReshardOp::verify() {
  if (int64_t(getTo().getDims().size()) != getType().getRank()) // reshard_c1
    return emitOpError() << "sharding " << getTo() << " has " << getTo().getDims().size()
                         << " dimensions, expected those of " << getType();
  return success();
}

LogicalResult MaskPaddingOp::verify() {
  if (int64_t(getDim()) < 0 || int64_t(getDim()) >= getType().getRank()) // mask_padding_c1
    return emitOpError() << "dim " << getDim() << " is not a dimension of " << getType();
  return success();
}
