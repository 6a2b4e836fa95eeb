// The model dialect: the one header others include. IR/*.td defines the meaning of each op.
#ifndef PPC_DIALECTS_PPC_H
#define PPC_DIALECTS_PPC_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "ppc/Interfaces/CostOpInterface.h"
#include "ppc/Interfaces/DifferentiableOpInterface.h"
#include "ppc/Interfaces/ReferenceOpInterface.h"
#include "ppc/Interfaces/ShardingRuleOpInterface.h"
#include "ppc/Interfaces/StrategyOpInterface.h"
#include "ppc/Sharding/AxisRole.h"

#include "dialects/ppc/IR/PpcDialect.h.inc"
#include "dialects/ppc/IR/PpcEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/ppc/IR/PpcAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Elementwise.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Matmul.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Reduction.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Attention.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Indexing.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Shape.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Routing.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Loss.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Training.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Placement.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppc/IR/Collective.h.inc"

namespace mlir::ppc {

/// Names of the discardable attributes through which passes communicate (described in IR/PpcDialect.td).
namespace attr {
inline constexpr StringLiteral input = "ppc.input";
inline constexpr StringLiteral parameter = "ppc.parameter";
inline constexpr StringLiteral state = "ppc.state";
inline constexpr StringLiteral scalar = "ppc.scalar";
inline constexpr StringLiteral result = "ppc.result";
inline constexpr StringLiteral of = "ppc.of";
inline constexpr StringLiteral dims = "ppc.dims";
inline constexpr StringLiteral init = "ppc.init";
inline constexpr StringLiteral noWeightDecay = "ppc.no_weight_decay";
inline constexpr StringLiteral sharding = "ppc.sharding";
inline constexpr StringLiteral shardings = "ppc.shardings";
inline constexpr StringLiteral operandShardings = "ppc.operand_shardings";
inline constexpr StringLiteral factors = "ppc.factors";
inline constexpr StringLiteral part = "ppc.part";
inline constexpr StringLiteral layer = "ppc.layer";
inline constexpr StringLiteral slice = "ppc.slice";
inline constexpr StringLiteral stage = "ppc.stage";
inline constexpr StringLiteral recompute = "ppc.recompute";
inline constexpr StringLiteral plan = "ppc.plan";
inline constexpr StringLiteral precision = "ppc.precision";
inline constexpr StringLiteral logicalType = "ppc.logical_type";
/// On a result of a function: the number of the argument in whose memory it is stored.
inline constexpr StringLiteral destination = "ppc.destination";
} // namespace attr

/// Layers first to last, both included, as `ppc.layer` counts.
struct LayerRange {
  int64_t first = 0, last = 0;
  bool contains(int64_t layer) const;
};
/// Parses "3" or "1-8"; std::nullopt for any other text.
std::optional<LayerRange> parseLayerRange(StringRef text);

/// ceil(extent / parts): the size of each block of a dimension sharded over `parts` devices.
inline int64_t blockSize(int64_t extent, int64_t parts) { return (extent + parts - 1) / parts; }

/// The axis names of an array of strings.
SmallVector<StringRef> axisNames(ArrayAttr axes);

/// Number of ranks in a group over `axes`, by the `ppc.plan` of the module around `op`. Without a plan: the
/// smallest number that splits `whole` elements into blocks of `block`.
int64_t groupSize(Operation *op, ArrayAttr axes, int64_t whole, int64_t block);

/// `type` with another shape.
inline RankedTensorType withShape(RankedTensorType type, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, type.getElementType());
}

/// `type` with another element type.
inline RankedTensorType withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element);
}

inline RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The element type in which sums of elements of `type` are formed, and loops over them compute: f32 for types of 16
/// bits.
inline Type sumType(Type type) {
  return type.isBF16() || type.isF16() ? Type(Float32Type::get(type.getContext())) : type;
}

} // namespace mlir::ppc

#endif // PPC_DIALECTS_PPC_H
