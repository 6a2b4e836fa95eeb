// A run of all devices in which communication takes no time.
#include "runtime/program/IssueOrder.h"
#include "runtime/base/Error.h"
#include "runtime/program/ActionOrder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

namespace ppcrt {
namespace {

// What one device or several do together: a message, or a call of a group, which is that of one device where the group
// has no members elsewhere.
using Key = std::tuple<int64_t, int64_t, int64_t, int64_t>;

class Run {
public:
  Run(const Manifest &manifest, const ListOf &list) : manifest(manifest), result(manifest.devices.size()) {
    for (size_t device = 0; device < manifest.devices.size(); ++device) {
      const Device &of = manifest.devices[device];
      const ActionList *actions = list(of);
      orders.push_back(actions ? ActionOrder(*actions, of.streams.size()) : ActionOrder());
      streams.push_back(actions ? of.streams.size() : 0);
      nextOfRank.push_back(0);
      keys.emplace_back();
      std::map<int, int64_t> calls;
      for (int64_t place = 0; place < orders.back().size(); ++place) {
        const auto &[action, microBatch] = orders.back().at(place);
        keys.back().push_back(isOfRank(action->kind) ? Key() : keyOf(device, *action, microBatch, calls));
        if (!isOfRank(action->kind))
          ends[keys.back().back()].push_back({device, place});
      }
    }
  }

  std::vector<std::vector<int64_t>> run() {
    for (;;) {
      bool moved = false;
      for (size_t device = 0; device < orders.size(); ++device)
        moved |= advance(device);
      if (const Key *key = choose()) {
        for (const End &end : ends[*key])
          begin(end);
        moved = true;
      }
      if (std::all_of(orders.begin(), orders.end(), [](const ActionOrder &order) { return order.haveAllEnded(); }))
        return std::move(result);
      if (!moved)
        throw InputError("communication can be begun in no order in which any two ranks agree: " + standstill());
    }
  }

private:
  struct End {
    size_t device;
    int64_t place;
  };

  Key keyOf(size_t device, const Action &action, int64_t microBatch, std::map<int, int64_t> &calls) const {
    const Device &of = manifest.devices[device];
    if (action.kind == ActionKind::Collective) {
      int group = of.collectives[size_t(action.number)].group;
      const GroupSpec &spec = manifest.groups[size_t(group)];
      bool spansStages =
          std::find(spec.axes.begin(), spec.axes.end(), manifest.grid.stageAxisIndex()) != spec.axes.end();
      return {-1 - group, calls[group]++, spansStages ? -1 : int64_t(device), 0};
    }
    if (action.kind == ActionKind::Copy) // of one device, and each another one
      return {std::numeric_limits<int64_t>::min(), int64_t(device), calls[-1]++, 0};
    const MessageEnd &end = of.messages[size_t(action.number)];
    int64_t own = int64_t(device);
    return {end.isSent ? own : end.peer, end.isSent ? end.peer : own, end.tag, microBatch};
  }

  // What the rank itself does, as far as it may. Of a routine all tokens are there when it has run.
  bool advance(size_t device) {
    ActionOrder &order = orders[device];
    int64_t &place = nextOfRank[device];
    bool moved = false;
    for (; place < order.size(); ++place) {
      if (!isOfRank(order.at(place).action->kind))
        continue;
      if (!order.mayBegin(place))
        break;
      order.begin(place);
      order.end(place, 0);
      moved = true;
    }
    return moved;
  }

  bool mayBegin(const End &end) {
    ActionOrder &order = orders[end.device];
    return order.next(order.at(end.place).action->stream) == end.place && order.mayBegin(end.place);
  }

  // Of what all of its devices may begin, the one with the smallest place in a list, then with the smallest key.
  const Key *choose() {
    const Key *chosen = nullptr;
    int64_t best = 0;
    for (size_t device = 0; device < orders.size(); ++device)
      for (size_t stream = 0; stream < streams[device]; ++stream) {
        int64_t place = orders[device].next(int(stream));
        if (place == ActionOrder::none || isOfRank(orders[device].at(place).action->kind))
          continue;
        const Key &key = keys[device][size_t(place)];
        const std::vector<End> &all = ends[key];
        int64_t first = place;
        for (const End &end : all)
          first = std::min(first, end.place);
        bool isBetter = !chosen || std::tie(first, key) < std::tie(best, *chosen);
        if (isBetter && std::all_of(all.begin(), all.end(), [&](const End &end) { return mayBegin(end); }))
          chosen = &key, best = first;
      }
    return chosen;
  }

  void begin(const End &end) {
    orders[end.device].begin(end.place);
    orders[end.device].end(end.place, 0);
    result[end.device].push_back(end.place);
  }

  std::string describe(size_t device, int64_t place) const {
    const auto &[action, microBatch] = orders[device].at(place);
    const Device &of = manifest.devices[device];
    std::string text = format("action %lld (", (long long)place);
    if (action->kind == ActionKind::Collective)
      text += format("%s of group %d", collectiveNames[int(of.collectives[size_t(action->number)].kind)],
                     of.collectives[size_t(action->number)].group);
    else if (action->kind == ActionKind::Copy)
      text += "copy";
    else if (isOfRank(action->kind))
      text += action->kind == ActionKind::Load ? "load" : of.routines[size_t(action->number)].entry;
    else
      text += format("%s, tag %lld", action->kind == ActionKind::Send ? "send" : "receive",
                     (long long)of.messages[size_t(action->number)].tag);
    return text + (microBatch >= 0 ? format(", micro-batch %lld)", (long long)microBatch) : ")");
  }

  std::string standstill() const {
    std::string text;
    for (size_t device = 0; device < orders.size(); ++device)
      for (size_t stream = 0; stream < streams[device]; ++stream)
        if (int64_t place = orders[device].next(int(stream)); place != ActionOrder::none)
          text += format("%sdevices[%zu] stands before ", text.empty() ? "" : ", ", device) + describe(device, place);
    return text;
  }

  const Manifest &manifest;
  std::vector<ActionOrder> orders;      // [device]
  std::vector<size_t> streams;          // [device]: so many
  std::vector<int64_t> nextOfRank;      // [device]: place of what the rank does next, or before it
  std::vector<std::vector<Key>> keys;   // [device][place]
  std::map<Key, std::vector<End>> ends; // of a device each
  std::vector<std::vector<int64_t>> result;
};

} // namespace

std::vector<std::vector<int64_t>> issueOrder(const Manifest &manifest, const ListOf &list) {
  return Run(manifest, list).run();
}

} // namespace ppcrt
