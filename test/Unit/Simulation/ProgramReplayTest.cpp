// Replayed programs against times in closed form: waits, overlap with computation, shared ports; and machine files that
// are refused.
#include "ppc/Simulation/ProgramReplay.h"

#include "../Scheduling/RandomSchedules.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

namespace {

constexpr double rate = 1000, latency = 0.5; // bytes per second; seconds

/// Ranks of one device over "dp", all of which do the same.
StepProgram dataParallel(int64_t ranks, std::vector<PieceEnd> ends) {
  StepProgram program;
  program.axes = {{"pp", 1}, {"dp", ranks}};
  program.groups = {{{1}, {}}};
  StepAction run;
  run.kind = StepAction::Kind::Run;
  program.devices = {{1, {{"code", std::move(ends)}}, {run}}};
  return program;
}

EmulatedMachine machineOf(std::vector<std::vector<double>> routines, int64_t devices = 1) {
  EmulatedMachine machine;
  machine.links = {{{0, 1}, {}, BytesPerSecond(rate), Seconds(latency)}};
  std::vector<std::vector<Seconds>> pieces;
  for (const std::vector<double> &routine : routines) {
    pieces.emplace_back();
    for (double seconds : routine)
      pieces.back().emplace_back(seconds);
  }
  machine.pieces.assign(devices, pieces);
  return machine;
}

PieceEnd ofCall(PieceEnd::Kind kind, double bytes) { return {kind, {GroupCallKind::AllReduce, 0, Bytes(bytes)}, 0}; }
PieceEnd other(PieceEnd::Kind kind, int32_t number) { return {kind, {}, number}; }

std::vector<ReplayedRank> replay(const StepProgram &program, const EmulatedMachine &machine, int64_t steps = 3) {
  llvm::Expected<std::vector<ReplayedRank>> ranks = replayProgram(program, machine, steps);
  EXPECT_TRUE(bool(ranks)) << (ranks ? "" : llvm::toString(ranks.takeError()));
  return ranks ? *ranks : std::vector<ReplayedRank>(program.rankCount());
}

/// An all-reduce of n ranks: 2 (n - 1) latencies, 2 (n - 1) / n of the bytes.
double allReduce(double bytes, double n) { return 2 * (n - 1) * latency + 2 * (n - 1) / n * bytes / rate; }

} // namespace

TEST(ProgramReplay, WaitsAreExposed) {
  for (int64_t n : {1, 2, 3, 8}) {
    for (const ReplayedRank &rank :
         replay(dataParallel(n, {ofCall(PieceEnd::Kind::Call, 4000)}), machineOf({{2, 3}}))) {
      EXPECT_NEAR(rank.step.value, 5 + allReduce(4000, double(n)), 1e-9) << n << " ranks";
      EXPECT_NEAR(rank.exposed.value, allReduce(4000, double(n)), 1e-9) << n << " ranks";
    }
  }
}

TEST(ProgramReplay, StartedCollectivesOverlapUntilTheirWait) {
  StepProgram program = dataParallel(2, {ofCall(PieceEnd::Kind::Start, 4000), other(PieceEnd::Kind::Wait, 0)});
  for (double beside : {0.5, 4.0, 7.0}) {
    ReplayedRank rank = replay(program, machineOf({{1, beside, 1}}))[0];
    EXPECT_NEAR(rank.step.value, 2 + std::max(beside, allReduce(4000, 2)), 1e-9);
    EXPECT_NEAR(rank.exposed.value, std::max(0.0, allReduce(4000, 2) - beside), 1e-9);
  }
}

TEST(ProgramReplay, SlowerRanksStallTheirGroup) {
  // Two devices; the group is over both.
  StepProgram program = dataParallel(1, {ofCall(PieceEnd::Kind::Call, 4000)});
  program.axes = {{"pp", 2}, {"dp", 1}};
  program.groups = {{{0}, {}}};
  program.devices.push_back(program.devices[0]);
  EmulatedMachine machine = machineOf({{2, 3}}, 2);
  machine.pieces[1][0][0] = Seconds(6);
  std::vector<ReplayedRank> ranks = replay(program, machine, 1);
  EXPECT_NEAR(ranks[0].exposed.value, 4 + allReduce(4000, 2), 1e-9);
  EXPECT_NEAR(ranks[1].exposed.value, allReduce(4000, 2), 1e-9);
}

