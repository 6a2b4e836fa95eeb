// Programs, devices, buffers, routines, messages: verification.
#include "ActionNames.h"
#include "dialects/ppc/LegalShape.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Support/Limits.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ppcrt;

#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Program.cpp.inc"

LogicalResult GroupOp::verify() {
  if (!getAxes() == !getRanks()) // group_c1
    return emitOpError("needs either 'axes' or 'ranks'");
  if (auto axes = getAxesAttr()) { // group_c2
    llvm::SmallDenseSet<Attribute> seen(axes.begin(), axes.end());
    if (axes.empty() || seen.size() != axes.size())
      return emitOpError() << "needs axes that differ, found " << axes;
  }
  if (auto stages = getStages()) { // group_c3
    for (auto [i, stage] : llvm::enumerate(*stages))
      if (stage < 0 || (i && stage <= (*stages)[i - 1]))
        return emitOpError() << "needs ascending stages from 0, found " << stage << (i ? " after the one before" : "");
    if (stages->empty() || !getAxes())
      return emitOpError(stages->empty() ? "has no stage" : "has stages without axes");
  }
  llvm::SmallDenseSet<int64_t> seen;
  size_t size = 0;
  for (Attribute set : getRanks() ? getRanksAttr().getValue() : ArrayRef<Attribute>()) { // group_c4
    ArrayRef<int64_t> ranks = cast<DenseI64ArrayAttr>(set);
    if (ranks.empty() || (size && ranks.size() != size))
      return emitOpError() << "has a set of " << ranks.size() << " ranks"
                           << (size ? ", the first has " + std::to_string(size) : "");
    size = ranks.size();
    for (int64_t rank : ranks) {
      if (rank < 0 || rank >= ppc::limits::devices)
        return emitOpError() << "names rank " << rank << ", expected 0 to " << ppc::limits::devices - 1;
      if (!seen.insert(rank).second)
        return emitOpError() << "names rank " << rank << " twice";
    }
  }
  return success();
}

SmallVector<DeviceOp> ProgramOp::getDevices() { return llvm::to_vector(getBody().front().getOps<DeviceOp>()); }

ppc::GridAttr ProgramOp::getDeviceGrid() {
  return ppc::GridAttr::get(getContext(), getGrid().getNames().drop_front(), getGrid().getSizes().drop_front(),
                            getGrid().getRoles().drop_front());
}

LogicalResult ProgramOp::verify() {
  if (getMicroBatches() < 1 || getMicroBatches() > ppc::limits::globalBatch) // program_c1
    return emitOpError() << "has " << int64_t(getMicroBatches()) << " micro-batches, expected 1 to "
                         << ppc::limits::globalBatch;
  if (getCopies() < 1 || getMicroBatches() % getCopies()) // program_c5
    return emitOpError() << "has " << getCopies() << " copies of the model for " << getMicroBatches()
                         << " micro-batches, which they share evenly";
  if (getGrid().getNames().empty() || getGrid().getNames().front() != "pp") // program_c2
    return emitOpError() << "needs \"pp\" as the first axis of its mesh, found " << getGrid();
  int64_t count = 0;
  for (Operation &op : getBody().front()) {
    if (!isa<DeviceOp, MessageOp>(op)) // program_c4
      return op.emitOpError("is neither a device nor a message, and nothing else is in a program");
    auto device = dyn_cast<DeviceOp>(op);
    if (device && int64_t(device.getAt()) != count++) // program_c3
      return device.emitOpError() << "is at " << int64_t(device.getAt()) << ", expected " << count - 1;
  }
  if (count != getGrid().getSizes().front())
    return emitOpError() << "has " << count << " devices, its mesh " << getGrid().getSizes().front();
  return success();
}

ProgramOp DeviceOp::getProgram() { return cast<ProgramOp>((*this)->getParentOp()); }

