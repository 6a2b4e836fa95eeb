// The dialect: registration, and the tables it shares with the runtime's C ABI.
#include "dialects/ppcrt/Epilogue.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ppcrt;

#include "dialects/ppcrt/IR/PpcRtDialect.cpp.inc"
#include "dialects/ppcrt/IR/PpcRtEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/ppcrt/IR/PpcRtTypes.cpp.inc"

void PpcRtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Library.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Epilogue.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Launch.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Collective.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Call.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Asynchronous.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Program.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ppcrt/IR/Action.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/ppcrt/IR/PpcRtTypes.cpp.inc"
      >();
}

std::pair<int64_t, int64_t> ppcrt::elementsIn(Value buffer, Value root) {
  constexpr std::pair<int64_t, int64_t> all(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  for (Value view = buffer; view != root;) {
    Operation *op = view.getDefiningOp();
    if (!isa_and_nonnull<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp, memref::CastOp>(op))
      return all; // offsets of its result are not relative to `root`
    view = cast<ViewLikeOpInterface>(op).getViewSource();
  }
  auto type = dyn_cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || !type.hasStaticShape() || failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset))
    return all;
  int64_t end = offset + 1;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (ShapedType::isDynamic(stride) || stride < 0)
      return all;
    if (size == 0)
      return {offset, offset};
    end += (size - 1) * stride;
  }
  return {offset, end};
}

std::optional<int32_t> ppcrt::elementTypeCode(Type type) {
  if (type.isF32())
    return 0;
  if (type.isF64())
    return 1;
  if (type.isInteger(32))
    return 2;
  if (type.isInteger(64))
    return 3;
  if (type.isBF16())
    return 4;
  return std::nullopt;
}
