// The invariants M1 to M4 of a manifest.
#include "runtime/core/Error.h"
#include "runtime/core/Manifest.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ppcrt {
namespace {

[[noreturn]] void fail(size_t stage, const char *list, size_t index, const std::string &what) {
  throw InputError(format("manifest: stages[%zu].%s[%zu]: ", stage, list, index) + what);
}

void checkShapes(const Manifest &manifest, size_t stageIndex) {
  const Stage &stage = manifest.stages[stageIndex];
  for (size_t i = 0; i < stage.buffers.size(); ++i) {
    const Buffer &buffer = stage.buffers[i];
    auto expect = [&](DataType type, const std::vector<int64_t> &logical) {
      std::vector<int64_t> shape = localShape(manifest.grid, logical, buffer.cuts);
      if (buffer.shape != shape || buffer.type != type)
        fail(stageIndex, "buffers", i,
             format("%s \"%s\" is %s of %s, expected %s of %s", roleNames[int(buffer.role)], buffer.name.c_str(),
                    showShape(buffer.shape).c_str(), info(buffer.type).name, showShape(shape).c_str(),
                    info(type).name));
    };
    auto expectSpace = [&](bool slot) {
      if (buffer.inSlot != slot)
        fail(stageIndex, "buffers", i,
             format("role %s must lie in the %s", roleNames[int(buffer.role)], slot ? "slot" : "arena"));
    };
    switch (buffer.role) {
    case Role::Parameter:
    case Role::State:
    case Role::Gradient: {
      const Parameter &parameter = manifest.parameters[buffer.parameter];
      expectSpace(false);
      for (const Cut &cut : buffer.cuts)
        if (cut.dim >= int64_t(parameter.shape.size()))
          fail(stageIndex, "buffers", i, "a dimension that the parameter does not have is cut");
      // States and gradients may be kept in another type than the parameter (bf16 parameters, f32 states).
      expect(buffer.role == Role::Parameter ? parameter.type : buffer.type, parameter.shape);
      break;
    }
    case Role::Accumulator:
    case Role::Prepared:
      expectSpace(false);
      break;
    case Role::Scalar:
    case Role::Metric:
      expectSpace(false);
      expect(DataType::F32, {});
      break;
    case Role::Input:
      expectSpace(true);
      expect(DataType::I32, {manifest.microBatchSize(), manifest.sequenceLength});
      for (const Cut &cut : buffer.cuts)
        if (int64_t extent = cut.dim ? manifest.sequenceLength : manifest.microBatchSize();
            extent % manifest.grid.sizeOver(cut.axes))
          fail(stageIndex, "buffers", i,
               format("dimension %lld of %lld is cut into %lld parts: inputs cannot be padded", (long long)cut.dim,
                      (long long)extent, (long long)manifest.grid.sizeOver(cut.axes)));
      break;
    case Role::Message:
      expectSpace(true);
      break;
    case Role::Saved:
    case Role::Scratch:
      break;
    }
  }
}

void checkOverlap(const Stage &stage, size_t stageIndex) {
  struct Extent {
    int64_t begin, end;
    std::string name;
  };
  std::vector<Extent> extents;
  if (stage.slotBytes)
    extents.push_back({stage.slotOffset, stage.slotOffset + stage.slots * stage.slotBytes, "the slots"});
  for (size_t i = 0; i < stage.buffers.size(); ++i) {
    const Buffer &buffer = stage.buffers[i];
    bool transient = buffer.role == Role::Saved || buffer.role == Role::Message || buffer.role == Role::Scratch;
    if (!buffer.inSlot && !transient && buffer.bytes)
      extents.push_back({buffer.offset, buffer.offset + buffer.bytes,
                         format("buffers[%zu] (%s %s)", i, roleNames[int(buffer.role)], buffer.name.c_str())});
  }
  std::sort(extents.begin(), extents.end(), [](const Extent &a, const Extent &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < extents.size(); ++i)
    if (extents[i].begin < extents[i - 1].end)
      throw InputError(format("manifest: stages[%zu]: %s overlaps %s at byte %lld of the arena", stageIndex,
                              extents[i].name.c_str(), extents[i - 1].name.c_str(), (long long)extents[i].begin));
}

void checkSlots(const Stage &stage, size_t stageIndex) {
  if (stage.slotBytes == 0)
    return;
  std::map<int64_t, size_t> first, last; // micro-batch -> index of an action
  for (size_t i = 0; i < stage.actions.size(); ++i) {
    first.emplace(stage.actions[i].microBatch, i);
    last[stage.actions[i].microBatch] = i;
  }
  std::map<int64_t, std::vector<int64_t>> bySlot; // in the order in which they begin
  for (const Action &action : stage.actions) {
    std::vector<int64_t> &users = bySlot[action.microBatch % stage.slots];
    if (std::find(users.begin(), users.end(), action.microBatch) == users.end())
      users.push_back(action.microBatch);
  }
  for (const auto &[slot, users] : bySlot)
    for (size_t i = 1; i < users.size(); ++i)
      if (last[users[i - 1]] > first[users[i]])
        fail(stageIndex, "actions", first[users[i]],
             format("micro-batch %lld begins in slot %lld while micro-batch %lld still uses it (%lld slots)",
                    (long long)users[i], (long long)slot, (long long)users[i - 1], (long long)stage.slots));
}

void checkMessages(const Manifest &manifest) {
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t>; // source stage, destination stage, tag, micro-batch
  struct End {
    size_t stage, action;
    int64_t bytes;
  };
  std::map<Key, End> sends, receives;
  for (size_t s = 0; s < manifest.stages.size(); ++s)
    for (size_t i = 0; i < manifest.stages[s].actions.size(); ++i) {
      const Action &action = manifest.stages[s].actions[i];
      if (action.buffer < 0)
        continue;
      bool send = action.kind == ActionKind::Send;
      Key key = send ? Key(s, action.stage, action.tag, action.microBatch)
                     : Key(action.stage, s, action.tag, action.microBatch);
      if (!(send ? sends : receives).emplace(key, End{s, i, manifest.stages[s].buffers[action.buffer].bytes}).second)
        fail(s, "actions", i,
             format("a second %s with tag %lld, micro-batch %lld and peer stage %lld",
                    actionKindNames[int(action.kind)], (long long)action.tag, (long long)action.microBatch,
                    (long long)action.stage));
    }
  for (const auto &[key, end] : sends) {
    auto match = receives.find(key);
    if (match == receives.end())
      fail(end.stage, "actions", end.action, format("no receive in stage %lld matches", (long long)std::get<1>(key)));
    if (match->second.bytes != end.bytes)
      fail(end.stage, "actions", end.action,
           format("sends %lld bytes, but stages[%zu].actions[%zu] receives %lld", (long long)end.bytes,
                  match->second.stage, match->second.action, (long long)match->second.bytes));
  }
  for (const auto &[key, end] : receives)
    if (!sends.count(key))
      fail(end.stage, "actions", end.action, format("no send in stage %lld matches", (long long)std::get<0>(key)));
}

} // namespace

void checkManifest(const Manifest &manifest) {
  for (size_t stage = 0; stage < manifest.stages.size(); ++stage) {
    checkShapes(manifest, stage);
    checkOverlap(manifest.stages[stage], stage);
    checkSlots(manifest.stages[stage], stage);
  }
  checkMessages(manifest);
}

} // namespace ppcrt
