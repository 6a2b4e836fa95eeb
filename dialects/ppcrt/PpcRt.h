// The runtime dialect: what one rank executes, one op per function of the runtime's C ABI. The one header others include.
#ifndef PPC_DIALECTS_PPCRT_H
#define PPC_DIALECTS_PPCRT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

#include "dialects/ppcrt/IR/PpcRtDialect.h.inc"
#include "dialects/ppcrt/IR/PpcRtEnums.h.inc"

#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Library.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Collective.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Call.h.inc"

namespace mlir::ppcrt {

/// Name of the module attribute that lists the groups of ranks: `[{axes = ["tp"]}, {axes = ["pp"], stages = array<i64: 0, 3>}]`.
inline constexpr StringLiteral kGroupsAttr = "ppc.groups";

/// Number of `type` in the runtime's C ABI (0 f32, 1 f64, 2 i32, 3 i64, 4 bf16); none for a type it does not know.
std::optional<int32_t> elementTypeCode(Type type);

/// Index, in the module's list of groups, of the group over `axes`, restricted to `stages` of the axis `pp` when given.
/// Appends the group when the list does not have it.
int32_t findOrAddGroup(Operation *module, ArrayAttr axes, DenseI64ArrayAttr stages = {});

/// Lets one-shot bufferization handle the dialect's ops.
void registerBufferizableOpInterfaceModels(DialectRegistry &registry);

} // namespace mlir::ppcrt

#endif // PPC_DIALECTS_PPCRT_H
