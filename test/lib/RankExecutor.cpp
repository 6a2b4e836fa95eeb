// One step of all stages on all ranks, on numbers.
#include "RankExecutor.h"
#include "ppc/Interpreter/Collectives.h"
#include "ppc/Interpreter/ShardedTensors.h"
#include <limits>
#include <set>

namespace mlir::ppc::test {

static StringRef text(DictionaryAttr fields, StringRef key) {
  auto value = fields.getAs<StringAttr>(key);
  return value ? value.getValue() : "";
}
static int64_t number(DictionaryAttr fields, StringRef key) {
  auto value = fields.getAs<IntegerAttr>(key);
  return value ? value.getInt() : -1;
}
static bool isInSlot(DictionaryAttr buffer) { return text(buffer, "space") == "slot"; }
static RankedTensorType typeOf(DictionaryAttr buffer) {
  return cast<RankedTensorType>(buffer.getAs<TypeAttr>("type").getValue());
}
static std::string nameOf(DictionaryAttr buffer) {
  StringRef role = text(buffer, "role"), name = text(buffer, "name");
  return role == "state" ? (text(buffer, "state") + " of " + name).str() : (role + " " + name).str();
}

static RankTensors filled(DictionaryAttr buffer, int64_t ranks, double value) {
  return RankTensors(ranks, ReferenceTensor(typeOf(buffer).getShape(), value));
}

static RankTensors cut(const ReferenceTensor &value, DictionaryAttr buffer, GridAttr grid) {
  auto sharding = buffer.getAs<ShardingAttr>("sharding");
  return sharding ? cutTensor(value, sharding, grid) : RankTensors(grid.deviceCount(), value);
}

RankExecutor::RankExecutor(ModuleOp module)
    : module(module), grid(module->getAttrOfType<PlanAttr>(attr::plan).getGrid()) {
  for (auto fields : module->getAttrOfType<ArrayAttr>("ppc.stages").getAsRange<DictionaryAttr>()) {
    Stage &stage = stages.emplace_back();
    stage.buffers = llvm::to_vector(fields.getAs<ArrayAttr>("buffers").getAsRange<DictionaryAttr>());
    stage.actions = llvm::to_vector(fields.getAs<ArrayAttr>("actions").getAsRange<DictionaryAttr>());
    stage.arena.resize(stage.buffers.size());
    stage.slots.resize(number(fields, "slots"), std::vector<RankTensors>(stage.buffers.size()));
    for (NamedAttribute entry : fields.getAs<DictionaryAttr>("functions"))
      stage.functions[entry.getName().str()] = module.lookupSymbol<func::FuncOp>(text(cast<DictionaryAttr>(entry.getValue()), "entry"));
  }
}

RankTensors *RankExecutor::memory(Stage &stage, int64_t buffer, int64_t microBatch) {
  if (buffer < 0 || buffer >= int64_t(stage.buffers.size()))
    return nullptr;
  return isInSlot(stage.buffers[buffer]) ? &stage.slots[microBatch % stage.slots.size()][buffer] : &stage.arena[buffer];
}

std::string RankExecutor::begin(Stage &stage, int64_t microBatch, const NamedTensors &values) {
  if (std::exchange(stage.begun[microBatch], true))
    return "";
  for (auto [index, buffer] : llvm::enumerate(stage.buffers)) {
    if (!isInSlot(buffer))
      continue;
    RankTensors &tensors = *memory(stage, index, microBatch);
    tensors = filled(buffer, grid.deviceCount(), std::numeric_limits<double>::quiet_NaN());
    if (text(buffer, "role") != "input")
      continue;
    const ReferenceTensor &whole = values.at(nameOf(buffer));
    int64_t count = module->getAttrOfType<PlanAttr>(attr::plan).getMicroBatches();
    if (microBatch < 0 || microBatch >= count)
      return "there is no such micro-batch";
    tensors = cut(blockOf(whole, 0, microBatch, whole.shape[0] / count), buffer, grid);
  }
  return "";
}

std::string RankExecutor::gather(Stage &stage, func::FuncOp function, int64_t microBatch, SmallVector<RankValues> &arguments) {
  arguments.assign(grid.deviceCount(), {});
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto buffer = function.getArgAttrOfType<IntegerAttr>(i, "ppc.buffer");
    RankTensors *tensors = buffer ? memory(stage, buffer.getInt(), microBatch) : nullptr;
    if (!tensors)
      return "no such buffer";
    for (auto [list, tensor] : llvm::zip_equal(arguments, *tensors))
      list.push_back(tensor);
  }
  return "";
}

