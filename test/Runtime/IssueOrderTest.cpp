// The order in which devices begin their communication, for random programs: stages that pass micro-batches on and
// back in random orders, with groups over some stages.
#include "runtime/program/IssueOrder.h"
#include "runtime/base/Error.h"
#include "test/Runtime/Ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

using Key = std::tuple<int64_t, int64_t, int64_t, int64_t>; // from, to, tag, micro-batch; or a call of a group

// A device whose actions have been added in an order that is legal for all of them.
struct Builder {
  Device device;
  std::map<std::pair<int, int64_t>, int64_t> runs; // place, by routine and micro-batch
  std::vector<Action> actions;

  int64_t add(Action action, const std::vector<int64_t> &after) {
    for (int64_t place : after)
      action.after.push_back({int64_t(actions.size()) - place});
    actions.push_back(action);
    return int64_t(actions.size()) - 1;
  }
  int message(bool isSent, int64_t peer, int64_t tag) {
    for (size_t i = 0; i < device.messages.size(); ++i)
      if (device.messages[i].isSent == isSent && device.messages[i].tag == tag)
        return int(i);
    device.messages.push_back({isSent, peer, 0, tag});
    return int(device.messages.size()) - 1;
  }
};

// Each stage runs forward and backward of every micro-batch, in an order of its own; what it receives comes as late as
// it is used, what it sends as early as it is there, and the lists of two stages may name these the other way round.
Manifest randomPipeline(std::mt19937_64 &random, int64_t stages, int64_t microBatches) {
  Manifest manifest;
  manifest.grid = Grid({{"pp", stages}, {"dp", 2}});
  manifest.groups = {{{0}, {}}, {{1}, {}}};
  for (int64_t stage = 0; stage < stages; ++stage) {
    Builder made;
    made.device.streams = {"compute", "up", "down", "groups"};
    made.device.routines = {{RoutineKind::Forward, "forward", {}}, {RoutineKind::Backward, "backward", {}}};
    made.device.collectives = {{CollectiveKind::AllReduce, Reduction::Sum, 0, {}, {}},
                               {CollectiveKind::AllReduce, Reduction::Sum, 1, {}, {}}};
    int64_t ahead = std::min<int64_t>(microBatches, stages - stage + int64_t(random() % 2)), forward = 0, last = 0;
    auto run = [&](int routine, int64_t microBatch) {
      bool isUp = routine == 0; // forward goes to later stages
      int64_t from = isUp ? stage - 1 : stage + 1, to = isUp ? stage + 1 : stage - 1;
      std::vector<int64_t> after;
      int up = isUp ? 1 : 2;
      if (from >= 0 && from < stages)
        after.push_back(made.add(
            {ActionKind::Receive, up, made.message(false, from, 2 * std::min(stage, from) + !isUp), microBatch, {}},
            {}));
      last = made.add({ActionKind::Run, 0, routine, microBatch, {}}, after);
      if (to >= 0 && to < stages)
        made.add({ActionKind::Send, up, made.message(true, to, 2 * std::min(stage, to) + !isUp), microBatch, {}},
                 {last});
    };
    for (int64_t backward = 0; backward < microBatches; ++backward) {
      while (forward < std::min(microBatches, backward + ahead))
        run(0, forward++);
      run(1, backward);
    }
    for (int turn = 0; turn < 2; ++turn) {
      made.add({ActionKind::Collective, 3, 1, -1, {}}, {last});
      made.add({ActionKind::Collective, 3, 0, -1, {}}, {last});
    }
    made.device.step.count = int64_t(made.actions.size());
    made.device.step.parts = {{1, 0, std::move(made.actions)}};
    manifest.devices.push_back(std::move(made.device));
  }
  return manifest;
}

ListOf stepOf() {
  return [](const Device &device) { return &device.step; };
}

TEST(IssueOrderTest, AnyTwoDevicesAgree) {
  uint64_t seed = testSeed();
  int inLists = 0; // programs whose lists alone would not have done
  for (uint64_t turn = 0; turn < 200; ++turn) {
    std::mt19937_64 random(seed + turn);
    Manifest manifest = randomPipeline(random, 2 + int64_t(random() % 4), 1 + int64_t(random() % 6));
    std::vector<std::vector<int64_t>> order = issueOrder(manifest, stepOf());
    bool listsAgree = true;
    std::vector<std::map<Key, int64_t>> turns(manifest.devices.size()), listed(manifest.devices.size());
    for (size_t device = 0; device < manifest.devices.size(); ++device) {
      const Device &of = manifest.devices[device];
      std::vector<Key> keys;
      std::map<int, int64_t> calls;
      std::set<int64_t> all;
      of.step.forEach([&](int64_t place, const Action &action, int64_t microBatch) {
        Key key(-1, 0, 0, 0);
        if (action.kind == ActionKind::Collective)
          key = {-2, action.number, calls[action.number]++, action.number ? int64_t(device) : 0};
        else if (!isOfRank(action.kind)) {
          const MessageEnd &end = of.messages[size_t(action.number)];
          key = {end.isSent ? int64_t(device) : end.peer, end.isSent ? end.peer : int64_t(device), end.tag, microBatch};
        }
        keys.push_back(key);
        if (!isOfRank(action.kind))
          all.insert(place), listed[device][key] = place;
      });
      EXPECT_EQ(std::set<int64_t>(order[device].begin(), order[device].end()), all); // each once
      EXPECT_EQ(order[device].size(), all.size());
      for (size_t i = 0; i < order[device].size(); ++i)
        turns[device][keys[size_t(order[device][i])]] = int64_t(i);
    }
    for (size_t a = 0; a < turns.size(); ++a)
      for (size_t b = a + 1; b < turns.size(); ++b)
        for (const auto &[first, at] : turns[a])
          for (const auto &[second, then] : turns[a])
            if (turns[b].count(first) && turns[b].count(second)) {
              EXPECT_EQ(at < then, turns[b][first] < turns[b][second]) << "turn " << turn;
              listsAgree &= (listed[a][first] < listed[a][second]) == (listed[b][first] < listed[b][second]);
            }
    inLists += !listsAgree;
  }
  EXPECT_GT(inLists, 20); // or nothing was tested
}

TEST(IssueOrderTest, AStandstillNamesTheActions) {
  std::mt19937_64 random(1);
  Manifest manifest = randomPipeline(random, 2, 1);
  // The first stage sends what it has received the answer to.
  std::vector<Action> &actions = manifest.devices[0].step.parts[0].actions;
  ASSERT_EQ(actions[1].kind, ActionKind::Send);
  ASSERT_EQ(actions[2].kind, ActionKind::Receive);
  std::swap(actions[1], actions[2]);
  actions[2].after = {{2}, {1}};
  for (size_t i = 3; i < actions.size(); ++i)
    for (Dependence &after : actions[i].after)
      if (int64_t(i) - after.distance == 2)
        after.distance += 1;
  try {
    issueOrder(manifest, stepOf());
    ADD_FAILURE() << "it has an order";
  } catch (const InputError &error) {
    std::string text = error.what();
    EXPECT_NE(text.find("communication can be begun in no order in which any two ranks agree: devices[0] stands before "
                        "action "),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("devices[1] stands before action 0 (receive, tag 0, micro-batch 0)"), std::string::npos)
        << text;
  }
}

} // namespace