LogicalResult DeviceOp::verify() {
  if (getArena().value_or(0) > uint64_t(ppc::limits::tensorElements)) // device_c3
    return emitOpError() << "has an arena of " << int64_t(*getArena()) << " bytes, expected 0 to "
                         << ppc::limits::tensorElements;
  int steps = 0, evaluations = 0;
  for (Operation &op : getBody().front()) {
    if (!isa<StreamOp, BufferOp, RoutineOp, StepOp, EvaluateOp>(op)) // device_c1
      return op.emitOpError(
          "is not allowed in a device: expected streams, buffers, routines, a step and an evaluation");
    steps += isa<StepOp>(op), evaluations += isa<EvaluateOp>(op);
    if (steps > 1 || evaluations > 1) // device_c2
      return op.emitOpError("is the second of its device");
  }
  return success();
}

template <typename OpTy> static OpTy lookup(DeviceOp device, StringAttr name) {
  for (auto op : device.getBody().front().getOps<OpTy>())
    if (op.getSymNameAttr() == name)
      return op;
  return {};
}
BufferOp DeviceOp::buffer(StringAttr name) { return lookup<BufferOp>(*this, name); }
RoutineOp DeviceOp::routine(StringAttr name) { return lookup<RoutineOp>(*this, name); }

RoutineOp DeviceOp::routine(RoutineKind kind, int64_t chunk) {
  for (auto routine : getBody().front().getOps<RoutineOp>())
    if (routine.getKind() == kind && int64_t(routine.getChunk()) == chunk)
      return routine;
  return {};
}

StepOp DeviceOp::getStep() {
  auto steps = getBody().front().getOps<StepOp>();
  return steps.empty() ? StepOp() : *steps.begin();
}
EvaluateOp DeviceOp::getEvaluate() {
  auto evaluations = getBody().front().getOps<EvaluateOp>();
  return evaluations.empty() ? EvaluateOp() : *evaluations.begin();
}

RankedTensorType BufferOp::getTensorType() {
  return RankedTensorType::get(getBufferType().getShape(), getBufferType().getElementType());
}
RankedTensorType BufferOp::getLogicalType() {
  return getLogical() ? cast<RankedTensorType>(*getLogical()) : getTensorType();
}
int64_t BufferOp::getBytes() {
  return getBufferType().getNumElements() * llvm::divideCeil(getBufferType().getElementTypeBitWidth(), 8);
}

int64_t BufferOp::slotOf(int64_t microBatch) {
  std::optional<ArrayRef<int64_t>> places = getPlaces();
  if (places && microBatch < int64_t(places->size()))
    return (*places)[microBatch];
  return microBatch % getSlotCount();
}

std::string BufferOp::describe() {
  std::string name = getName().value_or("").str(), role = stringifyBufferRole(getRole()).str();
  switch (getRole()) {
  case BufferRole::State:
    return getState().value_or("").str() + " of " + name;
  case BufferRole::Gradient:
    return "gradient of " + name;
  case BufferRole::Metric:
    return name;
  default:
    return name.empty() ? role : role + " " + name;
  }
}

int64_t DeviceOp::getHostBytes() {
  int64_t end = 0;
  for (auto buffer : getBody().front().getOps<BufferOp>())
    if (buffer.getMemory() == Memory::Host && buffer.getOffset())
      end =
          std::max(end, int64_t(*buffer.getOffset()) +
                            int64_t(buffer.getStride().value_or(0)) * (buffer.getSlotCount() - 1) + buffer.getBytes());
  return end;
}

// buffer_c7
static LogicalResult verifyPlaces(BufferOp buffer) {
  std::optional<ArrayRef<int64_t>> places = buffer.getPlaces();
  if (!places)
    return success();
  if (!buffer.hasSlots())
    return buffer.emitOpError("has slot indices but no slots");
  auto program = buffer->getParentOfType<ProgramOp>();
  if (program && int64_t(places->size()) != int64_t(program.getMicroBatches()))
    return buffer.emitOpError() << "has slot indices of " << places->size() << " micro-batches of "
                                << program.getMicroBatches();
  for (auto [microBatch, place] : llvm::enumerate(*places))
    if (place < 0 || place >= buffer.getSlotCount())
      return buffer.emitOpError() << "has micro-batch " << microBatch << " in slot " << place << " of "
                                  << buffer.getSlotCount();
  return success();
}

