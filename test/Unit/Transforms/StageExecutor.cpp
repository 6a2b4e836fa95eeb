// Runs the stage programs of a pipeline on the interpreter.
#include "StageExecutor.h"

#include "mlir/IR/SymbolTable.h"
#include "ppc/Interpreter/Collectives.h"

#include <limits>

namespace mlir::ppc::test {

static ReferenceTensor poison(DictionaryAttr buffer) {
  auto type = cast<RankedTensorType>(buffer.getAs<TypeAttr>("type").getValue());
  return ReferenceTensor(type.getShape(), std::numeric_limits<double>::quiet_NaN());
}

static bool isInSlot(DictionaryAttr buffer) { return buffer.getAs<StringAttr>("space") == "slot"; }
static StringRef text(DictionaryAttr fields, StringRef key) {
  auto value = fields.getAs<StringAttr>(key);
  return value ? value.getValue() : "";
}
static int64_t number(DictionaryAttr fields, StringRef key) { return fields.getAs<IntegerAttr>(key).getInt(); }

StageExecutor::StageExecutor(ModuleOp module) : module(module) {
  for (auto fields : module->getAttrOfType<ArrayAttr>("ppc.stages").getAsRange<DictionaryAttr>()) {
    Stage &stage = stages.emplace_back();
    stage.buffers = llvm::to_vector(fields.getAs<ArrayAttr>("buffers").getAsRange<DictionaryAttr>());
    stage.actions = llvm::to_vector(fields.getAs<ArrayAttr>("actions").getAsRange<DictionaryAttr>());
    for (DictionaryAttr buffer : stage.buffers)
      stage.arena.push_back(isInSlot(buffer) ? ReferenceTensor() : poison(buffer));
    stage.slots.resize(number(fields, "slots"), std::vector<ReferenceTensor>(stage.buffers.size()));
    for (NamedAttribute entry : fields.getAs<DictionaryAttr>("functions")) {
      auto function = cast<DictionaryAttr>(entry.getValue());
      stage.functions[entry.getName().str()] = {module.lookupSymbol<func::FuncOp>(text(function, "entry")),
                                                SmallVector<int64_t>(function.getAs<DenseI64ArrayAttr>("buffers").asArrayRef())};
    }
  }
}

bool StageExecutor::matches(DictionaryAttr buffer, StringRef role, StringRef name, StringRef state) {
  return text(buffer, "role") == role && text(buffer, "name") == name && text(buffer, "state") == state;
}

int StageExecutor::set(StringRef role, StringRef name, const ReferenceTensor &value, StringRef state) {
  int found = 0;
  for (Stage &stage : stages)
    for (auto [index, buffer] : llvm::enumerate(stage.buffers))
      if (matches(buffer, role, name, state)) {
        stage.arena[index] = value;
        ++found;
      }
  return found;
}

SmallVector<ReferenceTensor> StageExecutor::get(StringRef role, StringRef name, StringRef state) {
  SmallVector<ReferenceTensor> found;
  for (Stage &stage : stages)
    for (auto [index, buffer] : llvm::enumerate(stage.buffers))
      if (matches(buffer, role, name, state))
        found.push_back(stage.arena[index]);
  return found;
}

ReferenceTensor &StageExecutor::memory(Stage &stage, int64_t buffer, int64_t microBatch) {
  return isInSlot(stage.buffers[buffer]) ? stage.slots[microBatch % stage.slots.size()][buffer] : stage.arena[buffer];
}

void StageExecutor::beginMicroBatch(Stage &stage, int64_t microBatch, const std::map<std::string, ReferenceTensor> &inputs) {
  for (auto [index, buffer] : llvm::enumerate(stage.buffers)) {
    if (!isInSlot(buffer))
      continue;
    ReferenceTensor value = poison(buffer);
    if (text(buffer, "role") == "input")
      value = blockOf(inputs.at(text(buffer, "name").str()), 0, microBatch, value.shape[0]);
    memory(stage, index, microBatch) = value;
  }
}

RankValues StageExecutor::argumentsOf(Stage &stage, const Function &function, int64_t microBatch) {
  RankValues arguments;
  for (int64_t buffer : ArrayRef(function.buffers).take_front(func::FuncOp(function.op).getNumArguments()))
    arguments.push_back(memory(stage, buffer, microBatch));
  return arguments;
}

void StageExecutor::store(Stage &stage, const Function &function, int64_t microBatch, const RankValues &results) {
  func::FuncOp op = function.op;
  for (auto [index, value] : llvm::enumerate(results))
    memory(stage, op.getResultAttrOfType<IntegerAttr>(index, "ppc.buffer").getInt(), microBatch) = value;
}

bool StageExecutor::perform(int64_t number, std::string &error) {
  Stage &stage = stages[number];
  DictionaryAttr action = stage.actions[stage.next];
  int64_t microBatch = test::number(action, "micro_batch");
  StringRef what = text(action, "do");
  if (what == "send" || what == "receive") {
    int64_t peer = test::number(action, "stage"), tag = test::number(action, "tag");
    ReferenceTensor &buffer = memory(stage, test::number(action, "buffer"), microBatch);
    if (what == "send") {
      if (!messages.insert({{number, peer, tag, microBatch}, buffer}).second)
        error = "the same message is sent twice";
    } else {
      auto message = messages.find({peer, number, tag, microBatch});
      if (message == messages.end())
        return false;
      buffer = std::move(message->second);
      messages.erase(message);
    }
  } else {
    const Function &function = stage.functions.at(what.str());
    FailureOr<RankValues> results = interpret(function.op, argumentsOf(stage, function, microBatch));
    if (failed(results)) {
      error = "cannot interpret " + what.str();
      return false;
    }
    store(stage, function, microBatch, *results);
  }
  ++stage.next;
  return true;
}

std::string StageExecutor::runStep(const std::map<std::string, ReferenceTensor> &inputs) {
  for (Stage &stage : stages) {
    stage.next = 0;
    stage.begun.clear();
    for (auto [index, buffer] : llvm::enumerate(stage.buffers))
      if (text(buffer, "role") == "gradient" || text(buffer, "role") == "accumulator")
        stage.arena[index] = ReferenceTensor(stage.arena[index].shape);
  }
  for (Stage &stage : stages)
    if (auto function = stage.functions.find("prepare"); function != stage.functions.end()) {
      FailureOr<RankValues> results = interpret(function->second.op, argumentsOf(stage, function->second, 0));
      if (failed(results))
        return "cannot interpret prepare";
      store(stage, function->second, 0, *results);
    }
  std::string error;
  for (bool progress = true; progress;) {
    progress = false;
    for (auto [index, stage] : llvm::enumerate(stages))
      while (stage.next < stage.actions.size()) {
        int64_t microBatch = number(stage.actions[stage.next], "micro_batch");
        if (!stage.begun[microBatch])
          beginMicroBatch(stage, microBatch, inputs);
        stage.begun[microBatch] = true;
        if (!perform(index, error))
          break;
        progress = true;
      }
    if (!error.empty())
      return error;
  }
  for (auto [index, stage] : llvm::enumerate(stages))
    if (stage.next < stage.actions.size())
      return "deadlock: stage " + std::to_string(index) + " waits at action " + std::to_string(stage.next);
  if (!messages.empty())
    return "messages were sent and never received";

  MLIRContext *context = module.getContext();
  SmallVector<func::FuncOp> updates;
  SmallVector<RankValues> arguments;
  for (Stage &stage : stages) {
    updates.push_back(stage.functions.at("update").op);
    arguments.push_back(argumentsOf(stage, stage.functions.at("update"), 0));
  }
  auto grid = GridAttr::get(context, {StringAttr::get(context, "pp")}, {int64_t(stages.size())});
  FailureOr<SmallVector<RankValues>> results = interpretRanks(grid, updates, arguments);
  if (failed(results))
    return "cannot interpret the updates";
  for (auto [stage, values] : llvm::zip_equal(stages, *results))
    store(stage, stage.functions.at("update"), 0, values);
  return "";
}

} // namespace mlir::ppc::test