std::string RankExecutor::store(Stage &stage, func::FuncOp function, int64_t microBatch, ArrayRef<RankValues> results) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto buffer = function.getResultAttrOfType<IntegerAttr>(i, "ppc.buffer");
    RankTensors *tensors = buffer ? memory(stage, buffer.getInt(), microBatch) : nullptr;
    if (!tensors)
      return "no such buffer";
    tensors->clear();
    for (const RankValues &values : results)
      tensors->push_back(values[i]);
  }
  return "";
}

std::string RankExecutor::perform(size_t index, const NamedTensors &values, bool &waits) {
  Stage &stage = stages[index];
  DictionaryAttr action = stage.actions[stage.next];
  int64_t microBatch = number(action, "micro_batch");
  StringRef what = text(action, "do");
  if (std::string error = begin(stage, microBatch, values); !error.empty())
    return error;
  if (what == "send" || what == "receive") {
    int64_t peer = number(action, "stage"), tag = number(action, "tag");
    RankTensors *buffer = memory(stage, number(action, "buffer"), microBatch);
    if (!buffer)
      return "no such buffer";
    if (what == "send")
      return messages.insert({{index, peer, tag, microBatch}, *buffer}).second ? "" : "the same message is sent twice";
    auto message = messages.find({peer, index, tag, microBatch});
    if (message == messages.end()) {
      waits = true;
      return "";
    }
    if (message->second.front().shape != buffer->front().shape)
      return "a message of another size";
    *buffer = std::move(message->second);
    messages.erase(message);
    return "";
  }
  auto function = stage.functions.find(what.str());
  if (function == stage.functions.end())
    return "no such function";
  SmallVector<RankValues> arguments;
  if (std::string error = gather(stage, function->second, microBatch, arguments); !error.empty())
    return error;
  FailureOr<SmallVector<RankValues>> results = interpretSpmd(grid, function->second, arguments);
  return failed(results) ? "cannot run " + what.str() : store(stage, function->second, microBatch, *results);
}

std::string RankExecutor::finish(StringRef name) {
  MLIRContext *context = module.getContext();
  SmallVector<StringAttr> names = {StringAttr::get(context, "pp")};
  SmallVector<int64_t> sizes = {int64_t(stages.size())};
  names.append(grid.getNames().begin(), grid.getNames().end());
  sizes.append(grid.getSizes().begin(), grid.getSizes().end());
  SmallVector<func::FuncOp> functions;
  SmallVector<RankValues> arguments;
  for (Stage &stage : stages) {
    SmallVector<RankValues> own;
    auto function = stage.functions.find(name.str());
    if (function == stage.functions.end())
      return "no " + name.str();
    if (std::string error = gather(stage, function->second, 0, own); !error.empty())
      return error;
    functions.append(own.size(), function->second);
    arguments.append(own);
  }
  FailureOr<SmallVector<RankValues>> results = interpretRanks(GridAttr::get(context, names, sizes), functions, arguments);
  if (failed(results))
    return "cannot run " + name.str();
  for (auto [index, stage] : llvm::enumerate(stages)) {
    auto own = ArrayRef<RankValues>(*results).slice(index * grid.deviceCount(), grid.deviceCount());
    if (std::string error = store(stage, stage.functions.at(name.str()), 0, own); !error.empty())
      return error;
  }
  return "";
}

