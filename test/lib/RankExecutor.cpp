// One step of all devices on all ranks, on numbers.
#include "RankExecutor.h"
#include "TimedCollectives.h"
#include "ppc/Interpreter/Collectives.h"
#include "ppc/Interpreter/RankGrid.h"
#include "ppc/Interpreter/ShardedTensors.h"
#include <limits>

namespace mlir::ppc::test {

using namespace ppcrt;

static RankTensors filled(BufferOp buffer, int64_t ranks, double value) {
  return RankTensors(ranks, ReferenceTensor(buffer.getTensorType().getShape(), value));
}

static RankTensors cut(const ReferenceTensor &value, BufferOp buffer, GridAttr grid) {
  ShardingAttr sharding = buffer.getShardingAttr();
  return sharding ? cutTensor(value, sharding, grid) : RankTensors(grid.deviceCount(), value);
}

RankExecutor::RankExecutor(ModuleOp module, Arithmetic arithmetic)
    : module(module), arithmetic(arithmetic), program(findProgram(module)), grid(program.getDeviceGrid()) {
  for (DeviceOp device : program.getDevices()) {
    Stage &stage = stages.emplace_back();
    stage.device = device;
    for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
      stage.places[buffer.getSymName().str()] = stage.buffers.size();
      stage.buffers.push_back(buffer);
      stage.memory.emplace_back(buffer.getSlotCount());
      stage.holders.emplace_back(buffer.getSlotCount(), std::pair<int64_t, int64_t>(-1, -1));
    }
  }
}

RankTensors *RankExecutor::memory(Stage &stage, StringRef buffer, int64_t microBatch) {
  auto found = stage.places.find(buffer.str());
  if (found == stage.places.end())
    return nullptr;
  BufferOp op = stage.buffers[found->second];
  int64_t owner = op.getShares() ? stage.places.at(op.getShares()->str()) : found->second;
  std::vector<RankTensors> &slots = stage.memory[owner];
  size_t slot = slots.size() == 1 ? 0 : op.slotOf(microBatch);
  std::pair<int64_t, int64_t> self(found->second, microBatch);
  if (!op.hasSlots() || std::exchange(stage.holders[owner][slot], self) == self)
    return &slots[slot];
  // Ids of another micro-batch are wrong numbers; NaN is not an id.
  if (op.getRole() != BufferRole::Input || slots[slot].empty())
    slots[slot] = filled(op, grid.deviceCount(), std::numeric_limits<double>::quiet_NaN());
  return &slots[slot];
}

std::string RankExecutor::load(Stage &stage, int64_t microBatch, const NamedTensors &values) {
  for (BufferOp buffer : stage.buffers) {
    if (buffer.getRole() != BufferRole::Input)
      continue;
    const ReferenceTensor &whole = values.at(buffer.describe());
    int64_t count = program.getMicroBatches();
    *memory(stage, buffer.getSymName(), microBatch) =
        cut(blockOf(whole, 0, microBatch, whole.shape[0] / count), buffer, grid);
  }
  return "";
}

std::string RankExecutor::gather(Stage &stage, RoutineOp routine, int64_t microBatch,
                                 SmallVector<RankValues> &arguments) {
  arguments.assign(grid.deviceCount(), {});
  for (auto name : routine.getReads().getAsRange<FlatSymbolRefAttr>()) {
    RankTensors *tensors = memory(stage, name.getValue(), microBatch);
    if (!tensors)
      return "no such buffer";
    for (auto [list, tensor] : llvm::zip_equal(arguments, *tensors))
      list.push_back(tensor);
  }
  return "";
}

std::string RankExecutor::store(Stage &stage, RoutineOp routine, int64_t microBatch, ArrayRef<RankValues> results) {
  for (auto [i, name] : llvm::enumerate(routine.getWrites().getAsRange<FlatSymbolRefAttr>())) {
    RankTensors *tensors = memory(stage, name.getValue(), microBatch);
    if (!tensors)
      return "no such buffer";
    tensors->clear();
    for (const RankValues &values : results)
      tensors->push_back(values[i]);
  }
  return "";
}

std::string RankExecutor::runRoutine(Stage &stage, RunOp run) {
  RoutineOp routine = stage.device.routine(run.getRoutineAttr().getAttr());
  if (!routine)
    return "no such routine";
  int64_t microBatch = run.getMicroBatch() ? int64_t(*run.getMicroBatch()) : 0;
  SmallVector<RankValues> arguments;
  if (std::string error = gather(stage, routine, microBatch, arguments); !error.empty())
    return error;
  FailureOr<SmallVector<RankValues>> results =
      interpretRanks(grid, SmallVector<func::FuncOp>(grid.deviceCount(), codeOf(routine)), arguments, arithmetic);
  return failed(results) ? "cannot run " + run.getRoutine().str() : store(stage, routine, microBatch, *results);
}

