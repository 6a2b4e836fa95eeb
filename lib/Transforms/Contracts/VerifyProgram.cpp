// ppc-verify-program: what devices do, against each other.
#include "ProgramTime.h"
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_VERIFYPROGRAMPASS
#include "ppc/Transforms/Contracts/Passes.h.inc"

namespace {

using namespace ppcrt;

/// How often something was done, and where last, by micro-batch.
using Counts = llvm::MapVector<Attribute, DenseMap<int64_t, Operation *>>;

class ProgramContract {
public:
  ProgramContract(ModuleOp module, ProgramOp program) : program(program), symbols(program), functions(module) {}

  LogicalResult verify();

private:
  LogicalResult verifyCode();
  LogicalResult verifyActions(DeviceOp device, Block &actions, bool isEvaluation);
  LogicalResult verifyAction(DeviceOp device, ActionOpInterface action, bool isEvaluation);
  LogicalResult verifySizes(DeviceOp device, CollectiveOp collective, GroupOp group);
  LogicalResult countOnce(Counts &counts, Attribute what, int64_t microBatch, Operation *action);
  LogicalResult verifyMessages(bool isEvaluation);

  ProgramOp program;
  ProgramSymbols symbols;
  SymbolTable functions;
  Counts runs;            ///< of the device being looked at
  Counts sends, receives; ///< of all devices
};

// C1
LogicalResult ProgramContract::verifyCode() {
  for (DeviceOp device : program.getDevices())
    for (auto routine : device.getBody().front().getOps<RoutineOp>())
      if (failed(ppcrt::verifyCode(routine, symbols, functions)))
        return failure();
  return success();
}

/// How many ranks a set of a group has; 0 where an axis is not of the grid.
static int64_t ranksIn(GroupOp group, GridAttr grid) {
  if (auto sets = group.getRanks())
    return cast<DenseI64ArrayAttr>(sets->getValue().front()).size();
  int64_t ranks = 1;
  for (StringRef axis : axisNames(*group.getAxes())) {
    if (!grid.has(axis))
      return 0;
    ranks *= axis == "pp" && group.getStages() ? int64_t(group.getStages()->size()) : grid.size(axis);
  }
  return ranks;
}

// C2: blocks of all ranks are as large as what they make up.
LogicalResult ProgramContract::verifySizes(DeviceOp device, CollectiveOp collective, GroupOp group) {
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

// C3
LogicalResult ProgramContract::countOnce(Counts &counts, Attribute what, int64_t microBatch, Operation *action) {
  auto [first, isNew] = counts[what].try_emplace(microBatch, action);
  if (isNew)
    return success();
  InFlightDiagnostic error = action->emitOpError()
                             << "does for " << what
                             << (microBatch < 0 ? std::string() : " and micro-batch " + std::to_string(microBatch))
                             << " what was done before";
  error.attachNote(first->second->getLoc()) << "here";
  return error;
}

// C2
LogicalResult ProgramContract::verifyAction(DeviceOp device, ActionOpInterface action, bool isEvaluation) {
  if (!symbols.hasStream(device, action.getStreamAttr().getAttr()))
    return action->emitOpError() << "is put on " << action.getStreamAttr() << ", which is no stream of its device";
  for (Value token : action.getAfter())
    if (token.getParentBlock() != action->getBlock())
      return action->emitOpError("waits for a token of another step");
  auto within = [&](std::optional<int64_t> microBatch) -> LogicalResult {
    if (microBatch.value_or(0) >= int64_t(program.getMicroBatches()))
      return action->emitOpError() << "is for micro-batch " << *microBatch << " of " << program.getMicroBatches();
    return success();
  };
  auto end = [&](FlatSymbolRefAttr name, int64_t microBatch, bool isSent) -> LogicalResult {
    MessageOp message = symbols.message(name.getAttr());
    if (!message || (isSent ? message.getSender() : message.getReceiver()) != device.getSymNameAttr()) {
      InFlightDiagnostic error = action->emitOpError()
                                 << (isSent ? "sends " : "receives ") << name << ", which is no message "
                                 << (isSent ? "from" : "to") << " its device";
      if (message)
        error.attachNote(message.getLoc())
            << "it goes from @" << message.getSender().getValue() << " to @" << message.getReceiver().getValue();
      return error;
    }
    return failure(failed(within(microBatch)) ||
                   failed(countOnce(isSent ? sends : receives, name, microBatch, action)));
  };
  auto bound = [&](ArrayAttr names, std::optional<int64_t> microBatch) -> LogicalResult {
    for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
      BufferOp buffer = symbols.buffer(device, name.getAttr());
      if (!buffer)
        return action->emitOpError() << "works on " << name << ", which is no buffer of its device";
      if (buffer.hasSlots() && !microBatch) {
        InFlightDiagnostic error = action->emitOpError()
                                   << "works on " << name << ", which has slots, and says no micro-batch";
        error.attachNote(buffer.getLoc()) << "the buffer";
        return error;
      }
    }
    return within(microBatch);
  };
  Operation *op = action;
  if (auto load = dyn_cast<LoadOp>(op))
    return within(load.getMicroBatch());
  if (auto send = dyn_cast<SendOp>(op))
    return end(send.getMessageAttr(), send.getMicroBatch(), true);
  if (auto receive = dyn_cast<ReceiveOp>(op))
    return end(receive.getMessageAttr(), receive.getMicroBatch(), false);
  if (auto exchange = dyn_cast<ExchangeOp>(op))
    return failure(failed(end(exchange.getSentAttr(), exchange.getSentMicroBatch(), true)) ||
                   failed(end(exchange.getReceivedAttr(), exchange.getReceivedMicroBatch(), false)));
  if (auto collective = dyn_cast<CollectiveOp>(op)) {
    auto group = functions.lookup<GroupOp>(collective.getGroupAttr().getAttr());
    if (!group)
      return op->emitOpError() << "is of group " << collective.getGroupAttr() << ", which the module does not have";
    return failure(failed(bound(collective.getReads(), collective.getMicroBatch())) ||
                   failed(bound(collective.getWrites(), collective.getMicroBatch())) ||
                   failed(verifySizes(device, collective, group)));
  }
  if (auto copy = dyn_cast<CopyOp>(op))
    return bound(ArrayAttr::get(op->getContext(), {copy.getFromAttr(), copy.getToAttr()}), copy.getMicroBatch());
  if (auto check = dyn_cast<CheckFiniteOp>(op))
    return bound(check.getBuffers(), check.getMicroBatch());
  auto run = cast<RunOp>(op);
  RoutineOp routine = symbols.routine(device, run.getRoutineAttr().getAttr());
  if (!routine)
    return run.emitOpError() << "runs " << run.getRoutineAttr() << ", which is no routine of its device";
  if (routine.isOfStep() == run.getMicroBatch().has_value()) {
    InFlightDiagnostic error = run.emitOpError() << (routine.isOfStep() ? "gives a micro-batch to a routine of the step"
                                                                        : "says no micro-batch");
    error.attachNote(routine.getLoc()) << "the routine";
    return error;
  }
  if (run.getNumResults() > 1 && run.getNumResults() != routine.getEarlyCount() + 1) { // run_c3
    InFlightDiagnostic error = run.emitOpError() << "gives " << run.getNumResults() << " tokens, expected one, or "
                                                 << routine.getEarlyCount() << " early ones and the last";
    error.attachNote(routine.getLoc()) << "the routine";
    return error;
  }
  if ((routine.getKind() == RoutineKind::Evaluate) != isEvaluation &&
      llvm::is_contained({RoutineKind::Evaluate, RoutineKind::Update}, routine.getKind()))
    return run.emitOpError() << "runs " << run.getRoutineAttr() << " in a step of the other kind";
  return failure(
      failed(within(run.getMicroBatch())) ||
      failed(countOnce(runs, run.getRoutineAttr(), run.getMicroBatch() ? int64_t(*run.getMicroBatch()) : -1, run)));
}

LogicalResult ProgramContract::verifyActions(DeviceOp device, Block &actions, bool isEvaluation) {
  runs.clear();
  for (Operation &action : actions)
    if (failed(verifyAction(device, cast<ActionOpInterface>(action), isEvaluation)))
      return failure();
  // C3: several routines may share the micro-batches of a kind and chunk; of the whole step each runs once.
  struct Done {
    RoutineOp first;
    int64_t runs = 0, routines = 0;
  };
  std::map<std::pair<RoutineKind, int64_t>, Done> done;
  for (auto routine : device.getBody().front().getOps<RoutineOp>()) {
    bool isMeant = isEvaluation ? llvm::is_contained({RoutineKind::Forward, RoutineKind::Evaluate}, routine.getKind())
                                : routine.getKind() != RoutineKind::Evaluate;
    if (!isMeant)
      continue;
    auto &[first, count, routines] =
        done.try_emplace({routine.getKind(), routine.getChunk()}, Done{routine}).first->second;
    ++routines;
    count += runs.lookup(FlatSymbolRefAttr::get(routine.getSymNameAttr())).size();
  }
  for (auto &[kind, total] : done) {
    int64_t expected = isOfStep(kind.first) ? total.routines : int64_t(program.getMicroBatches() / program.getCopies());
    if (total.runs == expected)
      continue;
    return total.first.emitOpError() << "is run " << total.runs << " times in "
                                     << (isEvaluation ? "an evaluation" : "a step") << ", expected " << expected;
  }
  return success();
}

// C4
LogicalResult ProgramContract::verifyMessages(bool isEvaluation) {
  for (auto message : program.getBody().front().getOps<MessageOp>()) {
    auto name = FlatSymbolRefAttr::get(message.getSymNameAttr());
    auto sent = sends.lookup(name), received = receives.lookup(name);
    for (auto [own, other, what] : {std::tuple(&sent, &received, "sent and never received"),
                                    std::tuple(&received, &sent, "received and never sent")})
      for (auto [microBatch, action] : *own)
        if (!other->count(microBatch)) {
          InFlightDiagnostic error = action->emitOpError() << "is for a message that is " << what;
          error.attachNote(message.getLoc()) << "the message, of micro-batch " << microBatch;
          return error;
        }
    if (int64_t expected = program.getMicroBatches() / program.getCopies();
        !isEvaluation && int64_t(sent.size()) != expected)
      return message.emitOpError() << "is sent for " << sent.size() << " of " << expected << " micro-batches";
  }
  return success();
}

LogicalResult ProgramContract::verify() {
  if (failed(verifyCode()))
    return failure();
  for (bool isEvaluation : {false, true}) {
    sends.clear();
    receives.clear();
    for (DeviceOp device : program.getDevices()) {
      if (!device.getStep())
        return device.emitOpError("has no step: run ppc-apply-schedule first");
      if (isEvaluation && !device.getEvaluate())
        continue;
      Block &actions = isEvaluation ? device.getEvaluate().getBody().front() : device.getStep().getBody().front();
      if (failed(verifyActions(device, actions, isEvaluation)))
        return failure();
    }
    if (failed(verifyMessages(isEvaluation)) || failed(verifyTime(program, symbols, isEvaluation))) // C5 to C7
      return failure();
  }
  return success();
}

struct VerifyProgramPass : impl::VerifyProgramPassBase<VerifyProgramPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    ProgramOp program = requireProgram(getOperation());
    if (!program)
      return signalPassFailure();
    if (failed(ProgramContract(getOperation(), program).verify()))
      signalPassFailure();
  }
};

} // namespace
} // namespace mlir::ppc
