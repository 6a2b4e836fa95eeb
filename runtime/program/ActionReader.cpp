// Numbers to actions.
#include "runtime/program/ActionReader.h"
#include "runtime/base/Error.h"

#include <algorithm>

namespace ppcrt {
namespace {

using Value = JsonValue;

class ActionReader {
public:
  ActionReader(const Device &device, int64_t microBatches) : device(device), microBatches(microBatches) {}

  ActionList read(const Value &value);

private:
  Action readAction(const Value &value, int64_t place) const;
  Dependence readDependence(const Value &value, int64_t place) const;
  int readNumber(const Value &value, ActionKind kind) const;
  Repetition readRepetition(const Value &value) const;
  void count(const Value &value, const Repetition &part);

  const Device &device;
  int64_t microBatches;
  ActionList list;
};

int ActionReader::readNumber(const Value &value, ActionKind kind) const {
  switch (kind) {
  case ActionKind::Load:
    return int(value.integer(0, 0));
  case ActionKind::Run:
    return int(value.integer(0, int64_t(device.routines.size()) - 1));
  case ActionKind::Collective:
    return int(value.integer(0, int64_t(device.collectives.size()) - 1));
  case ActionKind::Copy:
    return int(value.integer(0, int64_t(device.copies.size()) - 1));
  case ActionKind::Send:
  case ActionKind::Receive:
    break;
  }
  int number = int(value.integer(0, int64_t(device.messages.size()) - 1));
  if (device.messages[number].isSent != (kind == ActionKind::Send))
    value.fail(format("message %d is %s by this device", number, kind == ActionKind::Send ? "received" : "sent"));
  return number;
}

// Of an action at `place`: a distance, or [distance, number of an early token].
Dependence ActionReader::readDependence(const Value &value, int64_t place) const {
  if (place == 0)
    value.fail("the first action comes after none");
  if (!value.isArray())
    return {value.integer(1, place), Dependence::end};
  std::vector<Value> items = value.list();
  if (items.size() != 2)
    value.fail("expected [distance, number of an early token]");
  return {items[0].integer(1, place), items[1].integer(0, Routine::mostEarlyTokens - 1)};
}

// `place` is how many actions come before it, in the first turn.
Action ActionReader::readAction(const Value &value, int64_t place) const {
  std::vector<Value> items = value.list();
  if (items.size() < 4)
    value.fail("expected [what, stream, number, micro-batch, after...]");
  Action action;
  action.kind = ActionKind(items[0].integer(0, actionKindCount - 1));
  action.stream = int(items[1].integer(0, int64_t(device.streams.size()) - 1));
  action.number = readNumber(items[2], action.kind);
  bool ofStep = (action.kind == ActionKind::Run && isOfStep(device.routines[action.number].kind)) ||
                (action.kind == ActionKind::Collective &&
                 !device.buffers[device.collectives[action.number].reads.front()].hasSlots) ||
                (action.kind == ActionKind::Copy && !device.buffers[device.copies[action.number].from].hasSlots);
  action.microBatch = ofStep ? items[3].integer(-1, -1) : items[3].integer(0, microBatches - 1);
  for (size_t i = 4; i < items.size(); ++i) {
    action.after.push_back(readDependence(items[i], place));
  }
  return action;
}

Repetition ActionReader::readRepetition(const Value &value) const {
  Repetition part;
  part.repeat = value.at("repeat").integer(1, ActionList::limit);
  part.step = value.at("step").integer(-microBatches, microBatches);
  std::vector<Value> items = value.at("actions").list();
  if (items.empty())
    value.at("actions").fail("expected at least one action");
  for (const Value &item : items) {
    part.actions.push_back(readAction(item, list.count + int64_t(part.actions.size())));
    const Action &action = part.actions.back();
    int64_t last = action.microBatch + (part.repeat - 1) * part.step;
    if (action.microBatch >= 0 && (last < 0 || last >= microBatches))
      item.fail(format("the last of %lld turns is for micro-batch %lld, and there are %lld micro-batches",
                       (long long)part.repeat, (long long)last, (long long)microBatches));
  }
  return part;
}

void ActionReader::count(const Value &value, const Repetition &part) {
  list.count += part.repeat * int64_t(part.actions.size());
  if (list.count > ActionList::limit)
    value.fail(format("more than %lld actions in a list", (long long)ActionList::limit));
}

ActionList ActionReader::read(const Value &value) {
  bool isOpen = false; // the last part takes more actions
  for (const Value &item : value.list()) {
    if (item.isObject()) {
      list.parts.push_back(readRepetition(item));
      count(item, list.parts.back());
      isOpen = false;
      continue;
    }
    if (!isOpen)
      list.parts.emplace_back();
    isOpen = true;
    list.parts.back().actions.push_back(readAction(item, list.count));
    if (++list.count > ActionList::limit)
      item.fail(format("more than %lld actions in a list", (long long)ActionList::limit));
  }
  return std::move(list);
}

} // namespace

ActionList readActions(const JsonValue &value, const Device &device, int64_t microBatches) {
  return ActionReader(device, microBatches).read(value);
}

} // namespace ppcrt
