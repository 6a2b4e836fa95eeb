// The invariants of a manifest.
#include "runtime/base/Error.h"
#include "runtime/program/Manifest.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ppcrt {
namespace {

[[noreturn]] void fail(size_t device, const char *list, size_t index, const std::string &what) {
  throw InputError(format("manifest: devices[%zu].%s[%zu]: ", device, list, index) + what);
}

void checkShapes(const Manifest &manifest, size_t deviceIndex) {
  const Device &device = manifest.devices[deviceIndex];
  for (size_t i = 0; i < device.buffers.size(); ++i) {
    const Buffer &buffer = device.buffers[i];
    auto expect = [&](DataType type, const std::vector<int64_t> &logical) {
      std::vector<int64_t> shape = localShape(manifest.grid, logical, buffer.cuts);
      if (buffer.shape != shape || buffer.type != type)
        fail(deviceIndex, "buffers", i,
             format("%s \"%s\" is %s of %s, expected %s of %s", roleNames[int(buffer.role)], buffer.name.c_str(),
                    showShape(buffer.shape).c_str(), info(buffer.type).name, showShape(shape).c_str(),
                    info(type).name));
    };
    bool ofMicroBatch = buffer.role == Role::Input || buffer.role == Role::Saved || buffer.role == Role::Message;
    if (buffer.hasSlots != ofMicroBatch)
      fail(deviceIndex, "buffers", i,
           format("role %s %s", roleNames[int(buffer.role)], ofMicroBatch ? "needs \"slots\"" : "has no \"slots\""));
    switch (buffer.role) {
    case Role::Parameter:
    case Role::State:
    case Role::Gradient: {
      const Parameter &parameter = manifest.parameters[buffer.parameter];
      for (const Cut &cut : buffer.cuts)
        if (cut.dim >= int64_t(parameter.shape.size()))
          fail(deviceIndex, "buffers", i, "a dimension that the parameter does not have is cut");
      // States and gradients may be kept in another type than the parameter (bf16 parameters, f32 states).
      expect(buffer.role == Role::Parameter ? parameter.type : buffer.type, parameter.shape);
      break;
    }
    case Role::Scalar:
    case Role::Metric:
      expect(DataType::F32, {});
      break;
    case Role::Input:
      expect(DataType::I32, {manifest.microBatchSize(), manifest.sequenceLength});
      for (const Cut &cut : buffer.cuts)
        if (int64_t extent = cut.dim ? manifest.sequenceLength : manifest.microBatchSize();
            extent % manifest.grid.sizeOver(cut.axes))
          fail(deviceIndex, "buffers", i,
               format("dimension %lld of %lld is cut into %lld parts: inputs cannot be padded", (long long)cut.dim,
                      (long long)extent, (long long)manifest.grid.sizeOver(cut.axes)));
      break;
    case Role::Accumulator:
    case Role::Prepared:
    case Role::Message:
    case Role::Saved:
    case Role::Scratch:
    case Role::Gathered:
      break;
    }
  }
}

// Routines that run one after the other may share their scratch, and what is gathered is gone after its last use.
void checkOverlap(const Device &device, size_t deviceIndex) {
  std::vector<size_t> byStart;
  for (size_t i = 0; i < device.buffers.size(); ++i) {
    const Buffer &buffer = device.buffers[i];
    if (buffer.bytes && buffer.shares < 0)
      byStart.push_back(i);
    if (buffer.shares < 0)
      continue;
    const Buffer &owner = device.buffers[size_t(buffer.shares)];
    if (size_t(buffer.shares) == i || owner.shares >= 0 || buffer.places.empty() || owner.places.empty() ||
        buffer.offset != owner.offset || buffer.stride != owner.stride || buffer.slots != owner.slots ||
        buffer.bytes != owner.bytes)
      fail(deviceIndex, "buffers", i, format("cannot share the slots of buffers[%d], which are others", buffer.shares));
  }
  std::sort(byStart.begin(), byStart.end(),
            [&](size_t a, size_t b) { return device.buffers[a].offset < device.buffers[b].offset; });
  auto describe = [&](size_t i) {
    const Buffer &buffer = device.buffers[i];
    return format("buffers[%zu] (%s%s%s)", i, roleNames[int(buffer.role)], buffer.name.empty() ? "" : " ",
                  buffer.name.c_str());
  };
  // Of those so far, the one that reaches furthest.
  const size_t none = device.buffers.size();
  size_t kept = none, scratch = none;
  for (size_t i : byStart) {
    const Buffer &buffer = device.buffers[i];
    bool isScratch = buffer.role == Role::Scratch || buffer.role == Role::Gathered;
    for (size_t other : {kept, scratch})
      if (other != none && !(isScratch && other == scratch) && device.buffers[other].end() > buffer.offset)
        throw InputError(format("manifest: devices[%zu]: %s overlaps %s at byte %lld of the memory", deviceIndex,
                                describe(i).c_str(), describe(other).c_str(), (long long)buffer.offset));
    size_t &furthest = isScratch ? scratch : kept;
    if (furthest == none || buffer.end() > device.buffers[furthest].end())
      furthest = i;
  }
}

// Buffers that lie in the same slots: of each who uses it, and which slots its micro-batches have.
struct SlotUse {
  struct Member {
    std::vector<bool> users; // loads, routines, messages, collectives, copies: by userOf()
    std::vector<int64_t> places;
    bool operator<(const Member &other) const { return std::tie(users, places) < std::tie(other.users, other.places); }
  };
  int64_t slots;
  bool isInput;
  std::vector<Member> members;
  // M4 holds for all that are alike or for none.
  bool operator<(const SlotUse &other) const { return std::tie(slots, members) < std::tie(other.slots, other.members); }
};

class SlotCheck {
public:
  SlotCheck(const Device &device, size_t deviceIndex, int64_t microBatches);

