// The code of routines, functions of the module, against the buffers that it is bound to.
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::ppcrt;

std::optional<RoutineKind> ppcrt::routineKindOf(Operation *function) {
  auto kind = function->getAttrOfType<StringAttr>(kRoutineAttr);
  return kind ? symbolizeRoutineKind(kind.getValue()) : std::nullopt;
}

namespace {
/// Checks that the code of a routine finishes with buffers where `early` declares it.
class ReachedBuffers {
public:
  ReachedBuffers(RoutineOp routine, FunctionOpInterface code, bool onTensors);

  LogicalResult verify();

private:
  LogicalResult verify(ReachOp reach);
  LogicalResult verifyUnused(ReachOp reach, Value value, FlatSymbolRefAttr buffer);

  RoutineOp routine;
  FunctionOpInterface code;
  DenseMap<Attribute, Value> argument, returned; ///< by buffer
};
} // namespace

ReachedBuffers::ReachedBuffers(RoutineOp routine, FunctionOpInterface code, bool onTensors)
    : routine(routine), code(code) {
  if (!routine.getEarly())
    return;
  Block &block = code.getFunctionBody().front();
  if (!onTensors) {
    for (auto [buffer, value] : llvm::zip_equal(routine.getCallOrder(), block.getArguments()))
      argument[buffer] = value;
    return;
  }
  for (auto [buffer, value] : llvm::zip_equal(routine.getReads(), block.getArguments()))
    argument[buffer] = value;
  for (auto [buffer, value] : llvm::zip_equal(routine.getWrites(), block.getTerminator()->getOperands()))
    returned[buffer] = value;
}

// routine_c7, routine_c8
LogicalResult ReachedBuffers::verify() {
  SmallVector<ReachOp> reached(routine.getEarlyCount());
  for (auto reach : code.getFunctionBody().front().getOps<ReachOp>()) {
    uint64_t entry = reach.getEntry();
    if (entry < reached.size() && !reached[entry]) {
      reached[entry] = reach;
      continue;
    }
    InFlightDiagnostic error = routine.emitOpError()
                               << "names code " << routine.getCodeAttr() << ", which reaches entry " << entry
                               << (entry < reached.size() ? " twice" : " of 'early', of ")
                               << (entry < reached.size() ? "" : std::to_string(reached.size()));
    error.attachNote(reach.getLoc()) << "here";
    return error;
  }
  for (auto [entry, reach] : llvm::enumerate(reached)) {
    if (!reach)
      return routine.emitOpError() << "names code " << routine.getCodeAttr() << ", which never reaches entry " << entry
                                   << " of 'early'";
    if (failed(verify(reach)))
      return failure();
  }
  return success();
}

LogicalResult ReachedBuffers::verify(ReachOp reach) {
  auto buffers = cast<ArrayAttr>(routine.getEarlyAttr()[reach.getEntry()]).getAsRange<FlatSymbolRefAttr>();
  auto fail = [&]() -> InFlightDiagnostic {
    InFlightDiagnostic error = routine.emitOpError();
    error.attachNote(reach.getLoc()) << "entry " << reach.getEntry() << " is reached here";
    return error;
  };
  if (llvm::range_size(buffers) != reach.getValues().size())
    return fail() << "finishes with " << llvm::range_size(buffers) << " buffers in entry " << reach.getEntry()
                  << ", where its code has " << reach.getValues().size();
  for (auto [buffer, value] : llvm::zip_equal(buffers, reach.getValues())) {
    Value taken = argument.lookup(buffer), left = returned.lookup(buffer);
    if (value != (left ? left : taken))
      return fail() << "finishes with " << buffer << " in entry " << reach.getEntry()
                    << ", where its code has something else";
    for (Value used : {taken, left})
      if (used && failed(verifyUnused(reach, used, buffer)))
        return failure();
  }
  return success();
}

LogicalResult ReachedBuffers::verifyUnused(ReachOp reach, Value value, FlatSymbolRefAttr buffer) {
  SmallVector<Value> worklist = {value}; // it and its views
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (isa<ViewLikeOpInterface>(user) && isa<MemRefType>(user->getResultTypes().front()))
        worklist.append(user->result_begin(), user->result_end());
      Operation *at = reach->getBlock()->findAncestorOpInBlock(*user);
      if (at && (at == reach || at->hasTrait<OpTrait::IsTerminator>() || at->isBeforeInBlock(reach)))
        continue;
      InFlightDiagnostic error =
          routine.emitOpError() << "uses " << buffer << " after it has finished with it, in entry " << reach.getEntry();
      error.attachNote(reach.getLoc()) << "finished here";
      error.attachNote(user->getLoc()) << "used here";
      return error;
    }
  return success();
}

LogicalResult ppcrt::verifyCode(RoutineOp routine, const ProgramSymbols &symbols, const SymbolTable &functions) {
  auto code = functions.lookup<FunctionOpInterface>(routine.getCodeAttr().getAttr()); // routine_c5
  if (!code || code.isExternal())
    return routine.emitOpError() << "names code " << routine.getCodeAttr() << ", which is not a function with a body";
  if (routineKindOf(code) != routine.getKind()) {
    InFlightDiagnostic error = routine.emitOpError()
                               << "names code " << routine.getCodeAttr() << ", which is not of kind "
                               << stringifyRoutineKind(routine.getKind());
    error.attachNote(code.getLoc()) << "declared here";
    return error;
  }
  DeviceOp device = routine.getDevice();
  auto compare = [&](StringRef what, ArrayRef<Type> types, ArrayRef<Attribute> names) -> LogicalResult {
    if (types.size() != names.size())
      return routine.emitOpError() << "binds " << names.size() << " buffers to " << types.size() << " " << what
                                   << "s of " << routine.getCodeAttr();
    for (auto [i, type, name] : llvm::enumerate(types, names)) {
      BufferOp buffer = symbols.buffer(device, cast<FlatSymbolRefAttr>(name).getAttr());
      Type expected = isa<TensorType>(type) ? Type(buffer.getTensorType()) : Type(buffer.getBufferType());
      if (expected != type)
        return routine.emitOpError() << "binds " << name << " of " << expected << " to " << what << " " << i << " of "
                                     << routine.getCodeAttr() << ", which is " << type;
    }
    return success();
  };
  bool onTensors = code.getNumResults() || llvm::any_of(code.getArgumentTypes(), llvm::IsaPred<RankedTensorType>);
  if (!onTensors) {
    auto order = routine.getCallOrder();
    if (failed(compare("argument", code.getArgumentTypes(), SmallVector<Attribute>(order.begin(), order.end()))))
      return failure();
  } else if (failed(compare("argument", code.getArgumentTypes(), routine.getReads().getValue())) ||
             failed(compare("result", code.getResultTypes(), routine.getWrites().getValue()))) {
    return failure();
  }
  return ReachedBuffers(routine, code, onTensors).verify();
}
