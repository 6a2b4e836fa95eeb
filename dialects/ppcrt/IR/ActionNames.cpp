// Checks that the names and micro-batches of actions exist (program_c6), so that passes may look them up.
#include "ActionNames.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::ppcrt;

namespace {
/// The actions of one step or evaluation of a device.
class ActionNames {
public:
  ActionNames(ProgramOp program, DeviceOp device, const ProgramSymbols &symbols, const mlir::SymbolTable &module)
      : program(program), device(device), symbols(symbols), module(module) {}

  LogicalResult verify(ActionOpInterface action);

private:
  LogicalResult verifyKind(Operation *action);
  LogicalResult verifyRun(RunOp run);
  LogicalResult verifyCollective(CollectiveOp collective);
  LogicalResult within(Operation *action, std::optional<int64_t> microBatch);
  LogicalResult end(Operation *action, FlatSymbolRefAttr name, int64_t microBatch, bool isSent);
  LogicalResult bound(Operation *action, ArrayAttr names, std::optional<int64_t> microBatch);

  ProgramOp program;
  DeviceOp device;
  const ProgramSymbols &symbols;
  const mlir::SymbolTable &module;
};
} // namespace

LogicalResult ActionNames::within(Operation *action, std::optional<int64_t> microBatch) {
  if (microBatch.value_or(0) >= int64_t(program.getMicroBatches()))
    return action->emitOpError() << "is for micro-batch " << *microBatch << " of " << program.getMicroBatches();
  return success();
}

LogicalResult ActionNames::end(Operation *action, FlatSymbolRefAttr name, int64_t microBatch, bool isSent) {
  MessageOp message = symbols.message(name.getAttr());
  if (message && (isSent ? message.getSender() : message.getReceiver()) == device.getSymNameAttr())
    return within(action, microBatch);
  InFlightDiagnostic error = action->emitOpError()
                             << (isSent ? "sends " : "receives ") << name << ", which is not a message "
                             << (isSent ? "from" : "to") << " its device";
  if (message)
    error.attachNote(message.getLoc()) << "it goes from @" << message.getSender().getValue() << " to @"
                                       << message.getReceiver().getValue();
  return error;
}

LogicalResult ActionNames::bound(Operation *action, ArrayAttr names, std::optional<int64_t> microBatch) {
  for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
    BufferOp buffer = symbols.buffer(device, name.getAttr());
    if (!buffer)
      return action->emitOpError() << "works on " << name << ", which is not a buffer of its device";
    if (buffer.hasSlots() && !microBatch) {
      InFlightDiagnostic error = action->emitOpError()
                                 << "works on " << name << ", which has slots, without a micro-batch";
      error.attachNote(buffer.getLoc()) << "the buffer";
      return error;
    }
  }
  return within(action, microBatch);
}

/// Number of ranks in a set of a group; 0 if an axis is not an axis of the mesh.
static int64_t ranksIn(GroupOp group, ppc::GridAttr grid) {
  if (auto sets = group.getRanks())
    return cast<DenseI64ArrayAttr>(sets->getValue().front()).size();
  int64_t ranks = 1;
  for (StringRef axis : ppc::axisNames(*group.getAxes())) {
    if (!grid.has(axis))
      return 0;
    ranks *= axis == "pp" && group.getStages() ? int64_t(group.getStages()->size()) : grid.size(axis);
  }
  return ranks;
}

