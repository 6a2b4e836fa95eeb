// JSON to Manifest. Errors name the key by its path, say what was found and what is allowed.
#include "runtime/core/Manifest.h"
#include "runtime/core/Error.h"
#include "runtime/core/JsonValue.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <set>

namespace ppcrt {

const char *const roleNames[roleCount] = {"parameter", "state",   "gradient", "accumulator", "input",
                                          "saved",     "message", "scalar",   "metric",      "scratch",
                                          "prepared"};
const char *const functionKindNames[functionKindCount] = {"forward", "backward", "weight_gradient", "update",
                                                          "prepare", "evaluate"};
const char *const actionKindNames[actionKindCount] = {"forward", "backward", "weight_gradient", "send", "receive"};

namespace {

using Value = JsonValue;

constexpr int64_t maxRanks = 1024;

std::vector<int> readAxes(const Value &value, const Grid &grid) {
  std::vector<int> axes;
  for (const Value &axis : value.list()) {
    int index = grid.axisIndex(axis.string());
    if (index < 0)
      axis.fail("no axis named \"" + axis.string() + "\" in \"axes\"");
    if (std::find(axes.begin(), axes.end(), index) != axes.end())
      axis.fail("axis \"" + axis.string() + "\" is listed twice");
    axes.push_back(index);
  }
  return axes;
}

Grid readGrid(const Value &value) {
  std::vector<Axis> axes;
  int64_t ranks = 1;
  for (const Value &item : value.list()) {
    Axis axis{item.at("name").string(), item.at("size").integer(1, maxRanks)};
    for (const Axis &other : axes)
      if (other.name == axis.name)
        item.at("name").fail("axis \"" + axis.name + "\" is defined twice");
    ranks *= axis.size;
    if (ranks > maxRanks)
      value.fail(format("more than %lld ranks", (long long)maxRanks));
    axes.push_back(std::move(axis));
  }
  return Grid(std::move(axes));
}

GroupSpec readGroup(const Value &value, const Grid &grid) {
  GroupSpec group{readAxes(value.at("axes"), grid), {}};
  if (value.has("stages"))
    for (const Value &stage : value.at("stages").list())
      group.stages.push_back(stage.integer(0, grid.stageCount() - 1));
  return group;
}

Parameter readParameter(const Value &value) {
  static const char *const kinds[] = {"zeros", "ones", "normal"};
  Parameter result{value.at("name").string(), value.at("type").type(), value.at("shape").shape()};
  if (result.type != DataType::F32 && result.type != DataType::F64 && result.type != DataType::BF16)
    value.at("type").fail("a parameter must be f32, f64 or bf16");
  Value init = value.at("init");
  result.init = InitKind(init.at("kind").choice(kinds, 3));
  if (result.init == InitKind::Normal)
    result.std = init.at("std").number();
  return result;
}

std::vector<Cut> readCuts(const Value &value, const Grid &grid, int64_t rank) {
  std::vector<Cut> cuts;
  std::set<int> used;
  for (const Value &item : value.list()) {
    Cut cut{item.at("dim").integer(0, rank - 1), readAxes(item.at("axes"), grid)};
    for (int axis : cut.axes)
      if (axis == grid.stageAxisIndex() || !used.insert(axis).second)
        item.fail("axis \"" + grid.axes()[axis].name + "\" cannot cut this buffer (again)");
    for (const Cut &other : cuts)
      if (other.dim == cut.dim)
        item.at("dim").fail("this dimension is cut twice");
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

bool hasName(Role role) {
  return role == Role::Parameter || role == Role::State || role == Role::Gradient || role == Role::Input ||
         role == Role::Scalar || role == Role::Metric;
}

Buffer readBuffer(const Value &value, const Manifest &manifest, const Stage &stage) {
  static const char *const spaces[] = {"arena", "slot"};
  static const char *const inputs[] = {"ids", "targets"};
  static const char *const scalars[] = {"learning_rate", "step"};
  static const char *const metrics[] = {"loss", "grad_norm"};
  Buffer buffer;
  buffer.role = Role(value.at("role").choice(roleNames, roleCount));
  buffer.inSlot = value.has("space") && value.at("space").choice(spaces, 2) == 1;
  buffer.offset = value.at("offset").integer(0);
  if (buffer.offset % 64)
    value.at("offset").fail(std::to_string(buffer.offset) + " is not a multiple of 64");
  if (hasName(buffer.role)) {
    Value name = value.at("name");
    buffer.name = name.string();
    if (buffer.role == Role::Input)
      name.choice(inputs, 2);
    else if (buffer.role == Role::Scalar)
      name.choice(scalars, 2);
    else if (buffer.role == Role::Metric)
      name.choice(metrics, 2);
    else {
      for (size_t i = 0; i < manifest.parameters.size(); ++i)
        if (manifest.parameters[i].name == buffer.name)
          buffer.parameter = int(i);
      if (buffer.parameter < 0)
        name.fail("no parameter named \"" + buffer.name + "\" in \"parameters\"");
    }
  }
  if (buffer.role == Role::Saved && value.has("name"))
    buffer.name = value.at("name").string();
  if (buffer.role == Role::Saved && value.has("order"))
    buffer.order = value.at("order").integer(0);
  if (buffer.role == Role::State)
    buffer.state = value.at("state").string();
  if (buffer.role == Role::Scratch && value.has("bytes")) {
    buffer.bytes = value.at("bytes").integer(0);
  } else {
    buffer.type = value.at("type").type();
    buffer.shape = value.at("shape").shape();
    buffer.bytes = elementCount(buffer.shape) * info(buffer.type).bytes;
  }
  if (value.has("blocks"))
    buffer.cuts = readCuts(value.at("blocks"), manifest.grid, int64_t(buffer.shape.size()));
  int64_t space = buffer.inSlot ? stage.slotBytes : stage.arenaBytes;
  if (buffer.offset + buffer.bytes > space)
    value.fail(format("bytes %lld to %lld do not lie within the %s of %lld bytes", (long long)buffer.offset,
                      (long long)(buffer.offset + buffer.bytes), spaces[buffer.inSlot], (long long)space));
  return buffer;
}

Action readAction(const Value &value, const Manifest &manifest, const Stage &stage, int64_t stageIndex) {
  Action action;
  action.kind = ActionKind(value.at("do").choice(actionKindNames, actionKindCount));
  action.microBatch = value.at("micro_batch").integer(0, manifest.microBatches - 1);
  if (action.kind != ActionKind::Send && action.kind != ActionKind::Receive)
    return action;
  action.buffer = int(value.at("buffer").integer(0, int64_t(stage.buffers.size()) - 1));
  action.stage = value.at("stage").integer(0, manifest.grid.stageCount() - 1);
  if (action.stage == stageIndex)
    value.at("stage").fail("a stage cannot exchange messages with itself");
  action.tag = value.at("tag").integer(0, std::numeric_limits<int32_t>::max());
  return action;
}

Stage readStage(const Value &value, const Manifest &manifest, int64_t index) {
  Stage stage;
  stage.arenaBytes = value.at("arena_bytes").integer(0);
  stage.slots = value.at("slots").integer(1, 1 << 20);
  stage.slotOffset = value.at("slot_offset").integer(0);
  stage.slotBytes = value.at("slot_bytes").integer(0);
  if (stage.slotOffset % 64 || stage.slotBytes % 64)
    value.fail("\"slot_offset\" and \"slot_bytes\" must be multiples of 64");
  if (stage.slotBytes > (stage.arenaBytes - stage.slotOffset) / stage.slots)
    value.fail("the slots do not lie within \"arena_bytes\"");
  for (const Value &buffer : value.at("buffers").list())
    stage.buffers.push_back(readBuffer(buffer, manifest, stage));
  Value functions = value.at("functions");
  for (int kind = 0; kind < functionKindCount; ++kind) {
    if (!functions.has(functionKindNames[kind]))
      continue;
    Value item = functions.at(functionKindNames[kind]);
    Function function{item.at("entry").string(), {}};
    for (const Value &buffer : item.at("buffers").list()) {
      function.buffers.push_back(int(buffer.integer(0, int64_t(stage.buffers.size()) - 1)));
      if (isOfStep(FunctionKind(kind)) && stage.buffers[function.buffers.back()].inSlot)
        buffer.fail(format("\"%s\" belongs to no micro-batch and cannot use a buffer in a slot", functionKindNames[kind]));
    }
    stage.functions[kind] = std::move(function);
  }
  for (const Value &action : value.at("actions").list())
    stage.actions.push_back(readAction(action, manifest, stage, index));
  return stage;
}

Manifest readManifest(const Value &top) {
  Manifest manifest;
  if (top.at("format").integer(0) != 1)
    top.at("format").fail("this runtime reads format 1 only: compile the program again");
  if (top.at("abi").integer(0) != PPCRT_ABI_VERSION)
    top.at("abi").fail(format("this runtime has ABI %d: compile the program again", PPCRT_ABI_VERSION));
  manifest.model = top.at("model").string();
  manifest.plan = top.has("plan") ? top.at("plan").string() : "";
  manifest.grid = readGrid(top.at("axes"));
  for (const Value &group : top.at("groups").list())
    manifest.groups.push_back(readGroup(group, manifest.grid));
  manifest.sequenceLength = top.at("sequence_length").integer(1, 1 << 30);
  manifest.globalBatch = top.at("global_batch").integer(1, 1 << 30);
  manifest.microBatches = top.at("micro_batches").integer(1, manifest.globalBatch);
  if (manifest.globalBatch % manifest.microBatches)
    top.at("micro_batches")
        .fail(format("%lld does not divide the global batch of %lld", (long long)manifest.microBatches,
                     (long long)manifest.globalBatch));
  manifest.vocabulary = top.at("vocabulary").integer(1, std::numeric_limits<int32_t>::max());
  manifest.schedule = top.has("schedule") ? top.at("schedule").string() : "";
  if (top.has("precision")) {
    static const char *const precisions[] = {"f32", "bf16"};
    manifest.precision = top.at("precision").choice(precisions, 2) ? DataType::BF16 : DataType::F32;
  }
  manifest.modelParameters = top.has("model_parameters") ? top.at("model_parameters").number() : 0;
  manifest.flopsPerToken = top.has("flops_per_token") ? top.at("flops_per_token").number() : 0;
  if (top.has("predicted")) {
    Value predicted = top.at("predicted");
    if (predicted.has("peak_memory_bytes"))
      for (const Value &bytes : predicted.at("peak_memory_bytes").list())
        manifest.predictedPeakBytes.push_back(bytes.number());
    if (predicted.has("planned_memory_bytes"))
      for (const Value &bytes : predicted.at("planned_memory_bytes").list())
        manifest.plannedMemoryBytes.push_back(bytes.number());
    if (predicted.has("step_time_s"))
      manifest.predictedStepSeconds = predicted.at("step_time_s").number();
  }
  std::set<std::string> names;
  for (const Value &item : top.at("parameters").list()) {
    manifest.parameters.push_back(readParameter(item));
    if (!names.insert(manifest.parameters.back().name).second)
      item.at("name").fail("parameter \"" + manifest.parameters.back().name + "\" is defined twice");
  }
  manifest.weights = readWeightMap(top, manifest.parameters);
  if (top.has("operations"))
    for (const Value &item : top.at("operations").list())
      manifest.operations.push_back(
          {item.at("name").string(), item.at("flops").number(), item.at("bytes").number()});
  std::vector<Value> stages = top.at("stages").list();
  if (int64_t(stages.size()) != manifest.grid.stageCount())
    top.at("stages").fail(
        format("%zu stages, but axis \"pp\" has size %lld", stages.size(), (long long)manifest.grid.stageCount()));
  for (size_t i = 0; i < stages.size(); ++i)
    manifest.stages.push_back(readStage(stages[i], manifest, int64_t(i)));
  for (auto [key, bytes] : {std::pair("peak_memory_bytes", &manifest.predictedPeakBytes),
                            std::pair("planned_memory_bytes", &manifest.plannedMemoryBytes)})
    if (!bytes->empty() && bytes->size() != manifest.stages.size())
      top.at("predicted").at(key).fail(format("expected one value for each of %zu stages", manifest.stages.size()));
  return manifest;
}

} // namespace

Manifest parseManifest(std::string_view text) {
  nlohmann::json document = parseJson(text, "manifest");
  Manifest manifest = readManifest(Value(document, "manifest"));
  checkManifest(manifest);
  return manifest;
}

} // namespace ppcrt