/// A routine signals a completion event at 2 s and ends at 6 s; a bucket on another stream waits for the event, an
/// update for the bucket.
TEST(ProgramReplay, BucketsBeginAtEarlyTokens) {
  StepProgram program = dataParallel(2, {other(PieceEnd::Kind::Reach, 0)});
  StepDevice &device = program.devices[0];
  device.streams = 2;
  device.routines.push_back({"update", {}});
  StepAction bucket, update = device.actions[0];
  bucket.kind = StepAction::Kind::Collective;
  bucket.stream = 1;
  bucket.after = {{0, 0}};
  bucket.calls = {{GroupCallKind::AllReduce, 0, Bytes(3000)}};
  update.number = 1;
  update.after = {{1, -1}};
  device.actions.insert(device.actions.end(), {bucket, update});
  EXPECT_NEAR(replay(program, machineOf({{2, 4}, {1}}))[0].exposed.value, std::max(0.0, allReduce(3000, 2) - 4), 1e-9);
  // Two buffers at a time: both wait for their latency at once, and share the port.
  device.actions[1].calls.push_back(bucket.calls[0]);
  double both = 2 * latency + 2 * 3000 / rate;
  EXPECT_NEAR(replay(program, machineOf({{2, 4}, {1}}))[0].exposed.value, both - 4, 1e-9);
}

TEST(ProgramReplay, MessagesMeetAndTakeOneStep) {
  StepProgram program;
  program.axes = {{"pp", 2}, {"dp", 2}};
  program.messages = {{0, 1, Bytes(2000)}};
  StepAction run, send, receive;
  run.kind = StepAction::Kind::Run;
  send.kind = StepAction::Kind::Send;
  receive.kind = StepAction::Kind::Receive;
  send.stream = receive.stream = 1;
  send.microBatch = receive.microBatch = 0;
  send.after = {{0, -1}};
  run.after.clear();
  program.devices = {{2, {{"first", {}}}, {run, send}}, {2, {{"second", {}}}, {receive, run}}};
  program.devices[1].actions[1].after = {{0, -1}};
  EmulatedMachine machine = machineOf({{3}}, 2);
  std::vector<ReplayedRank> ranks = replay(program, machine, 1);
  double message = latency + 2000 / rate;
  for (int rank : {0, 1}) {
    EXPECT_NEAR(ranks[rank].step.value, 3 + message, 1e-9);
    EXPECT_NEAR(ranks[rank + 2].step.value, 6 + message, 1e-9);
  }
  // Ranks of a device that share one port share its rate.
  machine.links[0].sharedBy = {1};
  EXPECT_NEAR(replay(program, machine, 1)[0].step.value, 3 + latency + 2 * 2000 / rate, 1e-9);
}

/// Segments and calls run one after the other, whatever they are.
TEST(ProgramReplay, WithoutOverlapTimesAddUp) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  for (int round = 0; round < 100; ++round) {
    int64_t n = 2 + random.below(5), calls = random.below(6);
    std::vector<PieceEnd> ends;
    std::vector<double> pieces = {random.unit()};
    double computes = pieces[0], communicates = 0;
    for (int64_t i = 0; i < calls; ++i) {
      double bytes = 1 + random.below(5000);
      auto kind = GroupCallKind(random.below(5));
      ends.push_back({PieceEnd::Kind::Call, {kind, 0, Bytes(bytes)}, 0});
      pieces.push_back(random.unit());
      computes += pieces.back();
      double steps = kind == GroupCallKind::Permute ? 1 : double(n - 1);
      communicates += kind == GroupCallKind::AllReduce ? allReduce(bytes, double(n)) : steps * (latency + bytes / rate);
    }
    for (const ReplayedRank &rank : replay(dataParallel(n, ends), machineOf({pieces}))) {
      EXPECT_NEAR(rank.step.value, computes + communicates, 1e-6);
      EXPECT_NEAR(rank.exposed.value, communicates, 1e-6);
    }
  }
}

