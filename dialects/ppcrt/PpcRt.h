// The runtime dialect: what ranks execute. Ops that bodies hold are functions of the runtime's C ABI; the program of
// all devices holds buffers, routines and actions. The one header others include.
#ifndef PPC_DIALECTS_PPCRT_H
#define PPC_DIALECTS_PPCRT_H

#include "dialects/ppc/Ppc.h"
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
#define GET_TYPEDEF_CLASSES
#include "dialects/ppcrt/IR/PpcRtTypes.h.inc"

namespace mlir::ppcrt {

class BufferOp;
class DeviceOp;
class EvaluateOp;
class GroupOp;
class MessageOp;
class ProgramOp;
class ProgramSymbols;
class RoutineOp;
class StepOp;

struct Access;

} // namespace mlir::ppcrt

#include "dialects/ppcrt/IR/ActionInterface.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Library.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Launch.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Collective.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Call.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Asynchronous.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Program.h.inc"
#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Action.h.inc"

namespace mlir::ppcrt {

/// On a function that is the code of routines: their kind, as `ppcrt.routine` spells it.
inline constexpr StringLiteral kRoutineAttr = "ppcrt.routine";
/// The kind of routine that `function` is the code of; none where it is none.
std::optional<RoutineKind> routineKindOf(Operation *function);

/// Of the whole step, not of one micro-batch: prepare, update, evaluate.
bool isOfStep(RoutineKind kind);

/// Number of `type` in the runtime's C ABI (0 f32, 1 f64, 2 i32, 3 i64, 4 bf16); none for a type it does not know.
std::optional<int32_t> elementTypeCode(Type type);

/// What ppcrt_gemm is given beside the matrices (runtime/include/ppcrt.h), version 2.
SmallVector<int64_t> gemmDescriptor(GemmOp op);

/// The elements that `buffer`, a view of `root`, takes of it: from the first to behind the last. All that there may be
/// where that is not known.
std::pair<int64_t, int64_t> elementsIn(Value buffer, Value root);

/// What holds of the destination of communication: `op` returns nothing or a tensor of its type, and its elements are
/// of a type that the runtime knows.
LogicalResult verifyDestination(Operation *op, Value out);
/// Effects on the outside world: communication stays, in its order, also where its value is not used.
void addCommunicationEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects);

/// The name of the module's group over `axes`, restricted to `stages` of the axis "pp" when given. Adds the group, at
/// the beginning of the module, when there is none like it.
FlatSymbolRefAttr findOrAddGroup(ModuleOp module, ArrayAttr axes, DenseI64ArrayAttr stages = {});

/// The number of a group in the manifest and in calls of the runtime: its place among the groups of the module of `op`.
int32_t groupNumber(Operation *op, FlatSymbolRefAttr group);
/// Whether `group` is a group of the module.
LogicalResult verifyGroup(Operation *op, FlatSymbolRefAttr group, SymbolTableCollection &symbols);

/// The program of a module; null when it has none.
ProgramOp findProgram(ModuleOp module);
/// The same, for a pass of `module` that needs one: null with an error that names what makes it.
ProgramOp requireProgram(ModuleOp module);

/// A use of a buffer by an action: of its slot for a micro-batch where it has slots.
struct Access {
  BufferOp buffer;
  std::optional<int64_t> slot;   ///< which slot; none where the buffer has none
  bool isRead, isWrite;          ///< both where old content may show in the new
  std::optional<uint32_t> early; ///< of a run: the token with which it ends, where the run gives that one
};

/// What is looked up by name in a program, again and again, in constant time. Not to be kept while ops come and go.
class ProgramSymbols {
public:
  explicit ProgramSymbols(ProgramOp program);

  /// Null when there is none of that kind with that name.
  DeviceOp device(StringAttr name) const;
  MessageOp message(StringAttr name) const;
  BufferOp buffer(DeviceOp device, StringAttr name) const;
  RoutineOp routine(DeviceOp device, StringAttr name) const;
  /// The buffer in whose slots `buffer` lies: the one that it shares, or itself.
  BufferOp ownerOf(BufferOp buffer) const;
  /// Where `message` is at its two ends.
  BufferOp sent(MessageOp message) const;
  BufferOp received(MessageOp message) const;
  bool hasStream(DeviceOp device, StringAttr name) const;

private:
  DenseMap<Attribute, Operation *> outer;
  DenseMap<std::pair<Operation *, Attribute>, Operation *> inner;
};

/// Lets one-shot bufferization handle the dialect's ops.
void registerBufferizableOpInterfaceModels(DialectRegistry &registry);

/// Whether the code of a routine takes and returns what lies in its buffers, says that it is of its kind, and finishes
/// with buffers where it is said to. `functions` are the module's.
LogicalResult verifyCode(RoutineOp routine, const ProgramSymbols &symbols, const SymbolTable &functions);

} // namespace mlir::ppcrt

#endif // PPC_DIALECTS_PPCRT_H
