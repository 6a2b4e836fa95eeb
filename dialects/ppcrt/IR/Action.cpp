// Actions: syntax of tokens, verification, accesses.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::ppcrt;

#include "dialects/ppcrt/IR/ActionInterface.cpp.inc"

/// All operands and results of an action besides its fields are tokens, so that their types need not be written.
/// One for each entry of a routine's `early`, and one: far more than any routine has, and few enough to be made.
static constexpr size_t kMostTokens = 1 << 16;

static ParseResult parseTokens(OpAsmParser &parser, ArrayRef<OpAsmParser::UnresolvedOperand> after,
                               SmallVectorImpl<Type> &afterTypes, SmallVectorImpl<Type> &tokenTypes) {
  Type token = TokenType::get(parser.getContext());
  if (parser.getNumResults() > kMostTokens)
    return parser.emitError(parser.getNameLoc())
           << "gives " << parser.getNumResults() << " tokens, more than " << kMostTokens;
  afterTypes.assign(after.size(), token);
  tokenTypes.assign(parser.getNumResults(), token);
  return success();
}
static void printTokens(OpAsmPrinter &, Operation *, OperandRange, TypeRange, TypeRange) {}

#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Action.cpp.inc"

static LogicalResult verifyActions(Operation *sequence, Block &actions) {
  for (Operation &op : actions)
    if (!isa<ActionOpInterface>(op)) // step_c1, evaluate_c1
      return op.emitOpError() << "is not an action: only actions are allowed in a " << sequence->getName();
  return success();
}

LogicalResult StepOp::verify() { return verifyActions(*this, getBody().front()); }

LogicalResult EvaluateOp::verify() {
  if (failed(verifyActions(*this, getBody().front())))
    return failure();
  auto device = cast<DeviceOp>((*this)->getParentOp());
  DenseMap<Attribute, BufferOp> kept; // by name
  for (auto buffer : device.getBody().front().getOps<BufferOp>())
    if (llvm::is_contained({BufferRole::Parameter, BufferRole::State}, buffer.getRole()))
      kept[FlatSymbolRefAttr::get(buffer.getSymNameAttr())] = buffer;
  DenseMap<Attribute, BufferOp> changed; // by routine: one that it writes
  for (auto routine : device.getBody().front().getOps<RoutineOp>())
    for (Attribute name : routine.getWrites())
      if (BufferOp buffer = kept.lookup(name))
        changed[FlatSymbolRefAttr::get(routine.getSymNameAttr())] = buffer;
  for (auto run : getBody().front().getOps<RunOp>())
    if (BufferOp buffer = changed.lookup(run.getRoutineAttr())) // evaluate_c2
      return run.emitOpError() << "writes " << buffer.describe() << " in an evaluation";
  return success();
}

static LogicalResult verifyMicroBatch(Operation *op, std::optional<int64_t> microBatch) {
  if (microBatch.value_or(0) < 0)
    return op->emitOpError() << "is for micro-batch " << *microBatch;
  return success();
}

LogicalResult LoadOp::verify() { return verifyMicroBatch(*this, getMicroBatch()); }    // load_c1
LogicalResult RunOp::verify() { return verifyMicroBatch(*this, getMicroBatch()); }     // run_c1
LogicalResult SendOp::verify() { return verifyMicroBatch(*this, getMicroBatch()); }    // send_c1
LogicalResult ReceiveOp::verify() { return verifyMicroBatch(*this, getMicroBatch()); } // receive_c1

LogicalResult ExchangeOp::verify() {
  if (getSentAttr() == getReceivedAttr()) // exchange_c2
    return emitOpError() << "sends and receives " << getSentAttr();
  return failure(failed(verifyMicroBatch(*this, getSentMicroBatch())) || // exchange_c1
                 failed(verifyMicroBatch(*this, getReceivedMicroBatch())));
}

LogicalResult CollectiveOp::verify() {
  bool reduces = llvm::is_contained({CollectiveKind::AllReduce, CollectiveKind::ReduceScatter}, getKind());
  if (reduces != getReduction().has_value()) // collective_c1
    return emitOpError() << (reduces ? "does not say how values are combined" : "combines nothing");
  size_t least = getKind() == CollectiveKind::RaggedAllToAll ? 2 : 1;
  if (getReads().size() != getWrites().size() || getReads().size() < least) // collective_c2
    return emitOpError() << "has " << getReads().size() << " buffers to read and " << getWrites().size() << " to write";
  if (llvm::is_contained({CollectiveKind::AllReduce, CollectiveKind::Permute}, getKind())) { // collective_c3
    auto device = (*this)->getParentOfType<DeviceOp>();
    for (auto [from, to] : llvm::zip_equal(getReads(), getWrites())) {
      BufferOp source = device.buffer(cast<FlatSymbolRefAttr>(from).getAttr());
      BufferOp target = device.buffer(cast<FlatSymbolRefAttr>(to).getAttr());
      if (source && target && source.getType() != target.getType())
        return emitOpError() << "is between " << source.getType() << " and " << target.getType();
    }
  }
  return verifyMicroBatch(*this, getMicroBatch()); // collective_c4
}

LogicalResult CopyOp::verify() {
  if (getFromAttr() == getToAttr()) // copy_c1
    return emitOpError() << "copies " << getFromAttr() << " to itself";
  return verifyMicroBatch(*this, getMicroBatch()); // copy_c2
}

