// Runs the program of a pipeline on the interpreter.
#include "StageExecutor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Interpreter/Collectives.h"

#include <limits>

namespace mlir::ppc::test {

using namespace ppcrt;

static ReferenceTensor poison(BufferOp buffer) {
  return ReferenceTensor(buffer.getTensorType().getShape(), std::numeric_limits<double>::quiet_NaN());
}

StageExecutor::StageExecutor(ModuleOp module) : module(module), program(findProgram(module)) {
  for (DeviceOp device : program.getDevices()) {
    Stage &stage = stages.emplace_back();
    stage.device = device;
    for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
      stage.buffers.push_back(buffer);
      stage.memory[buffer.getSymName().str()].resize(buffer.getSlotCount(), poison(buffer));
    }
    for (Operation &action : device.getStep().getBody().front())
      stage.actions.push_back(&action);
  }
}

static bool matches(BufferOp buffer, BufferRole role, StringRef name, StringRef state) {
  return buffer.getRole() == role && buffer.getName().value_or("") == name && buffer.getState().value_or("") == state;
}

int StageExecutor::set(BufferRole role, StringRef name, const ReferenceTensor &value, StringRef state) {
  int found = 0;
  for (Stage &stage : stages)
    for (BufferOp buffer : stage.buffers)
      if (matches(buffer, role, name, state)) {
        memory(stage, buffer.getSymName(), 0) = value;
        ++found;
      }
  return found;
}

SmallVector<ReferenceTensor> StageExecutor::get(BufferRole role, StringRef name, StringRef state) {
  SmallVector<ReferenceTensor> found;
  for (Stage &stage : stages)
    for (BufferOp buffer : stage.buffers)
      if (matches(buffer, role, name, state))
        found.push_back(memory(stage, buffer.getSymName(), 0));
  return found;
}

func::FuncOp StageExecutor::codeOf(RoutineOp routine) { return module.lookupSymbol<func::FuncOp>(routine.getCode()); }

ReferenceTensor &StageExecutor::memory(Stage &stage, StringRef buffer, int64_t microBatch) {
  BufferOp op = stage.device.buffer(StringAttr::get(module.getContext(), buffer));
  std::string owner = op.getShares().value_or(buffer).str();
  std::vector<ReferenceTensor> &slots = stage.memory.at(owner);
  size_t slot = op.hasSlots() ? op.slotOf(microBatch) : 0;
  std::pair<std::string, int64_t> self(buffer.str(), microBatch);
  if (op.hasSlots())
    if (auto [holder, isNew] = stage.holders.try_emplace({owner, slot}, self);
        isNew || std::exchange(holder->second, self) != self)
      slots[slot] = poison(op);
  return slots[slot];
}

void StageExecutor::load(Stage &stage, int64_t microBatch, const Inputs &inputs) {
  for (BufferOp buffer : stage.buffers)
    if (buffer.getRole() == BufferRole::Input)
      memory(stage, buffer.getSymName(), microBatch) =
          blockOf(inputs.at(buffer.getName()->str()), 0, microBatch, buffer.getTensorType().getDimSize(0));
}

RankValues StageExecutor::argumentsOf(Stage &stage, RoutineOp routine, int64_t microBatch) {
  RankValues arguments;
  for (auto name : routine.getReads().getAsRange<FlatSymbolRefAttr>())
    arguments.push_back(memory(stage, name.getValue(), microBatch));
  return arguments;
}

void StageExecutor::store(Stage &stage, RoutineOp routine, int64_t microBatch, const RankValues &results) {
  for (auto [name, value] : llvm::zip_equal(routine.getWrites().getAsRange<FlatSymbolRefAttr>(), results))
    memory(stage, name.getValue(), microBatch) = value;
}

bool StageExecutor::perform(Stage &stage, MessageOp message, bool isSend, int64_t microBatch, std::string &error) {
  std::pair<std::string, int64_t> key(message.getSymName().str(), microBatch);
  ReferenceTensor &buffer =
      memory(stage, (isSend ? message.getFrom() : message.getTo()).getLeafReference(), microBatch);
  if (isSend) {
    if (!messages.insert({key, buffer}).second)
      error = "a message is sent twice";
    return true;
  }
  auto found = messages.find(key);
  if (found == messages.end())
    return false;
  buffer = std::move(found->second);
  messages.erase(found);
  return true;
}

bool StageExecutor::perform(Stage &stage, const Inputs &inputs, std::string &error) {
  Operation *action = stage.actions[stage.next];
  bool done = true;
  if (auto load = dyn_cast<LoadOp>(action)) {
    this->load(stage, load.getMicroBatch(), inputs);
  } else if (auto run = dyn_cast<RunOp>(action)) {
    RoutineOp routine = stage.device.routine(run.getRoutineAttr().getAttr());
    if (routine.getKind() == RoutineKind::Update)
      return false; // that all run together
    int64_t microBatch = run.getMicroBatch() ? int64_t(*run.getMicroBatch()) : 0;
    FailureOr<RankValues> results = interpret(codeOf(routine), argumentsOf(stage, routine, microBatch));
    if (failed(results))
      error = "cannot interpret " + run.getRoutine().str();
    else
      store(stage, routine, microBatch, *results);
  } else if (auto send = dyn_cast<SendOp>(action)) {
    done = perform(stage, program.lookupSymbol<MessageOp>(send.getMessage()), true, send.getMicroBatch(), error);
  } else {
    auto receive = cast<ReceiveOp>(action);
    done = perform(stage, program.lookupSymbol<MessageOp>(receive.getMessage()), false, receive.getMicroBatch(), error);
  }
  stage.next += done;
  return done;
}

std::string StageExecutor::runStep(const Inputs &inputs) {
  for (Stage &stage : stages) {
    stage.next = 0;
    stage.holders.clear();
    for (BufferOp buffer : stage.buffers)
      if (buffer.isSum())
        memory(stage, buffer.getSymName(), 0) = ReferenceTensor(buffer.getTensorType().getShape());
  }
  std::string error;
  for (bool progress = true; progress;) {
    progress = false;
    for (Stage &stage : stages)
      while (error.empty() && stage.next < stage.actions.size() && perform(stage, inputs, error))
        progress = true;
    if (!error.empty())
      return error;
  }
  SmallVector<func::FuncOp> updates;
  SmallVector<RankValues> arguments;
  for (auto [index, stage] : llvm::enumerate(stages)) {
    if (stage.next + 1 != stage.actions.size())
      return "deadlock: device " + std::to_string(index) + " waits at action " + std::to_string(stage.next);
    RoutineOp update = stage.device.routine(RoutineKind::Update);
    updates.push_back(codeOf(update));
    arguments.push_back(argumentsOf(stage, update, 0));
  }
  if (!messages.empty())
    return "messages were sent and never received";
  FailureOr<SmallVector<RankValues>> results = interpretRanks(program.getGrid(), updates, arguments);
  if (failed(results))
    return "cannot interpret the updates";
  for (auto [stage, values] : llvm::zip_equal(stages, *results))
    store(stage, stage.device.routine(RoutineKind::Update), 0, values);
  return "";
}

} // namespace mlir::ppc::test