TEST(ProgramReplay, MembersThatDoNotMeetAreAnError) {
  StepProgram program = dataParallel(1, {ofCall(PieceEnd::Kind::Call, 4000)});
  program.axes = {{"pp", 2}, {"dp", 1}};
  program.groups = {{{0}, {}}};
  program.devices.push_back({1, {{"code", {}}}, program.devices[0].actions});
  EmulatedMachine machine = machineOf({{2, 3}}, 2);
  machine.pieces[1] = {{Seconds(1)}};
  llvm::Expected<std::vector<ReplayedRank>> ranks = replayProgram(program, machine, 1);
  ASSERT_FALSE(bool(ranks));
  EXPECT_EQ(llvm::toString(ranks.takeError()), "ranks with rank 0 do not make the same number of calls of a group");
}

namespace {

class EmulatedMachineTest : public ::testing::Test {
protected:
  /// Error for a file with this text.
  std::string refusal(llvm::StringRef text) {
    int file = -1;
    llvm::SmallString<64> path;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("machine", "json", file, path));
    llvm::raw_fd_ostream(file, /*shouldClose=*/true) << text;
    llvm::Expected<EmulatedMachine> machine =
        readEmulatedMachine(dataParallel(2, {ofCall(PieceEnd::Kind::Call, 1)}), path, "");
    std::string message = machine ? "" : llvm::toString(machine.takeError());
    llvm::sys::fs::remove(path);
    size_t at = message.find(path.str());
    return at == std::string::npos ? message : message.replace(at, path.size(), "FILE");
  }
};

} // namespace

TEST_F(EmulatedMachineTest, ErrorsAreNamed) {
  std::string link = R"({"name": "a", "axes": ["pp", "dp"], "bytes_per_s": 10})";
  auto durations = [](llvm::StringRef pieces) {
    return (R"({"slowdown": 2, "devices": [{"bodies": [{"entry": "code", "pieces_s": )" + pieces + "}]}]}").str();
  };
  auto file = [&](const std::string &links, const std::string &more) {
    return R"({"links": [)" + links + "]" + (more.empty() ? "" : R"(, "durations": )" + more) + "}";
  };
  EXPECT_EQ(refusal(file(link, durations("[1, 2]"))), "");
  EXPECT_EQ(refusal(file(link, "")), "FILE: has no \"durations\": give the file that --save-durations wrote");
  EXPECT_EQ(refusal(file(link, durations("[1]"))),
            "the program's routine has another number of segments at FILE.durations.devices[0].bodies[0].pieces_s");
  EXPECT_EQ(refusal(file(link, durations("[1, -2]"))),
            "expected seconds at FILE.durations.devices[0].bodies[0].pieces_s[1]");
  EXPECT_EQ(refusal(file(R"({"name": "a", "axes": ["pp"], "bytes_per_s": 10})", durations("[1, 2]"))),
            "no link has all axes of a group, or \"pp\" for messages at FILE.links");
  EXPECT_EQ(refusal(file(R"({"name": "a", "axes": ["tp"], "bytes_per_s": 10})", durations("[1, 2]"))),
            "the program has no such axis at FILE.links[0].axes[0]");
  EXPECT_EQ(refusal(file(R"({"name": "a", "axes": ["dp"]})", durations("[1, 2]"))),
            "missing at FILE.links[0].bytes_per_s");
  EXPECT_EQ(refusal(file(R"({"name": "a", "axes": ["dp"], "bytes_per_s": 0})", durations("[1, 2]"))),
            "expected a number that programs take here at FILE.links[0].bytes_per_s");
  EXPECT_EQ(refusal(R"({"links": [], "links2": []})"), "unknown key at FILE.links2");
}