  void run(const ActionList &list, const char *name) const {
    for (const SlotUse &use : uses)
      run(use, list, name);
  }

private:
  size_t userOf(const Action &action) const {
    size_t number = size_t(action.number), messages = 1 + device.routines.size();
    return action.kind == ActionKind::Load         ? 0
           : action.kind == ActionKind::Run        ? 1 + number
           : action.kind == ActionKind::Collective ? messages + device.messages.size() + number
           : action.kind == ActionKind::Copy ? messages + device.messages.size() + device.collectives.size() + number
                                             : messages + number;
  }
  void run(const SlotUse &use, const ActionList &list, const char *name) const;

  const Device &device;
  size_t deviceIndex;
  std::vector<SlotUse> uses;
};

SlotCheck::SlotCheck(const Device &device, size_t deviceIndex, int64_t microBatches)
    : device(device), deviceIndex(deviceIndex) {
  size_t loads = 0, messages = 1 + device.routines.size(), collectives = messages + device.messages.size();
  size_t copies = collectives + device.collectives.size(), userCount = copies + device.copies.size();
  std::vector<std::vector<bool>> users(device.buffers.size(), std::vector<bool>(userCount));
  for (size_t i = 0; i < device.buffers.size(); ++i)
    users[i][loads] = device.buffers[i].role == Role::Input;
  for (size_t i = 0; i < device.routines.size(); ++i)
    for (int buffer : device.routines[i].buffers)
      users[buffer][1 + i] = true;
  for (size_t i = 0; i < device.messages.size(); ++i)
    users[device.messages[i].buffer][messages + i] = true;
  for (size_t i = 0; i < device.collectives.size(); ++i)
    for (const std::vector<int> *buffers : {&device.collectives[i].reads, &device.collectives[i].writes})
      for (int buffer : *buffers)
        users[size_t(buffer)][collectives + i] = true;
  for (size_t i = 0; i < device.copies.size(); ++i)
    for (int buffer : {device.copies[i].from, device.copies[i].to})
      users[size_t(buffer)][copies + i] = true;
  std::map<size_t, SlotUse> bySlots; // by the buffer whose they are
  for (size_t i = 0; i < device.buffers.size(); ++i) {
    const Buffer &buffer = device.buffers[i];
    if (!buffer.hasSlots)
      continue;
    size_t owner = buffer.shares < 0 ? i : size_t(buffer.shares);
    int64_t slots = buffer.places.empty() ? std::min(buffer.slots, microBatches) : buffer.slots;
    auto use = bySlots.try_emplace(owner, SlotUse{slots, buffer.role == Role::Input, {}}).first;
    use->second.members.push_back({users[i], buffer.places});
  }
  std::set<SlotUse> known;
  for (auto &[owner, use] : bySlots)
    if (known.insert(use).second)
      uses.push_back(std::move(use));
}

void SlotCheck::run(const SlotUse &use, const ActionList &list, const char *name) const {
  struct Holder {
    size_t member = 0;
    int64_t microBatch = -1, place = -1; // of the action that used it last
  };
  std::vector<Holder> holders(use.slots);     // of slots
  std::set<std::pair<size_t, int64_t>> begun; // values that have had a slot
  list.forEach([&](int64_t place, const Action &action, int64_t microBatch) {
    if (microBatch < 0)
      return;
    for (size_t i = 0; i < use.members.size(); ++i) {
      const SlotUse::Member &member = use.members[i];
      if (!member.users[userOf(action)])
        continue;
      Holder &holder = holders[member.places.empty() ? microBatch % use.slots : member.places[microBatch]];
      Holder before = std::exchange(holder, {i, microBatch, place});
      if (before.member == i && before.microBatch == microBatch)
        continue;
      if (use.isInput && action.kind != ActionKind::Load)
        fail(deviceIndex, name, place,
             format("uses inputs of micro-batch %lld that are not loaded", (long long)microBatch));
      if (!begun.insert({i, microBatch}).second || before.place == place)
        fail(deviceIndex, name, place,
             format("micro-batch %lld uses a slot that micro-batch %lld has used since (%lld slots)",
                    (long long)microBatch, (long long)before.microBatch, (long long)use.slots));
    }
  });
}

// M5.
void checkTokens(const Device &device, size_t deviceIndex, const ActionList &list, const char *name) {
  std::vector<uint8_t> given; // early tokens of each place
  given.reserve(size_t(list.count));
  list.forEach([&](int64_t place, const Action &action, int64_t) {
    for (const Dependence &after : action.after)
      if (int64_t there = given[size_t(place - after.distance)]; after.token >= there)
        fail(deviceIndex, name, size_t(place),
             format("takes early token %lld of the action %lld before it, which gives %lld", (long long)after.token,
                    (long long)after.distance, (long long)there));
    given.push_back(action.kind == ActionKind::Run ? uint8_t(device.routines[size_t(action.number)].earlyTokens) : 0);
  });
}

// What the devices of a group must agree on.
struct CollectiveShape {
  CollectiveKind kind;
  Reduction reduction;
  std::vector<std::pair<DataType, int64_t>> calls; // elements read

