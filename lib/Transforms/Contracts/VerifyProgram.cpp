// ppc-verify-program: checks the programs of devices against each other.
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

/// Counts of an event, with the last op, by micro-batch.
using Counts = llvm::MapVector<Attribute, DenseMap<int64_t, Operation *>>;

class ProgramContract {
public:
  ProgramContract(ModuleOp module, ProgramOp program) : program(program), symbols(program), functions(module) {}

  LogicalResult verify();

private:
  LogicalResult verifyCode();
  LogicalResult verifyActions(DeviceOp device, Block &actions, bool isEvaluation);
  LogicalResult verifyAction(DeviceOp device, ActionOpInterface action, bool isEvaluation);
  LogicalResult countOnce(Counts &counts, Attribute what, int64_t microBatch, Operation *action);
  LogicalResult verifyMessages(bool isEvaluation);

  ProgramOp program;
  ProgramSymbols symbols;
  SymbolTable functions;
  Counts runs;            ///< counts for the device being checked
  Counts sends, receives; ///< counts for all devices
};

// C1
LogicalResult ProgramContract::verifyCode() {
  for (DeviceOp device : program.getDevices())
    for (auto routine : device.getBody().front().getOps<RoutineOp>())
      if (failed(ppcrt::verifyCode(routine, symbols, functions)))
        return failure();
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
                             << " what an earlier action did";
  error.attachNote(first->second->getLoc()) << "here";
  return error;
}

// C2, C3
LogicalResult ProgramContract::verifyAction(DeviceOp device, ActionOpInterface action, bool isEvaluation) {
  Operation *op = action;
  if (auto send = dyn_cast<SendOp>(op))
    return countOnce(sends, send.getMessageAttr(), send.getMicroBatch(), op);
  if (auto receive = dyn_cast<ReceiveOp>(op))
    return countOnce(receives, receive.getMessageAttr(), receive.getMicroBatch(), op);
  if (auto exchange = dyn_cast<ExchangeOp>(op))
    return failure(failed(countOnce(sends, exchange.getSentAttr(), exchange.getSentMicroBatch(), op)) ||
                   failed(countOnce(receives, exchange.getReceivedAttr(), exchange.getReceivedMicroBatch(), op)));
  auto run = dyn_cast<RunOp>(op);
  if (!run)
    return success();
  RoutineKind kind = symbols.routine(device, run.getRoutineAttr().getAttr()).getKind();
  if ((kind == RoutineKind::Evaluate) != isEvaluation &&
      llvm::is_contained({RoutineKind::Evaluate, RoutineKind::Update}, kind))
    return run.emitOpError() << "runs " << run.getRoutineAttr() << " in a step of the other kind";
  return countOnce(runs, run.getRoutineAttr(), run.getMicroBatch() ? int64_t(*run.getMicroBatch()) : -1, run);
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