/// Checks that the blocks of all ranks together are as large as the full buffer.
LogicalResult ActionNames::verifyCollective(CollectiveOp collective) {
  auto group = module.lookup<GroupOp>(collective.getGroupAttr().getAttr());
  if (!group)
    return collective.emitOpError() << "is of group " << collective.getGroupAttr()
                                    << ", which the module does not have";
  if (failed(bound(collective, collective.getReads(), collective.getMicroBatch())) ||
      failed(bound(collective, collective.getWrites(), collective.getMicroBatch())))
    return failure();
  int64_t ranks = ranksIn(group, program.getGrid());
  for (auto [from, to] : llvm::zip_equal(collective.getReads(), collective.getWrites())) {
    BufferOp source = symbols.buffer(device, cast<FlatSymbolRefAttr>(from).getAttr());
    BufferOp target = symbols.buffer(device, cast<FlatSymbolRefAttr>(to).getAttr());
    int64_t read = source.getBufferType().getNumElements(), written = target.getBufferType().getNumElements();
    CollectiveKind kind = collective.getKind();
    bool fits = kind == CollectiveKind::AllGather       ? written == ranks * read
                : kind == CollectiveKind::ReduceScatter ? read == ranks * written
                : kind == CollectiveKind::AllToAll      ? read == written && ranks && read % ranks == 0
                                                        : true;
    if (ranks && fits)
      continue;
    InFlightDiagnostic error = collective.emitOpError()
                               << "is over sets of " << ranks << " ranks, reads " << read << " elements of " << from
                               << " and writes " << written << " of " << to;
    error.attachNote(group.getLoc()) << "the group";
    return error;
  }
  return success();
}

LogicalResult ActionNames::verifyRun(RunOp run) {
  RoutineOp routine = symbols.routine(device, run.getRoutineAttr().getAttr());
  if (!routine)
    return run.emitOpError() << "runs " << run.getRoutineAttr() << ", which is not a routine of its device";
  if (routine.isOfStep() == run.getMicroBatch().has_value()) { // run_c2
    InFlightDiagnostic error = run.emitOpError() << (routine.isOfStep() ? "gives a micro-batch to a routine of the step"
                                                                        : "has no micro-batch");
    error.attachNote(routine.getLoc()) << "the routine";
    return error;
  }
  if (run.getNumResults() > 1 && run.getNumResults() != routine.getEarlyCount() + 1) { // run_c3
    InFlightDiagnostic error = run.emitOpError() << "gives " << run.getNumResults() << " tokens, expected one, or "
                                                 << routine.getEarlyCount() << " early ones and the last";
    error.attachNote(routine.getLoc()) << "the routine";
    return error;
  }
  return within(run, run.getMicroBatch());
}

LogicalResult ActionNames::verifyKind(Operation *action) {
  if (auto load = dyn_cast<LoadOp>(action))
    return within(load, load.getMicroBatch());
  if (auto send = dyn_cast<SendOp>(action))
    return end(send, send.getMessageAttr(), send.getMicroBatch(), true);
  if (auto receive = dyn_cast<ReceiveOp>(action))
    return end(receive, receive.getMessageAttr(), receive.getMicroBatch(), false);
  if (auto exchange = dyn_cast<ExchangeOp>(action))
    return failure(failed(end(exchange, exchange.getSentAttr(), exchange.getSentMicroBatch(), true)) ||
                   failed(end(exchange, exchange.getReceivedAttr(), exchange.getReceivedMicroBatch(), false)));
  if (auto collective = dyn_cast<CollectiveOp>(action))
    return verifyCollective(collective);
  if (auto copy = dyn_cast<CopyOp>(action))
    return bound(copy, ArrayAttr::get(copy.getContext(), {copy.getFromAttr(), copy.getToAttr()}), copy.getMicroBatch());
  if (auto check = dyn_cast<CheckFiniteOp>(action))
    return bound(check, check.getBuffers(), check.getMicroBatch());
  return verifyRun(cast<RunOp>(action));
}

LogicalResult ActionNames::verify(ActionOpInterface action) {
  if (!symbols.hasStream(device, action.getStreamAttr().getAttr()))
    return action->emitOpError() << "is put on " << action.getStreamAttr() << ", which is not a stream of its device";
  for (Value token : action.getAfter())
    if (token.getParentBlock() != action->getBlock())
      return action->emitOpError("waits for a token of another step");
  return verifyKind(action);
}

LogicalResult ppcrt::verifyActionNames(DeviceOp device, Operation &sequence, const ProgramSymbols &symbols,
                                       const mlir::SymbolTable &module) {
  ActionNames names(device.getProgram(), device, symbols, module);
  for (Operation &action : sequence.getRegion(0).front())
    if (failed(names.verify(cast<ActionOpInterface>(action))))
      return failure();
  return success();
}