std::string RankExecutor::runCollective(Stage &stage, CollectiveOp op) {
  auto group = module.lookupSymbol<GroupOp>(op.getGroup());
  if (!group || !group.getAxes() || group.getStages() || llvm::is_contained(axisNames(*group.getAxes()), "pp"))
    return "no group of ranks of a device";
  int64_t microBatch = op.getMicroBatch() ? int64_t(*op.getMicroBatch()) : 0;
  auto tensorsOf = [&](Attribute name) { return memory(stage, cast<FlatSymbolRefAttr>(name).getValue(), microBatch); };
  if (!llvm::all_of(op.getReads(), tensorsOf) || !llvm::all_of(op.getWrites(), tensorsOf))
    return "no such buffer";
  RankGrid ranks(grid);
  std::vector<RankValues> left(grid.deviceCount());
  for (int64_t rank = 0; rank < grid.deviceCount(); ++rank) {
    SmallVector<int64_t> members = ranks.group(rank, axisNames(*group.getAxes()));
    if (members.front() != rank)
      continue;
    SmallVector<RankValues> operands(members.size());
    for (auto [member, own] : llvm::zip_equal(members, operands))
      for (Attribute name : op.getReads())
        own.push_back((*tensorsOf(name))[member]);
    std::vector<RankValues> results(members.size());
    bool rounds = arithmetic == Arithmetic::Rounded;
    if (std::string error = evaluateBuckets(op.getKind(), op.getReduction(), operands, rounds, results); !error.empty())
      return error;
    for (auto [member, result] : llvm::zip_equal(members, results))
      left[member] = std::move(result);
  }
  for (auto [number, name] : llvm::enumerate(op.getWrites())) {
    RankTensors &tensors = *tensorsOf(name);
    auto type = stage.buffers[stage.places.at(cast<FlatSymbolRefAttr>(name).getValue().str())].getTensorType();
    tensors.clear();
    for (const RankValues &own : left) {
      ReferenceTensor tensor(type.getShape());
      if (own[number].size() != tensor.size())
        return "leaves a value of another size than its buffer";
      tensor.data = own[number].data;
      tensors.push_back(std::move(tensor));
    }
  }
  return "";
}

std::string RankExecutor::perform(size_t index, const NamedTensors &values, bool &waits) {
  Stage &stage = stages[index];
  Operation *action = stage.actions[stage.next];
  auto exists = [&](int64_t microBatch) { return microBatch >= 0 && microBatch < int64_t(program.getMicroBatches()); };
  if (auto run = dyn_cast<RunOp>(action))
    return exists(run.getMicroBatch().value_or(0)) ? runRoutine(stage, run) : "there is no such micro-batch";
  if (auto load = dyn_cast<LoadOp>(action))
    return exists(load.getMicroBatch()) ? this->load(stage, load.getMicroBatch(), values)
                                        : "there is no such micro-batch";
  if (auto collective = dyn_cast<CollectiveOp>(action))
    return exists(collective.getMicroBatch().value_or(0)) ? runCollective(stage, collective)
                                                          : "there is no such micro-batch";
  if (auto copy = dyn_cast<CopyOp>(action)) {
    int64_t microBatch = copy.getMicroBatch() ? int64_t(*copy.getMicroBatch()) : 0;
    RankTensors *from = memory(stage, copy.getFrom(), microBatch), *to = memory(stage, copy.getTo(), microBatch);
    if (!from || !to || !exists(microBatch))
      return "no such buffer";
    *to = *from;
    return "";
  }
  auto send = dyn_cast<SendOp>(action);
  auto receive = dyn_cast<ReceiveOp>(action);
  if (!send && !receive)
    return "no action that can be run";
  auto message = dyn_cast_or_null<MessageOp>(
      SymbolTable::lookupSymbolIn(program, send ? send.getMessage() : receive.getMessage()));
  int64_t microBatch = send ? send.getMicroBatch() : receive.getMicroBatch();
  if (!message || (send ? message.getSender() : message.getReceiver()) != stage.device.getSymNameAttr())
    return "no such message";
  if (!exists(microBatch))
    return "there is no such micro-batch";
  std::pair<std::string, int64_t> key(message.getSymName().str(), microBatch);
  SymbolRefAttr end = send ? message.getFrom() : message.getTo();
  RankTensors *buffer = memory(stage, end.getLeafReference(), microBatch);
  if (!buffer)
    return "no such buffer";
  if (send)
    return messages.insert({key, *buffer}).second ? "" : "a message is sent twice";
  auto found = messages.find(key);
  if (found == messages.end()) {
    waits = true;
    return "";
  }
  if (found->second.front().shape != buffer->front().shape)
    return "a message of another size";
  *buffer = std::move(found->second);
  messages.erase(found);
  return "";
}

