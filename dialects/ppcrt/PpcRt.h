// The runtime dialect: programs of ranks. Ops in compiled functions are functions of the runtime's C ABI; the
// program of all devices contains buffers, routines and actions. The one header others include.
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

/// Attribute of a function that is the code of routines: their kind, as `ppcrt.routine` spells it.
inline constexpr StringLiteral kRoutineAttr = "ppcrt.routine";
/// The kind of routine that `function` is the code of; std::nullopt if it is not the code of a routine.
std::optional<RoutineKind> routineKindOf(Operation *function);

/// Whether the kind runs once for the whole step, not per micro-batch: prepare, update, evaluate.
bool isOfStep(RoutineKind kind);

/// Number of `type` in the runtime's C ABI (0 f32, 1 f64, 2 i32, 3 i64, 4 bf16); std::nullopt for an unknown type.
std::optional<int32_t> elementTypeCode(Type type);

/// Descriptor that ppcrt_gemm takes in addition to the matrices (runtime/include/ppcrt.h), version 2.
SmallVector<int64_t> gemmDescriptor(GemmOp op);

/// The range of elements of `root` that its view `buffer` covers: the first, and one past the last. The whole range
/// of int64_t if it is not known.
std::pair<int64_t, int64_t> elementsIn(Value buffer, Value root);

/// Checks the destination of communication: `op` returns nothing or a tensor of its type, and its elements are of a
/// type that the runtime knows.
LogicalResult verifyDestination(Operation *op, Value out);
/// Adds effects on the outside world: communication stays, in its order, also if its value is not used.
void addCommunicationEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects);

/// The name of the module's group over `axes`, restricted to `stages` of the axis "pp" when given. Adds the group, at
/// the beginning of the module, when there is none like it.
FlatSymbolRefAttr findOrAddGroup(ModuleOp module, ArrayAttr axes, DenseI64ArrayAttr stages = {});

/// The number of a group in the manifest and in calls of the runtime: its index among the groups of the module of
/// `op`.
int32_t groupNumber(Operation *op, FlatSymbolRefAttr group);
/// Whether `group` is a group of the module.
LogicalResult verifyGroup(Operation *op, FlatSymbolRefAttr group, SymbolTableCollection &symbols);

/// The program of a module; null when it has none.
ProgramOp findProgram(ModuleOp module);
/// The program of `module`, for a pass that needs one; null after an error that names the pass that creates it.
ProgramOp requireProgram(ModuleOp module);

/// A use of a buffer by an action: of its slot for a micro-batch if it has slots.
struct Access {
  BufferOp buffer;
  std::optional<int64_t> slot; ///< slot index; none if the buffer has no slots
  bool isRead, isWrite;        ///< both if old content may show in the new
  /// For a run: the entry of `early` with which the use ends, if the run returns its token.
  std::optional<uint32_t> early;
};

/// Lookup by name in a program, in constant time. Must not be used after ops were added or erased.
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
  /// The buffers of `message` at its two ends.
  BufferOp sent(MessageOp message) const;
  BufferOp received(MessageOp message) const;
  bool hasStream(DeviceOp device, StringAttr name) const;

private:
  DenseMap<Attribute, Operation *> outer;
  DenseMap<std::pair<Operation *, Attribute>, Operation *> inner;
};

/// Lets one-shot bufferization handle the dialect's ops.
void registerBufferizableOpInterfaceModels(DialectRegistry &registry);

/// Checks that the code of a routine takes and returns the types of its buffers, is declared to be of its kind, and
/// finishes with buffers where `early` declares it. `functions` are the module's.
LogicalResult verifyCode(RoutineOp routine, const ProgramSymbols &symbols, const SymbolTable &functions);

} // namespace mlir::ppcrt

#endif // PPC_DIALECTS_PPCRT_H
