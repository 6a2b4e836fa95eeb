// Turns the plan's schedule into the actions of each device.
#include "StepWriter.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Scheduling/ScheduleVerifier.h"
#include "ppc/Transforms/Pipeline/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_APPLYSCHEDULEPASS
#include "ppc/Transforms/Pipeline/Passes.h.inc"

namespace {

using namespace ppcrt;

RoutineKind routineKind(PipelineActionKind kind) {
  switch (kind) {
  case PipelineActionKind::Forward:
    return RoutineKind::Forward;
  case PipelineActionKind::Backward:
    return RoutineKind::Backward;
  case PipelineActionKind::WeightGradient:
    return RoutineKind::WeightGradient;
  }
  llvm_unreachable("every kind of action has its routine");
}

/// Writes the step and the evaluation of one device.
class DeviceSchedule {
public:
  DeviceSchedule(DeviceOp device, ProgramOp program, ProgramSymbols &symbols)
      : device(device), symbols(symbols), messages(llvm::to_vector(program.getBody().front().getOps<MessageOp>())) {}

  void write(ArrayRef<PipelineAction> actions, bool isEvaluation);

private:
  int64_t place(StringAttr name) { return int64_t(symbols.device(name).getAt()); }
  RoutineKind kindOf(StringAttr device, FlatSymbolRefAttr routine) {
    return symbols.routine(symbols.device(device), routine.getAttr()).getKind();
  }

  DeviceOp device;
  ProgramSymbols &symbols;
  SmallVector<MessageOp> messages;
};

void DeviceSchedule::write(ArrayRef<PipelineAction> actions, bool isEvaluation) {
  auto builder = OpBuilder::atBlockEnd(&device.getBody().front());
  Block &block = isEvaluation ? EvaluateOp::create(builder, device.getLoc()).getBody().emplaceBlock()
                              : StepOp::create(builder, device.getLoc()).getBody().emplaceBlock();
  StepWriter writer(device, symbols, block);
  if (RoutineOp prepare = device.routine(RoutineKind::Prepare))
    writer.run(prepare);
  StringAttr self = device.getSymNameAttr();
  DenseSet<int64_t> begun;
  for (const PipelineAction &action : actions) {
    RoutineKind kind = routineKind(action.kind);
    if (isEvaluation && kind != RoutineKind::Forward)
      continue;
    // What only a backward uses is not sent where there is none.
    auto isMeant = [&](MessageOp message) {
      return !isEvaluation || kindOf(message.getReceiver(), message.getUsedAttr()) == RoutineKind::Forward;
    };
    if (begun.insert(action.microBatch).second)
      writer.load(action.microBatch);
    for (MessageOp message : messages)
      if (message.getReceiver() == self && kindOf(self, message.getUsedAttr()) == kind && isMeant(message))
        writer.receive(message, action.microBatch, place(message.getSender()));
    if (RoutineOp routine = device.routine(kind))
      writer.run(routine, action.microBatch);
    for (MessageOp message : messages)
      if (message.getSender() == self && kindOf(self, message.getMadeAttr()) == kind && isMeant(message))
        writer.send(message, action.microBatch, place(message.getReceiver()));
  }
  if (RoutineOp last = device.routine(isEvaluation ? RoutineKind::Evaluate : RoutineKind::Update))
    writer.run(last);
}

struct ApplySchedulePass : impl::ApplySchedulePassBase<ApplySchedulePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
    ProgramOp program = findProgram(module);
    auto fail = [&](const Twine &message) {
      module.emitError() << message;
      signalPassFailure();
    };
    if (!plan || !program)
      return fail("expected a module with ppc.plan and a ppcrt.program: run ppc-split-stages first");
    SmallVector<DeviceOp> devices = program.getDevices();
    if (devices.size() != plan.getStages().size())
      return fail("the program has " + Twine(devices.size()) + " devices, but the plan has " +
                  Twine(plan.getStages().size()) + " stages");
    llvm::Expected<PipelineSchedule> schedule =
        makePipelineSchedule(plan.getSchedule().getValue(), devices.size(), plan.getMicroBatches());
    if (!schedule)
      return fail(llvm::toString(schedule.takeError()));
    std::vector<int64_t> slots = slotsPerStage(*schedule);
    if (llvm::Error error = verifySchedule(*schedule, slots))
      return fail(llvm::toString(std::move(error)));

    for (auto [device, count] : llvm::zip_equal(devices, slots))
      for (auto buffer : device.getBody().front().getOps<BufferOp>())
        if (buffer.hasSlots())
          buffer.setSlots(count);
    bool evaluates = llvm::all_of(devices, [](DeviceOp device) { return bool(device.routine(RoutineKind::Evaluate)); });
    ProgramSymbols symbols(program);
    for (auto [device, actions] : llvm::zip_equal(devices, schedule->devices)) {
      if (device.getStep())
        return fail("device " + Twine(device.getAt()) + " has a step already");
      DeviceSchedule own(device, program, symbols);
      own.write(actions, /*isEvaluation=*/false);
      if (evaluates)
        own.write(actions, /*isEvaluation=*/true);
    }
  }
};

} // namespace
} // namespace mlir::ppc