LogicalResult CheckFiniteOp::verify() {
  if (getBuffers().empty()) // check_finite_c1
    return emitOpError("checks no buffer");
  return verifyMicroBatch(*this, getMicroBatch()); // check_finite_c2
}

namespace {
/// Collects accesses of one action; names that are not there are left out, for verifiers to find.
class AccessList {
public:
  AccessList(Operation *action, ProgramSymbols &symbols, SmallVectorImpl<Access> &accesses)
      : device(action->getParentOfType<DeviceOp>()), symbols(symbols), accesses(accesses) {}

  void add(BufferOp buffer, std::optional<int64_t> microBatch, bool isRead, bool isWrite) {
    if (!buffer)
      return;
    std::optional<int64_t> slot;
    if (buffer.hasSlots())
      slot = buffer.slotOf(microBatch.value_or(0));
    for (Access &known : accesses)
      if (known.buffer == buffer && known.slot == slot) {
        known.isRead |= isRead, known.isWrite |= isWrite;
        return;
      }
    accesses.push_back({buffer, slot, isRead, isWrite, std::nullopt});
  }
  void add(Attribute name, std::optional<int64_t> microBatch, bool isRead, bool isWrite) {
    add(symbols.buffer(device, cast<FlatSymbolRefAttr>(name).getAttr()), microBatch, isRead, isWrite);
  }

  DeviceOp device;
  ProgramSymbols &symbols;
  SmallVectorImpl<Access> &accesses;
};
} // namespace

void LoadOp::getAccesses(ProgramSymbols &symbols, SmallVectorImpl<Access> &accesses) {
  AccessList list(*this, symbols, accesses);
  for (auto buffer : list.device.getBody().front().getOps<BufferOp>())
    if (buffer.getRole() == BufferRole::Input)
      list.add(buffer, getMicroBatch(), false, true);
}

void RunOp::getAccesses(ProgramSymbols &symbols, SmallVectorImpl<Access> &accesses) {
  AccessList list(*this, symbols, accesses);
  RoutineOp routine = symbols.routine(list.device, getRoutineAttr().getAttr());
  if (!routine)
    return;
  llvm::SmallDenseMap<Attribute, size_t> places;
  auto bind = [&](Attribute name, bool isRead, bool isWrite) {
    if (auto known = places.find(name); known != places.end()) {
      accesses[known->second].isWrite |= isWrite;
      return;
    }
    BufferOp buffer = symbols.buffer(list.device, cast<FlatSymbolRefAttr>(name).getAttr());
    if (!buffer)
      return;
    std::optional<int64_t> slot;
    if (buffer.hasSlots())
      slot = buffer.slotOf(getMicroBatch().value_or(0));
    places[name] = accesses.size();
    accesses.push_back({buffer, slot, isRead, isWrite, std::nullopt});
  };
  for (Attribute name : routine.getReads())
    bind(name, true, routine.getKind() == RoutineKind::Update); // an update reduces gradients in place
  for (Attribute name : routine.getWrites())
    bind(name, false, true);
  if (FlatSymbolRefAttr scratch = routine.getScratchAttr())
    bind(scratch, false, true);
  if (ArrayAttr early = routine.getEarlyAttr(); early)
    for (auto [entry, buffers] : llvm::enumerate(early))
      for (Attribute name : cast<ArrayAttr>(buffers))
        if (auto known = places.find(name); known != places.end())
          accesses[known->second].early = entry;
}

void SendOp::getAccesses(ProgramSymbols &symbols, SmallVectorImpl<Access> &accesses) {
  if (MessageOp message = symbols.message(getMessageAttr().getAttr()))
    AccessList(*this, symbols, accesses).add(symbols.sent(message), getMicroBatch(), true, false);
}

void ReceiveOp::getAccesses(ProgramSymbols &symbols, SmallVectorImpl<Access> &accesses) {
  if (MessageOp message = symbols.message(getMessageAttr().getAttr()))
    AccessList(*this, symbols, accesses).add(symbols.received(message), getMicroBatch(), false, true);
}

void ExchangeOp::getAccesses(ProgramSymbols &symbols, SmallVectorImpl<Access> &accesses) {
  AccessList list(*this, symbols, accesses);
  if (MessageOp message = symbols.message(getSentAttr().getAttr()))
    list.add(symbols.sent(message), getSentMicroBatch(), true, false);
  if (MessageOp message = symbols.message(getReceivedAttr().getAttr()))
    list.add(symbols.received(message), getReceivedMicroBatch(), false, true);
}

void CollectiveOp::getAccesses(ProgramSymbols &symbols, SmallVectorImpl<Access> &accesses) {
  AccessList list(*this, symbols, accesses);
  for (Attribute name : getReads())
    list.add(name, getMicroBatch(), true, false);
  for (Attribute name : getWrites())
    list.add(name, getMicroBatch(), false, true);
}

void CopyOp::getAccesses(ProgramSymbols &symbols, SmallVectorImpl<Access> &accesses) {
  AccessList list(*this, symbols, accesses);
  list.add(getFromAttr(), getMicroBatch(), true, false);
  list.add(getToAttr(), getMicroBatch(), false, true);
}

void CheckFiniteOp::getAccesses(ProgramSymbols &symbols, SmallVectorImpl<Access> &accesses) {
  AccessList list(*this, symbols, accesses);
  for (Attribute name : getBuffers())
    list.add(name, getMicroBatch(), true, false);
}