// buffer_c9: products of sizes fit in 64 bits
static LogicalResult verifyExtent(BufferOp buffer) {
  MemRefType type = buffer.getBufferType();
  if (!type.getElementType().isIntOrFloat())
    return buffer.emitOpError() << "is of " << type << ", expected integers or floats";
  constexpr int64_t most = ppc::limits::tensorElements;
  if (!ppc::isLegalShape(type.getShape(), /*mayBeEmpty=*/true) || buffer.getBytes() > most)
    return buffer.emitOpError() << "is of " << type << ", expected at most " << most << " bytes";
  if (int64_t slots = buffer.getSlotCount(); buffer.hasSlots() && (slots < 1 || slots > ppc::limits::globalBatch))
    return buffer.emitOpError() << "has " << slots << " slots, expected 1 to " << ppc::limits::globalBatch;
  for (auto [place, name] :
       {std::pair(buffer.getOffset(), "is at offset "), std::pair(buffer.getStride(), "has a stride of ")})
    if (place && (int64_t(*place) < 0 || int64_t(*place) > most)) // buffer_c4
      return buffer.emitOpError() << name << int64_t(*place) << ", expected 0 to " << most;
  return success();
}

LogicalResult BufferOp::verify() {
  if (failed(verifyExtent(*this)))
    return failure();
  BufferRole role = getRole();
  auto is = [&](std::initializer_list<BufferRole> roles) { return llvm::is_contained(roles, role); };
  StringRef roleName = stringifyBufferRole(role);
  if (is({BufferRole::Parameter, BufferRole::State, BufferRole::Gradient, BufferRole::Input, BufferRole::Scalar,
          BufferRole::Metric}) &&
      getName().value_or("").empty()) // buffer_c1
    return emitOpError() << "is a " << roleName << " without a name";
  if ((role == BufferRole::State) != getState().has_value())
    return emitOpError() << (role == BufferRole::State ? "does not say which state it is" : "is not optimizer state");
  if (is({BufferRole::Input, BufferRole::Saved, BufferRole::Message}) && !hasSlots()) // buffer_c2
    return emitOpError() << "is a " << roleName << " without slots";
  if (is({BufferRole::Parameter, BufferRole::State, BufferRole::Gradient, BufferRole::Accumulator, BufferRole::Scalar,
          BufferRole::Metric, BufferRole::Prepared}) &&
      hasSlots())
    return emitOpError() << "is a " << roleName << ", which has no slots";
  if (getInit() && role != BufferRole::Parameter) // buffer_c3
    return emitOpError() << "is a " << roleName << ", only parameters are initialised";
  if (getStride() && (!hasSlots() || int64_t(*getStride()) < getBytes()))
    return emitOpError() << "has a stride of " << int64_t(*getStride())
                         << (hasSlots() ? " bytes for slots of " + std::to_string(getBytes()) : " but no slots");
  if (ppc::ShardingAttr sharding = getShardingAttr()) { // buffer_c5
    RankedTensorType logical = getLogicalType();
    if (sharding.isPartial() || int64_t(sharding.getDims().size()) != logical.getRank())
      return emitOpError() << "has the sharding " << sharding << ", which does not fit " << logical;
    auto program = (*this)->getParentOfType<ProgramOp>();
    if (getLogical() && program && sharding.localType(logical, program.getDeviceGrid()) != getTensorType())
      return emitOpError() << "of " << getTensorType() << " is not a block of " << logical << " under " << sharding;
  }
  if (role == BufferRole::Scratch &&
      (getBufferType().getRank() != 1 || !getBufferType().getElementType().isInteger(8))) // buffer_c6
    return emitOpError() << "is scratch, which is bytes, found " << getBufferType();
  return verifyPlaces(*this);
}

bool ppcrt::isOfStep(RoutineKind kind) {
  return llvm::is_contained({RoutineKind::Prepare, RoutineKind::Update, RoutineKind::Evaluate}, kind);
}
bool RoutineOp::isOfStep() { return ppcrt::isOfStep(getKind()); }

