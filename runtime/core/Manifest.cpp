// JSON to Manifest. Errors name the key by its path, say what was found and what is allowed.
#include "runtime/core/Manifest.h"
#include "ppc/Support/Limits.h"
#include "runtime/core/ActionReader.h"
#include "runtime/core/Error.h"
#include "runtime/core/JsonValue.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <set>

namespace ppcrt {

const char *const roleNames[roleCount] = {"parameter", "state",  "gradient", "accumulator", "input",    "saved",
                                          "message",   "scalar", "metric",   "scratch",     "prepared", "gathered"};
const char *const routineKindNames[routineKindCount] = {"prepare",         "forward", "backward",
                                                        "weight_gradient", "update",  "evaluate"};

namespace {

using Value = JsonValue;

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
    Axis axis{item.at("name").string(), item.at("size").integer(1, mlir::ppc::limits::ranks)};
    for (const Axis &other : axes)
      if (other.name == axis.name)
        item.at("name").fail("axis \"" + axis.name + "\" is defined twice");
    ranks *= axis.size;
    if (constexpr int64_t most = mlir::ppc::limits::startedRanks; ranks > most)
      value.fail(format("more than %lld ranks, with which no program starts", (long long)most));
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
  if (init.has("zero_row"))
    result.zeroRow = init.at("zero_row").integer(0, result.shape.empty() ? 0 : result.shape[0] - 1);
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

// What a buffer is called, where its role asks for a name.
void readNames(const Value &value, const Manifest &manifest, Buffer &buffer) {
  static const char *const inputs[] = {"ids", "targets"};
  static const char *const scalars[] = {"learning_rate", "step"};
  static const char *const metrics[] = {"loss", "grad_norm"};
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
  if (buffer.role == Role::State)
    buffer.state = value.at("state").string();
}

// `device` has its sizes.
Buffer readBuffer(const Value &value, const Manifest &manifest, const Device &device) {
  Buffer buffer;
  static const char *const memories[] = {"device", "host"};
  bool onHost = value.has("memory") && value.at("memory").choice(memories, 2) == 1;
  int64_t memoryBytes = onHost ? device.hostBytes : device.arenaBytes;
  const char *memory = onHost ? "memory of the host" : "arena";
  buffer.role = Role(value.at("role").choice(roleNames, roleCount));
  buffer.offset = value.at("offset").integer(0);
  if (buffer.offset % 64)
    value.at("offset").fail(std::to_string(buffer.offset) + " is not a multiple of 64");
  readNames(value, manifest, buffer);
  if (buffer.role == Role::Saved && value.has("order"))
    buffer.order = value.at("order").integer(0);
  if (buffer.role == Role::Scratch) {
    buffer.bytes = value.at("bytes").integer(0);
  } else {
    buffer.type = value.at("type").type();
    buffer.shape = value.at("shape").shape();
    buffer.bytes = elementCount(buffer.shape) * info(buffer.type).bytes;
  }
  if (value.has("blocks"))
    buffer.cuts = readCuts(value.at("blocks"), manifest.grid, int64_t(buffer.shape.size()));
  auto isInside = [&](int64_t bytes) { return buffer.offset <= memoryBytes && bytes <= memoryBytes - buffer.offset; };
  if (!isInside(buffer.bytes))
    value.fail(format("bytes %lld to %lld do not lie within the %s of %lld bytes", (long long)buffer.offset,
                      (long long)(buffer.offset + buffer.bytes), memory, (long long)memoryBytes));
  int64_t start = onHost ? device.hostStart() : 0;
  buffer.hasSlots = value.has("slots");
  if (!buffer.hasSlots) {
    buffer.offset += start;
    return buffer;
  }
  buffer.slots = value.at("slots").integer(1, 1 << 20);
  buffer.stride = value.at("stride").integer(0, Value::maxSize / 64);
  if (buffer.stride % 64 || buffer.stride < buffer.bytes)
    value.at("stride").fail(format("%lld is not a multiple of 64 of at least %lld, the bytes of a slot",
                                   (long long)buffer.stride, (long long)buffer.bytes));
  if (buffer.stride && buffer.slots - 1 > (memoryBytes - buffer.offset - buffer.bytes) / buffer.stride)
    value.fail(format("%lld slots of %lld bytes from byte %lld on do not lie within the %s of %lld bytes",
                      (long long)buffer.slots, (long long)buffer.stride, (long long)buffer.offset, memory,
                      (long long)memoryBytes));
  buffer.offset += start;
  return buffer;
}

// Which slots the micro-batches of buffers have where their numbers do not say, and whose these slots are.
void readPlaces(const Value &value, const Manifest &manifest, Device &device) {
  if (!value.has("places"))
    return;
  std::vector<Value> lists = value.at("places").list(), buffers = value.at("buffers").list();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Value &item = buffers[i];
    Buffer &buffer = device.buffers[i];
    if (item.has("places")) {
      if (!buffer.hasSlots)
        item.at("places").fail("a buffer without slots has no places");
      const Value &list = lists[size_t(item.at("places").integer(0, int64_t(lists.size()) - 1))];
      for (const Value &place : list.list())
        buffer.places.push_back(place.integer(0, buffer.slots - 1));
      if (int64_t(buffer.places.size()) != manifest.microBatches)
        list.fail(format("%zu places for %lld micro-batches", buffer.places.size(), (long long)manifest.microBatches));
    }
    if (item.has("shares"))
      buffer.shares = int(item.at("shares").integer(0, int64_t(buffers.size()) - 1));
  }
}

// The body of a program for GPUs that a routine is.
void checkBody(const Value &value, const DeviceCode &code, const Routine &routine) {
  int number = code.bodyNamed(routine.entry);
  if (number < 0)
    value.at("entry").fail("no body named \"" + routine.entry + "\" in \"code\"");
  const Body &body = code.bodies[size_t(number)];
  if (body.arguments != int(routine.buffers.size()))
    value.at("buffers").fail(format("%zu of them for \"%s\", which takes %d", routine.buffers.size(),
                                    routine.entry.c_str(), body.arguments));
  bool fits = int64_t(body.earlyTokens.size()) == routine.earlyTokens;
  for (int64_t entry : body.earlyTokens)
    fits &= entry < routine.earlyTokens;
  if (!fits)
    value.fail(format("%lld early tokens, but \"%s\" reaches %zu, or others", (long long)routine.earlyTokens,
                      routine.entry.c_str(), body.earlyTokens.size()));
}

Routine readRoutine(const Value &value, const Manifest &manifest, const Device &device) {
  Routine routine{
      RoutineKind(value.at("kind").choice(routineKindNames, routineKindCount)), value.at("entry").string(), {}, 0};
  if (value.has("early_tokens"))
    routine.earlyTokens = value.at("early_tokens").integer(0, Routine::mostEarlyTokens);
  for (const Value &buffer : value.at("buffers").list()) {
    routine.buffers.push_back(int(buffer.integer(0, int64_t(device.buffers.size()) - 1)));
    if (isOfStep(routine.kind) && device.buffers[routine.buffers.back()].hasSlots)
      buffer.fail(format("\"%s\" belongs to no micro-batch and cannot use a buffer with slots",
                         routineKindNames[int(routine.kind)]));
  }
  if (manifest.target == Target::Cuda)
    checkBody(value, manifest.code, routine);
  return routine;
}

MessageEnd readMessage(const Value &value, const Device &device, int64_t self, int64_t deviceCount) {
  int64_t to = value.at("to").integer(-1, deviceCount - 1), from = value.at("from").integer(-1, deviceCount - 1);
  if ((to < 0) == (from < 0))
    value.fail("one of \"to\" and \"from\" is another device, the other, for the end that is here, -1");
  MessageEnd end{to >= 0, std::max(to, from), 0, 0};
  if (end.peer == self)
    value.at(end.isSent ? "to" : "from").fail("a device cannot exchange messages with itself");
  end.buffer = int(value.at("buffer").integer(0, int64_t(device.buffers.size()) - 1));
  end.tag = value.at("tag").integer(0, std::numeric_limits<int32_t>::max());
  return end;
}

// Elements of a list of buffers' numbers, each with one slot or of a type with others.
std::vector<int> readBuffers(const Value &value, const Device &device) {
  std::vector<int> result;
  for (const Value &buffer : value.list()) {
    result.push_back(int(buffer.integer(0, int64_t(device.buffers.size()) - 1)));
    if (device.buffers[size_t(result.back())].role == Role::Scratch)
      buffer.fail("scratch cannot be communicated");
  }
  return result;
}

// What is wrong with a call on these buffers; empty: nothing.
std::string wrongSizes(CollectiveKind kind, const Buffer &in, const Buffer &out, int64_t members) {
  int64_t read = elementCount(in.shape), written = elementCount(out.shape);
  if (in.type != out.type)
    return format("reads %s and writes %s", info(in.type).name, info(out.type).name);
  if (in.hasSlots != out.hasSlots)
    return "reads and writes a buffer with slots and one without";
  bool fits = kind == CollectiveKind::AllGather       ? written == read * members
              : kind == CollectiveKind::ReduceScatter ? read == written * members
              : kind == CollectiveKind::AllToAll      ? read == written && read % members == 0
                                                      : read == written;
  if (fits)
    return "";
  return format("%s over %lld ranks cannot read %lld elements and write %lld", collectiveNames[int(kind)],
                (long long)members, (long long)read, (long long)written);
}

CollectiveCall readCollective(const Value &value, const Manifest &manifest, const Device &device, int64_t self) {
  static const char *const reductions[] = {"sum", "max"};
  CollectiveCall call;
  call.kind = CollectiveKind(value.at("kind").choice(collectiveNames, int(CollectiveKind::AllToAll) + 1));
  bool reduces = call.kind == CollectiveKind::AllReduce || call.kind == CollectiveKind::ReduceScatter;
  if (reduces)
    call.reduction = Reduction(value.at("reduction").choice(reductions, 2));
  else if (value.has("reduction"))
    value.at("reduction").fail(format("%s has none", collectiveNames[int(call.kind)]));
  call.group = int(value.at("group").integer(0, int64_t(manifest.groups.size()) - 1));
  int64_t rank = manifest.grid.rankAtStage(0, self);
  int64_t members = int64_t(groupMembers(manifest.grid, manifest.groups[size_t(call.group)], rank).size());
  if (members == 0)
    value.at("group").fail(format("the ranks of device %lld are not in group %d", (long long)self, call.group));
  call.reads = readBuffers(value.at("reads"), device);
  call.writes = readBuffers(value.at("writes"), device);
  if (call.reads.empty() || call.reads.size() != call.writes.size())
    value.fail(format("%zu \"reads\" and %zu \"writes\": expected as many of both, at least one", call.reads.size(),
                      call.writes.size()));
  bool slots = device.buffers[size_t(call.reads.front())].hasSlots;
  for (size_t i = 0; i < call.reads.size(); ++i) {
    const Buffer &in = device.buffers[size_t(call.reads[i])], &out = device.buffers[size_t(call.writes[i])];
    std::string wrong = wrongSizes(call.kind, in, out, members);
    if (wrong.empty() && in.hasSlots != slots)
      wrong = "some of the buffers have slots and others have none";
    if (wrong.empty() && call.reads[i] == call.writes[i] && call.kind != CollectiveKind::AllReduce && members > 1)
      wrong = format("%s cannot write what it reads", collectiveNames[int(call.kind)]);
    if (!wrong.empty())
      value.fail(format("call %zu: ", i) + wrong);
  }
  return call;
}

CopyCall readCopy(const Value &value, const Device &device) {
  std::vector<int> ends = readBuffers(value, device);
  if (ends.size() != 2 || ends[0] == ends[1])
    value.fail("expected [from, to], two buffers");
  const Buffer &from = device.buffers[size_t(ends[0])], &to = device.buffers[size_t(ends[1])];
  if (from.type != to.type || from.shape != to.shape || from.hasSlots != to.hasSlots)
    value.fail("copies to a buffer of another type or shape, or with slots where the other has none");
  return {ends[0], ends[1]};
}

Device readDevice(const Value &value, const Manifest &manifest, int64_t self) {
  Device device;
  device.arenaBytes = value.at("arena_bytes").integer(0);
  if (value.has("host_bytes"))
    device.hostBytes = value.at("host_bytes").integer(0, std::numeric_limits<int64_t>::max() / 4);
  for (const Value &buffer : value.at("buffers").list())
    device.buffers.push_back(readBuffer(buffer, manifest, device));
  readPlaces(value, manifest, device);
  for (const Value &routine : value.at("routines").list())
    device.routines.push_back(readRoutine(routine, manifest, device));
  for (const Value &stream : value.at("streams").list())
    device.streams.push_back(stream.string());
  for (const Value &message : value.at("messages").list())
    device.messages.push_back(readMessage(message, device, self, manifest.grid.stageCount()));
  if (value.has("collectives"))
    for (const Value &collective : value.at("collectives").list())
      device.collectives.push_back(readCollective(collective, manifest, device, self));
  if (value.has("copies"))
    for (const Value &copy : value.at("copies").list())
      device.copies.push_back(readCopy(copy, device));
  device.step = readActions(value.at("step"), device, manifest.microBatches);
  if (value.has("evaluate"))
    device.evaluate = readActions(value.at("evaluate"), device, manifest.microBatches);
  return device;
}

Manifest readManifest(const Value &top) {
  Manifest manifest;
  if (int64_t format = top.at("format").integer(0); format != 3 && format != 4) // 3: without places
    top.at("format").fail("this runtime reads formats 3 and 4 only: compile the program again");
  if (int64_t abi = top.at("abi").integer(0); abi != PPCRT_ABI_VERSION)
    top.at("abi").fail(
        format("%lld is the C interface of another version, this runtime has ABI %d: compile the program "
               "again",
               (long long)abi, PPCRT_ABI_VERSION));
  manifest.model = top.at("model").string();
  manifest.plan = top.has("plan") ? top.at("plan").string() : "";
  manifest.grid = readGrid(top.at("axes"));
  if (manifest.grid.stageAxisIndex() != 0)
    top.at("axes").fail("the first axis must be \"pp\"");
  for (const Value &group : top.at("groups").list())
    manifest.groups.push_back(readGroup(group, manifest.grid));
  if (top.has("target")) {
    static const char *const targets[] = {"host", "cuda"};
    manifest.target = Target(top.at("target").choice(targets, 2));
  }
  if (manifest.target == Target::Cuda)
    manifest.code = readDeviceCode(top.at("code"), int64_t(manifest.groups.size()));
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
    if (predicted.has("measured"))
      manifest.predictionMeasured = predicted.at("measured").boolean();
  }
  std::set<std::string> names;
  for (const Value &item : top.at("parameters").list()) {
    manifest.parameters.push_back(readParameter(item));
    if (!names.insert(manifest.parameters.back().name).second)
      item.at("name").fail("parameter \"" + manifest.parameters.back().name + "\" is defined twice");
  }
  manifest.weights = readWeightMap(top, manifest.parameters);
  manifest.mathematics = readMathematics(top);
  if (top.has("operations"))
    for (const Value &item : top.at("operations").list())
      manifest.operations.push_back({item.at("name").string(), item.at("flops").number(), item.at("bytes").number()});
  std::vector<Value> devices = top.at("devices").list();
  if (int64_t(devices.size()) != manifest.grid.stageCount())
    top.at("devices").fail(
        format("%zu devices, but axis \"pp\" has size %lld", devices.size(), (long long)manifest.grid.stageCount()));
  for (size_t i = 0; i < devices.size(); ++i)
    manifest.devices.push_back(readDevice(devices[i], manifest, int64_t(i)));
  for (auto [key, bytes] : {std::pair("peak_memory_bytes", &manifest.predictedPeakBytes),
                            std::pair("planned_memory_bytes", &manifest.plannedMemoryBytes)})
    if (!bytes->empty() && bytes->size() != manifest.devices.size())
      top.at("predicted").at(key).fail(format("expected one value for each of %zu devices", manifest.devices.size()));
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
