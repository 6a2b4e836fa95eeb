// Turns the plan's schedule into the actions of each device.
#include "MessageLines.h"
#include "StageProgram.h"
#include "StepWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Scheduling/ScheduleVerifier.h"
#include "ppc/Transforms/Pipeline/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

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
  /// `chunks`: index on its device of each virtual stage of each slice and copy of the model.
  DeviceSchedule(DeviceOp device, ProgramOp program, ProgramSymbols &symbols, const MessageLines &messageLines,
                 const PipelineSchedule &schedule, ArrayRef<int64_t> chunks)
      : device(device), symbols(symbols), messageLines(messageLines), schedule(schedule), chunks(chunks),
        messages(llvm::to_vector(program.getBody().front().getOps<MessageOp>())) {}

  /// Gives each buffer with slots as many as the actions that use it need.
  void setSlots(ArrayRef<int64_t> slotsOfStages);
  void write(bool isEvaluation);

private:
  /// The name of the streams of a message on this device, without their direction.
  std::string lineOf(MessageOp message);
  RoutineOp routineOf(StringAttr device, FlatSymbolRefAttr routine) {
    return symbols.routine(symbols.device(device), routine.getAttr());
  }
  int64_t chunkOf(const PipelineAction &action) const { return chunks[schedule.slicedIndex(action)]; }
  RoutineOp routineOf(const PipelineAction &action) {
    return device.routine(routineKind(action.kind), chunkOf(action));
  }
  /// Whether a routine of this chunk reads an input.
  bool hasInputs(int64_t chunk);
  using Users = llvm::SmallSetVector<RoutineOp, 4>;
  /// The routines of micro-batches that use each buffer with slots.
  llvm::MapVector<BufferOp, Users> usersOfBuffers();
  /// The minimal number of slots of buffers that these routines use together, at least `atLeast`.
  int64_t leastSlotsOf(const Users &users, int64_t atLeast);
  /// All that run for micro-batches of these chunks.
  Users routinesOf(ArrayRef<int64_t> ofChunks);

  DeviceOp device;
  ProgramSymbols &symbols;
  const MessageLines &messageLines;
  const PipelineSchedule &schedule;
  ArrayRef<int64_t> chunks;
  SmallVector<MessageOp> messages;
};

std::string DeviceSchedule::lineOf(MessageOp message) {
  StringAttr peer = message.getSender() == device.getSymNameAttr() ? message.getReceiver() : message.getSender();
  return (Twine(symbols.device(peer).getAt()) + messageLines.nameOf(message)).str();
}

llvm::MapVector<BufferOp, DeviceSchedule::Users> DeviceSchedule::usersOfBuffers() {
  llvm::MapVector<BufferOp, Users> result;
  for (auto routine : device.getBody().front().getOps<RoutineOp>()) {
    if (routine.isOfStep())
      continue;
    for (ArrayAttr list : {routine.getReads(), routine.getWrites()})
      for (auto name : list.getAsRange<FlatSymbolRefAttr>())
        if (BufferOp buffer = symbols.buffer(device, name.getAttr()); buffer.hasSlots())
          result[buffer].insert(routine);
  }
  // Inputs are loaded together, before the first chunk that reads any.
  Users loaded;
  for (auto &[buffer, users] : result)
    if (BufferOp(buffer).getRole() == BufferRole::Input)
      loaded.insert_range(users);
  for (auto &[buffer, users] : result)
    if (BufferOp(buffer).getRole() == BufferRole::Input)
      users = loaded;
  return result;
}

DeviceSchedule::Users DeviceSchedule::routinesOf(ArrayRef<int64_t> ofChunks) {
  Users result;
  for (int64_t chunk : ofChunks)
    for (RoutineKind kind : {RoutineKind::Forward, RoutineKind::Backward, RoutineKind::WeightGradient})
      if (RoutineOp routine = device.routine(kind, chunk))
        result.insert(routine);
  return result;
}

int64_t DeviceSchedule::leastSlotsOf(const Users &users, int64_t atLeast) {
  std::vector<PipelineAction> own;
  llvm::copy_if(schedule.devices[device.getAt()], std::back_inserter(own), [&](const PipelineAction &action) {
    RoutineOp routine = routineOf(action);
    return routine && users.contains(routine);
  });
  return leastSlots(own, atLeast);
}

void DeviceSchedule::setSlots(ArrayRef<int64_t> slotsOfStages) {
  DenseMap<int64_t, int64_t> slotsOfChunk;
  for (const PipelineAction &action : schedule.devices[device.getAt()])
    slotsOfChunk[chunkOf(action)] = slotsOfStages[schedule.chunkIndex(action)];
  llvm::SmallPtrSet<Operation *, 16> travels;
  for (MessageOp message : messages)
    for (SymbolRefAttr end : {message.getFrom(), message.getTo()})
      if (end.getRootReference() == device.getSymNameAttr())
        travels.insert(symbols.buffer(device, end.getLeafReference()));
  std::map<std::vector<Operation *>, int64_t> known; // by users
  for (auto &[buffer, users] : usersOfBuffers()) {
    // If weight gradients run separately, values that only they and backward use are live for a part of the time
    // that a micro-batch is in flight, and so are values that belong to one of its slices. Messages wait for slots of
    // their stage, with which the schedule was verified.
    bool isShort = BufferOp(buffer).getRole() != BufferRole::Input && !travels.contains(buffer) &&
                   (schedule.sliceCount > 1 || llvm::all_of(users, [&](RoutineOp user) {
                      return device.routine(RoutineKind::WeightGradient, int64_t(user.getChunk()));
                    }));
    llvm::SmallSetVector<int64_t, 2> ofChunks;
    int64_t atLeast = 1;
    for (RoutineOp user : users)
      if (ofChunks.insert(int64_t(user.getChunk())) && !isShort)
        atLeast = std::max(atLeast, slotsOfChunk.lookup(user.getChunk()));
    if (!isShort && ofChunks.size() == 1) {
      BufferOp(buffer).setSlots(atLeast);
      continue;
    }
    Users together = isShort ? users : routinesOf(ofChunks.getArrayRef());
    std::vector<Operation *> key(together.begin(), together.end());
    llvm::sort(key);
    auto [slots, isNew] = known.try_emplace(key, 0);
    if (isNew)
      slots->second = leastSlotsOf(together, atLeast);
    BufferOp(buffer).setSlots(slots->second);
  }
}