DeviceOp RoutineOp::getDevice() { return cast<DeviceOp>((*this)->getParentOp()); }

SmallVector<FlatSymbolRefAttr> RoutineOp::getCallOrder() {
  auto order = llvm::to_vector(getReads().getAsRange<FlatSymbolRefAttr>());
  llvm::SmallDenseSet<Attribute> read(order.begin(), order.end());
  for (auto written : getWrites().getAsRange<FlatSymbolRefAttr>())
    if (!read.contains(written))
      order.push_back(written);
  if (FlatSymbolRefAttr scratch = getScratchAttr())
    order.push_back(scratch);
  return order;
}

std::optional<uint32_t> RoutineOp::getEarlyEntry(FlatSymbolRefAttr buffer) {
  for (auto [entry, buffers] : llvm::enumerate(getEarly() ? getEarlyAttr().getValue() : ArrayRef<Attribute>()))
    if (llvm::is_contained(cast<ArrayAttr>(buffers), buffer))
      return uint32_t(entry);
  return std::nullopt;
}

LogicalResult RoutineOp::verify() {
  if (int64_t(getChunk()) < 0) // routine_c1
    return emitOpError() << "is of chunk " << int64_t(getChunk());
  llvm::SmallDenseSet<Attribute> read, written;
  for (Attribute buffer : getReads())
    if (!read.insert(buffer).second)
      return emitOpError() << "reads " << buffer << " twice";
  for (Attribute buffer : getWrites())
    if (!written.insert(buffer).second) // routine_c2
      return emitOpError() << "writes " << buffer << " twice";
  llvm::SmallDenseSet<Attribute> finished;
  for (auto [entry, buffers] : llvm::enumerate(getEarly() ? getEarlyAttr().getValue() : ArrayRef<Attribute>())) {
    if (cast<ArrayAttr>(buffers).empty()) // routine_c6
      return emitOpError() << "has no buffer in entry " << entry << " of 'early'";
    for (Attribute buffer : cast<ArrayAttr>(buffers)) {
      bool isBound = read.contains(buffer) || written.contains(buffer);
      if (!isBound || !finished.insert(buffer).second)
        return emitOpError() << "has " << buffer << " in entry " << entry << " of 'early', "
                             << (isBound ? "where it was before" : "and neither reads nor writes it");
    }
  }
  return success();
}

// buffer_c8
static LogicalResult verifyShares(const ProgramSymbols &symbols, DeviceOp device, BufferOp buffer) {
  FlatSymbolRefAttr name = buffer.getSharesAttr();
  if (!name)
    return success();
  BufferOp other = symbols.buffer(device, name.getAttr());
  if (!other || other == buffer)
    return buffer.emitOpError() << "shares " << name << ", which is no other buffer of its device";
  auto error = [&] {
    InFlightDiagnostic error = buffer.emitOpError() << "shares " << name;
    error.attachNote(other.getLoc()) << "the other buffer";
    return error;
  };
  if (!buffer.getPlaces() || !other.getPlaces())
    return error() << ", but only one of them has slot indices";
  if (other.getShares())
    return error() << ", which shares another one itself";
  if (buffer.getSlotCount() != other.getSlotCount() || buffer.getBytes() != other.getBytes() ||
      (buffer.getMemory() == Memory::Host) != (other.getMemory() == Memory::Host))
    return error() << ", which has other slots";
  return success();
}