std::string RankExecutor::prepare(const NamedTensors &values) {
  for (Stage &stage : stages)
    for (auto [index, buffer] : llvm::enumerate(stage.buffers)) {
      if (isInSlot(buffer))
        continue;
      StringRef role = text(buffer, "role");
      if (role == "parameter" || role == "state" || role == "scalar")
        stage.arena[index] = cut(values.at(nameOf(buffer)), buffer, grid);
      else
        stage.arena[index] = filled(buffer, grid.deviceCount(),
                                    role == "gradient" || role == "accumulator" ? 0 : std::numeric_limits<double>::quiet_NaN());
    }
  for (Stage &stage : stages)
    if (auto function = stage.functions.find("prepare"); function != stage.functions.end()) {
      SmallVector<RankValues> arguments;
      if (std::string error = gather(stage, function->second, 0, arguments); !error.empty())
        return error;
      FailureOr<SmallVector<RankValues>> results = interpretSpmd(grid, function->second, arguments);
      if (failed(results))
        return "cannot run prepare";
      if (std::string error = store(stage, function->second, 0, *results); !error.empty())
        return error;
    }
  return "";
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

// As the runtime does: a message that a forward waits for comes from a forward.
void RankExecutor::keepForwards() {
  auto isMessage = [](DictionaryAttr action) { return text(action, "do") == "send" || text(action, "do") == "receive"; };
  std::set<std::tuple<int64_t, int64_t, int64_t>> wanted; // from stage, to stage, tag
  for (auto [to, stage] : llvm::enumerate(stages))
    for (auto [i, action] : llvm::enumerate(stage.actions)) {
      if (text(action, "do") != "receive")
        continue;
      auto next = std::find_if(stage.actions.begin() + i, stage.actions.end(), [&, own = action](DictionaryAttr later) {
        return !isMessage(later) && number(later, "micro_batch") == number(own, "micro_batch");
      });
      if (next != stage.actions.end() && text(*next, "do") == "forward")
        wanted.emplace(number(action, "stage"), to, number(action, "tag"));
    }
  for (auto [index, stage] : llvm::enumerate(stages))
    llvm::erase_if(stage.actions, [&, self = int64_t(index)](DictionaryAttr action) {
      int64_t peer = number(action, "stage"), tag = number(action, "tag");
      StringRef what = text(action, "do");
      return !(what == "forward" || (what == "send" && wanted.count({self, peer, tag})) ||
               (what == "receive" && wanted.count({peer, self, tag})));
    });
}

std::string RankExecutor::run(const NamedTensors &values) {
  std::string error = prepare(values);
  if (error.empty())
    error = follow(values);
  return error.empty() ? finish("update") : error;
}

std::string RankExecutor::evaluate(const NamedTensors &values) {
  if (llvm::none_of(stages, [](const Stage &stage) { return stage.functions.count("evaluate"); }))
    return "";
  keepForwards();
  std::string error = prepare(values);
  if (error.empty())
    error = follow(values);
  return error.empty() ? finish("evaluate") : error;
}

std::vector<std::vector<RankTensors>> RankExecutor::evaluation() const {
  std::vector<std::vector<RankTensors>> results;
  for (const Stage &stage : stages) {
    results.emplace_back();
    auto found = stage.functions.find("evaluate");
    if (found == stage.functions.end())
      continue;
    func::FuncOp function = found->second;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      results.back().push_back(stage.arena[function.getResultAttrOfType<IntegerAttr>(i, "ppc.buffer").getInt()]);
  }
  return results;
}

std::vector<std::vector<RankTensors>> RankExecutor::outputs() const {
  std::vector<std::vector<RankTensors>> outputs;
  for (const Stage &stage : stages) {
    outputs.emplace_back();
    for (auto [index, buffer] : llvm::enumerate(stage.buffers)) {
      StringRef role = text(buffer, "role");
      bool isOutput = role == "parameter" || role == "state" || role == "gradient" || role == "metric";
      outputs.back().push_back(isOutput ? stage.arena[index] : RankTensors());
    }
  }
  return outputs;
}

} // namespace mlir::ppc::test