std::string RankExecutor::finish(RoutineKind kind) {
  SmallVector<func::FuncOp> functions;
  SmallVector<RankValues> arguments;
  for (Stage &stage : stages) {
    SmallVector<RankValues> own;
    RoutineOp routine = stage.last;
    if (!routine)
      return "no " + stringifyRoutineKind(kind).str();
    if (std::string error = gather(stage, routine, 0, own); !error.empty())
      return error;
    functions.append(own.size(), codeOf(routine));
    arguments.append(own);
  }
  FailureOr<SmallVector<RankValues>> results = interpretRanks(program.getGrid(), functions, arguments, arithmetic);
  if (failed(results))
    return "cannot run " + stringifyRoutineKind(kind).str();
  for (auto [index, stage] : llvm::enumerate(stages)) {
    auto own = ArrayRef<RankValues>(*results).slice(index * grid.deviceCount(), grid.deviceCount());
    if (std::string error = store(stage, stage.last, 0, own); !error.empty())
      return error;
  }
  return "";
}

void RankExecutor::initialize(const NamedTensors &values) {
  for (Stage &stage : stages)
    for (BufferOp buffer : stage.buffers) {
      if (buffer.hasSlots())
        continue;
      RankTensors &tensors = *memory(stage, buffer.getSymName(), 0);
      if (llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Scalar}, buffer.getRole()))
        tensors = cut(values.at(buffer.describe()), buffer, grid);
      else
        tensors = filled(buffer, grid.deviceCount(), buffer.isSum() ? 0 : std::numeric_limits<double>::quiet_NaN());
    }
}

std::string RankExecutor::follow(const NamedTensors &values) {
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t index = 0; index < stages.size(); ++index)
      for (bool waits = false; stages[index].next < stages[index].actions.size();) {
        if (std::string error = perform(index, values, waits); !error.empty())
          return error;
        if (waits)
          break;
        ++stages[index].next;
        progress = true;
      }
  }
  for (Stage &stage : stages)
    if (stage.next < stage.actions.size())
      return "deadlock";
  return "";
}

std::string RankExecutor::execute(const NamedTensors &values, RoutineKind last) {
  for (Stage &stage : stages) {
    Block &block = last == RoutineKind::Update ? stage.device.getStep().getBody().front()
                                               : stage.device.getEvaluate().getBody().front();
    for (Operation &action : block) {
      auto run = dyn_cast<RunOp>(action);
      RoutineOp routine = run ? stage.device.routine(run.getRoutineAttr().getAttr()) : RoutineOp();
      if (!stage.last && routine && routine.getKind() == last) // the first of them all run together, at the end
        stage.last = routine;
      else
        (stage.last ? stage.behind : stage.actions).push_back(&action);
    }
  }
  initialize(values);
  if (std::string error = follow(values); !error.empty())
    return error;
  if (std::string error = finish(last); !error.empty())
    return error;
  for (Stage &stage : stages) {
    stage.actions = std::exchange(stage.behind, {});
    stage.next = 0;
  }
  return follow(values);
}

std::string RankExecutor::run(const NamedTensors &values) { return execute(values, RoutineKind::Update); }

std::string RankExecutor::evaluate(const NamedTensors &values) {
  if (llvm::any_of(stages, [](Stage &stage) { return !stage.device.getEvaluate(); }))
    return "";
  return execute(values, RoutineKind::Evaluate);
}

std::vector<std::vector<RankTensors>> RankExecutor::evaluation() const {
  std::vector<std::vector<RankTensors>> results;
  for (const Stage &stage : stages) {
    results.emplace_back();
    RoutineOp routine = DeviceOp(stage.device).routine(RoutineKind::Evaluate);
    for (Attribute name : routine ? routine.getWrites() : ArrayAttr::get(module->getContext(), {}))
      results.back().push_back(stage.memory[stage.places.at(cast<FlatSymbolRefAttr>(name).getValue().str())].front());
  }
  return results;
}

std::vector<std::vector<RankTensors>> RankExecutor::outputs() const {
  std::vector<std::vector<RankTensors>> outputs;
  for (const Stage &stage : stages) {
    outputs.emplace_back();
    for (auto [index, buffer] : llvm::enumerate(stage.buffers)) {
      bool isOutput =
          llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Gradient, BufferRole::Metric},
                             BufferOp(buffer).getRole());
      outputs.back().push_back(isOutput ? stage.memory[index].front() : RankTensors());
    }
  }
  return outputs;
}

} // namespace mlir::ppc::test