// All names of a program, once: looking each up by itself would read the device again for every buffer.
LogicalResult ProgramOp::verifyRegions() {
  ProgramSymbols symbols(*this);
  auto module = cast<ModuleOp>((*this)->getParentOp());
  mlir::SymbolTable functions(module);
  for (DeviceOp device : getDevices()) {
    for (auto buffer : device.getBody().front().getOps<BufferOp>())
      if (failed(verifyShares(symbols, device, buffer)))
        return failure();
    for (auto routine : device.getBody().front().getOps<RoutineOp>())
      if (failed(verifyRoutine(symbols, functions, routine)))
        return failure();
    for (Operation &sequence : device.getBody().front())
      if (isa<StepOp, EvaluateOp>(sequence) && failed(verifyActionNames(device, sequence, symbols, functions)))
        return failure();
  }
  DenseMap<Attribute, MessageOp> arrivals;
  for (auto message : getBody().front().getOps<MessageOp>()) {
    if (failed(verifyMessage(symbols, message)))
      return failure();
    auto [first, isNew] = arrivals.try_emplace(message.getTo(), message);
    if (!isNew) { // message_c3
      InFlightDiagnostic error = message.emitOpError()
                                 << "arrives in " << message.getTo() << ", as does another message";
      error.attachNote(first->second.getLoc()) << "this one";
      return error;
    }
  }
  return success();
}

LogicalResult ProgramOp::verifyRoutine(const ProgramSymbols &symbols, mlir::SymbolTable &functions, RoutineOp routine) {
  DeviceOp device = routine.getDevice();
  auto check = [&](FlatSymbolRefAttr name, bool isScratch) -> LogicalResult { // routine_c2
    BufferOp buffer = symbols.buffer(device, name.getAttr());
    if (!buffer)
      return routine.emitOpError() << "is bound to " << name << ", which is not a buffer of its device";
    if ((buffer.getRole() == BufferRole::Scratch) != isScratch)
      return routine.emitOpError() << (isScratch ? "has " : "is bound to ") << name
                                   << (isScratch ? " for scratch, which is none" : ", which is scratch");
    if (routine.isOfStep() && buffer.hasSlots()) // routine_c3
      return routine.emitOpError() << "is of the whole step and bound to " << name << ", which has slots";
    return success();
  };
  for (ArrayAttr list : {routine.getReads(), routine.getWrites()})
    for (auto name : list.getAsRange<FlatSymbolRefAttr>())
      if (failed(check(name, false)))
        return failure();
  if (FlatSymbolRefAttr scratch = routine.getScratchAttr(); scratch && failed(check(scratch, true)))
    return failure();
  if (!functions.lookup(routine.getCodeAttr().getAttr())) // routine_c4
    return routine.emitOpError() << "names code " << routine.getCodeAttr() << ", which is not in the module";
  return success();
}

LogicalResult ProgramOp::verifyMessage(const ProgramSymbols &symbols, MessageOp message) {
  BufferOp from = symbols.sent(message), to = symbols.received(message);
  if (!from || !to) // message_c1
    return message.emitOpError() << "goes " << (from ? "to " : "from ") << (from ? message.getTo() : message.getFrom())
                                 << ", which is not a buffer of a device";
  if (message.getSender() == message.getReceiver())
    return message.emitOpError("does not leave its device");
  if (from.getType() != to.getType()) {
    InFlightDiagnostic error = message.emitOpError()
                               << "is sent as " << from.getType() << " and received as " << to.getType();
    error.attachNote(to.getLoc()) << "received here";
    return error;
  }
  if (!from.hasSlots() || !to.hasSlots() || to.getRole() != BufferRole::Message)
    return message.emitOpError() << "needs buffers with slots, and one for messages where it arrives";
  auto check = [&](BufferOp buffer, FlatSymbolRefAttr name, bool writes) -> LogicalResult { // message_c2
    auto routine = symbols.routine(cast<DeviceOp>(buffer->getParentOp()), name.getAttr());
    if (!routine || routine.isOfStep())
      return message.emitOpError() << "goes with " << name << ", which is not a routine of micro-batches there";
    ArrayAttr list = writes ? routine.getWrites() : routine.getReads();
    if (!llvm::is_contained(list, FlatSymbolRefAttr::get(buffer.getSymNameAttr())))
      return message.emitOpError() << "goes with " << name << ", which does not " << (writes ? "write" : "read")
                                   << " its buffer";
    return success();
  };
  return failure(failed(check(from, message.getMadeAttr(), true)) || failed(check(to, message.getUsedAttr(), false)));
}
