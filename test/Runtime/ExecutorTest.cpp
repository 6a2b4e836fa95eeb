// The order in which a rank does things, seen from a transport that writes it down.
#include "runtime/base/Error.h"
#include "runtime/executor/PlanExecutor.h"
#include "runtime/host/HostMemory.h"
#include "test/Runtime/BigramProgram.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

using namespace ppcrt;
using namespace ppcrt::test;
using nlohmann::json;

namespace {

// Rank 1 of 2 with nobody else: messages arrive at once, as zeros, and leave when somebody waits.
class RecordingTransport final : public Transport {
public:
  int rank() const override { return 1; }
  int rankCount() const override { return 2; }
  int groupCount() const override { return 3; }
  int groupSize(int) const override { return 1; }
  int groupIndex(int) const override { return 0; }
  Request start(const Collective &) override { return endedAtOnce; }
  Request startSend(int to, MessageKey key, const void *, int64_t) override {
    log += format("send %lld to %d; ", (long long)key.microBatch, to);
    outstanding.push_back(key.microBatch + 1);
    return outstanding.back();
  }
  Request startReceive(int from, MessageKey key, void *bytes, int64_t size) override {
    log += format("receive %lld from %d; ", (long long)key.microBatch, from);
    std::memset(bytes, 0, size);
    return endedAtOnce;
  }
  bool test(Request request) override {
    return std::find(outstanding.begin(), outstanding.end(), request) == outstanding.end();
  }
  void wait(Request) override {}
  // Only the last one that was sent ends.
  void waitAny(double) override {
    log += format("wait %lld; ", (long long)outstanding.back() - 1);
    outstanding.pop_back();
  }
  std::vector<Request> outstanding;
  std::string log;
};

class Recorder final : public ExecutionObserver {
public:
  explicit Recorder(std::string &log) : log(log) {}
  void begin(const char *what, int64_t microBatch) override { log += format("%s %lld; ", what, (long long)microBatch); }
  void end() override {}
  std::string &log;
};

// The last device of two, one micro-batch after the other, in one slot or two.
json sequentialManifest(int slots) {
  const ppcrt_program &program = bigramProgram("2,1,1");
  json manifest = json::parse(std::string(program.manifest, program.manifest_size));
  for (json &device : manifest["devices"]) {
    for (json &buffer : device["buffers"])
      if (buffer.contains("slots"))
        buffer["slots"] = slots;
    json ordered = json::array();
    for (int m : {0, 1, -1})
      for (json action : device["step"])
        if (action[3] == m) {
          if (slots == 1 && m == 1 && action[0] == 0) // loads where the last one may still be sent from
            action.push_back(1);
          if (slots == 1 && m == 1 && action[0] == 3) // receives where the last one is still read
            action.push_back(3);
          ordered.push_back(action);
        }
    device["step"] = ordered;
  }
  return manifest;
}

class ExecutorTest : public ::testing::Test {
protected:
  // What happens in two steps, or two evaluations.
  std::string log(const json &text, bool evaluates = false) {
    Manifest manifest = parseManifest(text.dump());
    RecordingTransport transport;
    RankContext context(transport);
    std::vector<std::byte> arena(manifest.devices[1].arenaBytes);
    HostMemory memory(arena.data(), int64_t(arena.size()));
    RandomTokens tokens(sequenceLength, vocabulary, 0);
    Recorder recorder(transport.log);
    HostFunctions code(manifest.devices[1], bigramProgram("2,1,1"));
    PlanExecutor executor(manifest, code, context, memory, tokens, &recorder);
    executor.initializeParameters(0);
    for (int turn = 0; turn < 2; ++turn)
      evaluates ? void(executor.evaluate(turn, tokens)) : void(executor.run(turn + 1, 0.1));
    return transport.log;
  }
};

TEST_F(ExecutorTest, ASlotIsNotReusedBeforeItsMessagesAreGone) {
  std::string step = "receive 0 from 0; forward 0; backward 0; send 0 to 0; receive 1 from 0; wait 0; "
                     "forward 1; backward 1; send 1 to 0; update -1; wait 1; ";
  EXPECT_EQ(log(sequentialManifest(1)), step + step);
}

// Receives begin as soon as their slots are free, and a send does not wait for the one before it.
TEST_F(ExecutorTest, OtherSlotsAreUsedAtOnce) {
  std::string step = "receive 0 from 0; receive 1 from 0; forward 0; backward 0; send 0 to 0; "
                     "forward 1; backward 1; send 1 to 0; update -1; wait 1; wait 0; ";
  EXPECT_EQ(log(sequentialManifest(2)), step + step);
}

// A stream does one thing after the other: with its second send the first has ended.
TEST_F(ExecutorTest, WhatComesAfterASendComesAfterThoseBeforeItOnItsStream) {
  json manifest = sequentialManifest(2);
  manifest["devices"][1]["step"].back().push_back(1);
  std::string step = "receive 0 from 0; receive 1 from 0; forward 0; backward 0; send 0 to 0; "
                     "forward 1; backward 1; send 1 to 0; wait 1; wait 0; update -1; ";
  EXPECT_EQ(log(manifest), step + step);
}

TEST_F(ExecutorTest, OtherStreamsAreNotWaitedFor) {
  json manifest = sequentialManifest(2);
  json &device = manifest["devices"][1];
  device["streams"].push_back("out again");
  json &actions = device["step"];
  actions[9][1] = 3; // the second send
  actions.back().push_back(1);
  std::string step = "receive 0 from 0; receive 1 from 0; forward 0; backward 0; send 0 to 0; "
                     "forward 1; backward 1; send 1 to 0; wait 1; update -1; wait 0; ";
  EXPECT_EQ(log(manifest), step + step);
}

TEST_F(ExecutorTest, AnEvaluationDoesItsOwnActions) {
  json manifest = sequentialManifest(2);
  for (json &device : manifest["devices"]) {
    bool isLast = device["messages"][0]["to"] == -1;
    json forward = json::array({{0, 0, 0, 0}});
    if (isLast)
      forward.push_back({3, 2, 0, 0});
    forward.push_back({1, 0, 0, 0});
    if (!isLast)
      forward.push_back({2, 1, 0, 0, 1});
    device["evaluate"] = {{{"repeat", microBatches}, {"step", 1}, {"actions", forward}}};
  }
  std::string messages = "receive 0 from 0; receive 1 from 0; "; // routines are not observed in it
  EXPECT_EQ(log(manifest, true), messages + messages);
}

// What ppcrt_main says about a program that cannot run.
std::string refusalOf(ppcrt_program program) {
  char name[] = "train", flag[] = "--synthetic", *arguments[] = {name, flag};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ppcrt_main(&program, 2, arguments), 1);
  return ::testing::internal::GetCapturedStderr();
}

TEST(ProgramTest, RefusalsNameWhatIsWrong) {
  ppcrt_program program = bigramProgram("1,1,1");
  ppcrt_program old = program, empty = program, huge = program;
  for (uint32_t version : {1, 9}) {
    old.abi_version = version;
    EXPECT_EQ(
        refusalOf(old),
        format("error: the program was compiled for ABI %u, this runtime has ABI 4: compile it again\n", version));
  }
  empty.entry_count = 0;
  EXPECT_EQ(refusalOf(empty),
            "error: manifest: devices[0].routines[0].entry: the program has no function \"stage0.forward\"\n");
  json manifest = json::parse(std::string(program.manifest, program.manifest_size));
  manifest["devices"][0]["arena_bytes"] = int64_t(1) << 45;
  std::string text = manifest.dump();
  huge.manifest = text.data();
  huge.manifest_size = text.size();
  EXPECT_EQ(refusalOf(huge).find("error: the 1 ranks need 32.0 TiB of memory, this machine has "), 0u);
}

} // namespace