bool DeviceSchedule::hasInputs(int64_t chunk) {
  return llvm::any_of(device.getBody().front().getOps<RoutineOp>(), [&](RoutineOp routine) {
    return !routine.isOfStep() && int64_t(routine.getChunk()) == chunk &&
           llvm::any_of(routine.getReads().getAsRange<FlatSymbolRefAttr>(), [&](FlatSymbolRefAttr name) {
             return symbols.buffer(device, name.getAttr()).getRole() == BufferRole::Input;
           });
  });
}

void DeviceSchedule::write(bool isEvaluation) {
  auto builder = OpBuilder::atBlockEnd(&device.getBody().front());
  Block &block = isEvaluation ? EvaluateOp::create(builder, device.getLoc()).getBody().emplaceBlock()
                              : StepOp::create(builder, device.getLoc()).getBody().emplaceBlock();
  StepWriter writer(device, symbols, block);
  if (RoutineOp prepare = device.routine(RoutineKind::Prepare))
    writer.run(prepare);
  StringAttr self = device.getSymNameAttr();
  DenseMap<int64_t, bool> loads; // by chunk
  DenseMap<Operation *, std::string> lines;
  for (MessageOp message : messages)
    if (message.getSender() == self || message.getReceiver() == self)
      lines[message] = lineOf(message);
  DenseSet<int64_t> loaded;
  // Values that only a backward uses are not sent in an evaluation.
  auto isMeant = [&](MessageOp message) {
    return !isEvaluation || routineOf(message.getReceiver(), message.getUsedAttr()).getKind() == RoutineKind::Forward;
  };
  for (const PipelineAction &action : schedule.devices[device.getAt()]) {
    RoutineOp routine = routineOf(action);
    if (!routine || (isEvaluation && routine.getKind() != RoutineKind::Forward))
      continue;
    int64_t chunk = routine.getChunk();
    auto [reads, isNew] = loads.try_emplace(chunk, false);
    if (isNew)
      reads->second = hasInputs(chunk);
    if (reads->second && loaded.insert(action.microBatch).second)
      writer.load(action.microBatch);
    auto own = FlatSymbolRefAttr::get(routine.getSymNameAttr());
    for (MessageOp message : messages)
      if (message.getReceiver() == self && message.getUsedAttr() == own && isMeant(message))
        writer.receive(message, action.microBatch, lines.lookup(message));
    writer.run(routine, action.microBatch);
    for (MessageOp message : messages)
      if (message.getSender() == self && message.getMadeAttr() == own && isMeant(message))
        writer.send(message, action.microBatch, lines.lookup(message));
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
    if (int64_t(devices.size()) != plan.getPipelineDevices())
      return fail("the program has " + Twine(devices.size()) + " devices, but the plan has " +
                  Twine(plan.getPipelineDevices()));
    llvm::Expected<PipelinePlacement> placement = PipelinePlacement::of(getOperation(), plan);
    if (!placement)
      return fail(llvm::toString(placement.takeError()));
    llvm::Expected<PipelineSchedule> schedule =
        makePipelineSchedule(plan.getSchedule().getValue(), {int64_t(devices.size()), int64_t(plan.getMicroBatches()),
                                                             plan.getVp(), placement->sliceCount()});
    if (!schedule)
      return fail(llvm::toString(schedule.takeError()));
    std::vector<int64_t> slots = slotsPerStage(*schedule);
    if (llvm::Error error = verifySchedule(*schedule, slots))
      return fail(llvm::toString(std::move(error)));

    SmallVector<int64_t> chunks;
    for (int64_t stage = 0; stage < placement->stageCount(); ++stage)
      chunks.push_back(placement->chunkOf(stage));
    bool evaluates = llvm::all_of(devices, [](DeviceOp device) { return bool(device.routine(RoutineKind::Evaluate)); });
    ProgramSymbols symbols(program);
    MessageLines messageLines(program, symbols, *schedule, chunks);
    for (DeviceOp device : devices) {
      if (device.getStep())
        return fail("device " + Twine(device.getAt()) + " has a step already");
      DeviceSchedule own(device, program, symbols, messageLines, *schedule, chunks);
      own.setSlots(slots);
      own.write(/*isEvaluation=*/false);
      if (evaluates)
        own.write(/*isEvaluation=*/true);
    }
  }
};

} // namespace
} // namespace mlir::ppc