  bool operator==(const CollectiveShape &other) const {
    return kind == other.kind && reduction == other.reduction && calls == other.calls;
  }
};

std::vector<CollectiveShape> shapesOver(const Device &device, int group, const ActionList &list) {
  std::vector<CollectiveShape> result;
  list.forEach([&](int64_t, const Action &action, int64_t) {
    if (action.kind != ActionKind::Collective || device.collectives[size_t(action.number)].group != group)
      return;
    const CollectiveCall &call = device.collectives[size_t(action.number)];
    result.push_back({call.kind, call.reduction, {}});
    for (int number : call.reads) {
      const Buffer &buffer = device.buffers[size_t(number)];
      result.back().calls.emplace_back(buffer.type, elementCount(buffer.shape));
    }
  });
  return result;
}

// M6, for groups that hold ranks of several devices.
void checkCollectives(const Manifest &manifest) {
  for (size_t number = 0; number < manifest.groups.size(); ++number) {
    const GroupSpec &group = manifest.groups[number];
    if (std::find(group.axes.begin(), group.axes.end(), manifest.grid.stageAxisIndex()) == group.axes.end())
      continue;
    int64_t first = group.stages.empty() ? 0 : group.stages.front();
    std::vector<CollectiveShape> expected =
        shapesOver(manifest.devices[size_t(first)], int(number), manifest.devices[size_t(first)].step);
    for (size_t d = 0; d < manifest.devices.size(); ++d)
      if (bool isMember = group.stages.empty() ||
                          std::find(group.stages.begin(), group.stages.end(), int64_t(d)) != group.stages.end();
          isMember && !(shapesOver(manifest.devices[d], int(number), manifest.devices[d].step) == expected))
        throw InputError(format("manifest: devices[%zu].step: its collectives over group %zu are not those of device "
                                "%lld, which is in the group, too",
                                d, number, (long long)first));
  }
}

// Micro-batches from `begin` to before `end`.
struct Span {
  int64_t begin, end;
  bool operator==(const Span &other) const { return begin == other.begin && end == other.end; }
};
using Spans = std::vector<Span>; // ascending, apart from each other

// Which micro-batches each end of a device's messages carries.
std::vector<Spans> carriedBy(const Device &device, size_t deviceIndex, const ActionList &list, const char *name) {
  std::vector<Spans> result(device.messages.size());
  for (const Repetition &part : list.parts)
    for (const Action &action : part.actions) {
      if (action.kind != ActionKind::Send && action.kind != ActionKind::Receive)
        continue;
      Spans &spans = result[action.number];
      int64_t first = action.microBatch, last = first + (part.repeat - 1) * part.step;
      if (std::abs(part.step) == 1) // most repetitions, at once
        spans.push_back({std::min(first, last), std::max(first, last) + 1});
      else
        for (int64_t turn = 0; turn < part.repeat; ++turn)
          spans.push_back({first + turn * part.step, first + turn * part.step + 1});
    }
  for (size_t i = 0; i < result.size(); ++i) {
    Spans &spans = result[i], merged;
    std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) { return a.begin < b.begin; });
    for (const Span &span : spans) {
      if (!merged.empty() && span.begin < merged.back().end)
        fail(deviceIndex, "messages", i,
             format("micro-batch %lld is %s twice in \"%s\"", (long long)span.begin,
                    device.messages[i].isSent ? "sent" : "received", name));
      if (!merged.empty() && span.begin == merged.back().end)
        merged.back().end = span.end;
      else
        merged.push_back(span);
    }
    spans = std::move(merged);
  }
  return result;
}

// The first micro-batch of `spans` that is not in `others`; -1 when there is none.
int64_t firstMissing(const Spans &spans, const Spans &others) {
  for (const Span &span : spans) {
    auto after = std::upper_bound(others.begin(), others.end(), span.begin,
                                  [](int64_t value, const Span &other) { return value < other.begin; });
    if (after == others.begin() || (after - 1)->end <= span.begin)
      return span.begin;
    if ((after - 1)->end < span.end)
      return (after - 1)->end;
  }
  return -1;
}

struct End {
  size_t device, message;
  Spans step, evaluate;
};

void checkPair(const Manifest &manifest, const End &sent, const End &received) {
  const MessageEnd &from = manifest.devices[sent.device].messages[sent.message];
  const MessageEnd &to = manifest.devices[received.device].messages[received.message];
  if (from.peer != int64_t(received.device))
    fail(sent.device, "messages", sent.message,
         format("is sent to device %lld, but received by device %zu", (long long)from.peer, received.device));
  if (to.peer != int64_t(sent.device))
    fail(received.device, "messages", received.message,
         format("is received from device %lld, but sent by device %zu", (long long)to.peer, sent.device));
  int64_t sentBytes = manifest.devices[sent.device].buffers[from.buffer].bytes,
          receivedBytes = manifest.devices[received.device].buffers[to.buffer].bytes;
  if (sentBytes != receivedBytes)
    fail(sent.device, "messages", sent.message,
         format("sends %lld bytes, but devices[%zu].messages[%zu] receives %lld", (long long)sentBytes, received.device,
                received.message, (long long)receivedBytes));
  for (auto [name, spans] : {std::pair("step", &End::step), std::pair("evaluate", &End::evaluate)}) {
    if (int64_t missing = firstMissing(sent.*spans, received.*spans); missing >= 0)
      fail(sent.device, "messages", sent.message,
           format("sends micro-batch %lld in \"%s\", which device %zu does not receive", (long long)missing, name,
                  received.device));
    if (int64_t missing = firstMissing(received.*spans, sent.*spans); missing >= 0)
      fail(received.device, "messages", received.message,
           format("receives micro-batch %lld in \"%s\", which device %zu does not send", (long long)missing, name,
                  sent.device));
  }
  if (int64_t missing = firstMissing(sent.evaluate, sent.step); missing >= 0)
    fail(sent.device, "messages", sent.message,
         format("carries micro-batch %lld in \"evaluate\" and not in \"step\"", (long long)missing));
}

void checkMessages(const Manifest &manifest) {
  std::map<int64_t, End> sent, received; // by tag
  for (size_t d = 0; d < manifest.devices.size(); ++d) {
    const Device &device = manifest.devices[d];
    std::vector<Spans> step = carriedBy(device, d, device.step, "step"), evaluate(device.messages.size());
    if (device.evaluate)
      evaluate = carriedBy(device, d, *device.evaluate, "evaluate");
    for (size_t i = 0; i < device.messages.size(); ++i) {
      const MessageEnd &end = device.messages[i];
      if (!(end.isSent ? sent : received).try_emplace(end.tag, End{d, i, step[i], evaluate[i]}).second)
        fail(d, "messages", i,
             format("a second message with tag %lld is %s", (long long)end.tag, end.isSent ? "sent" : "received"));
    }
  }
  for (const auto &[tag, end] : sent) {
    auto match = received.find(tag);
    if (match == received.end())
      fail(end.device, "messages", end.message, format("no device receives tag %lld", (long long)tag));
    checkPair(manifest, end, match->second);
  }
  for (const auto &[tag, end] : received)
    if (!sent.count(tag))
      fail(end.device, "messages", end.message, format("no device sends tag %lld", (long long)tag));
}

} // namespace

void checkManifest(const Manifest &manifest) {
  for (size_t i = 0; i < manifest.devices.size(); ++i) {
    const Device &device = manifest.devices[i];
    checkShapes(manifest, i);
    checkOverlap(device, i);
    const SlotCheck slots(device, i, manifest.microBatches);
    slots.run(device.step, "step");
    checkTokens(device, i, device.step, "step");
    if (device.evaluate)
      checkTokens(device, i, *device.evaluate, "evaluate");
    if (device.evaluate)
      slots.run(*device.evaluate, "evaluate");
  }
  checkMessages(manifest);
  checkCollectives(manifest);
}

} // namespace ppcrt
