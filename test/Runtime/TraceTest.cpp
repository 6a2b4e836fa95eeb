// Traces of whole runs, and what they are made of.
#include "runtime/metrics/Trace.h"
#include "runtime/mpi/MpiTransport.h"
#include "test/Runtime/BigramProgram.h"
#include "test/Runtime/ProgramRun.h"
#include "test/Runtime/Ranks.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

using namespace ppcrt;
using namespace ppcrt::test;
using nlohmann::json;

namespace {

// Slices of each (rank, track) do not overlap, and every step of every rank holds what its stage does.
void checkTrace(const std::string &path, int ranks, int steps) {
  json trace = json::parse(readFile(path));
  struct Slice {
    double begin, end;
  };
  std::map<std::pair<int, int>, std::vector<Slice>> tracks;
  std::map<int, std::map<std::string, int>> names;
  std::set<std::string> processes;
  double earliest = 1e18;
  for (const json &event : trace["traceEvents"]) {
    if (event["ph"] == "M") {
      if (event["name"] == "process_name")
        processes.insert(event["args"]["name"].get<std::string>().substr(0, 7));
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    double begin = event["ts"], length = event["dur"];
    EXPECT_GE(length, 0);
    earliest = std::min(earliest, begin);
    tracks[{event["pid"], event["tid"]}].push_back({begin, begin + length});
    std::string name = event["name"];
    ++names[event["pid"]][name.substr(0, name.find(' '))];
    EXPECT_TRUE(event["args"]["step"] >= 1 && event["args"]["step"] <= steps);
    if (name == "forward" || name == "send" || name == "receive") {
      EXPECT_LT(event["args"]["micro_batch"], microBatches);
    }
  }
  EXPECT_EQ(earliest, 0);
  EXPECT_EQ(int(processes.size()), ranks);
  EXPECT_EQ(int(names.size()), ranks);
  for (auto &[rank, count] : names) {
    EXPECT_EQ(count["step"], steps) << rank;
    EXPECT_EQ(count["forward"], steps * microBatches) << rank;
    EXPECT_EQ(count["backward"], steps * microBatches) << rank;
    EXPECT_EQ(count["update"], steps) << rank;
    EXPECT_GT(count["all_reduce"], 0) << rank;
    EXPECT_EQ(count["send"], steps * microBatches) << rank;
    EXPECT_EQ(count["receive"], steps * microBatches) << rank;
  }
  for (const auto &[track, slices] : tracks)
    for (size_t i = 1; i < slices.size(); ++i)
      EXPECT_GE(slices[i].begin + 0.01, slices[i - 1].end) << "rank " << track.first << " track " << track.second;
}

TEST(TraceTest, EveryRankIsInOneFile) {
  std::string path = temporaryPath("trace.json");
  ProgramRun run("2,1,2", {"--synthetic", "--steps", "3", "--quiet", "--trace", path});
  ASSERT_EQ(run.wait(), 0) << run.err();
  checkTrace(path, 4, 3);
}

TEST(TraceTest, ManyBatchesOfSlices) {
  std::string path = temporaryPath("long.json");
  ProgramRun run("2,2,1", {"--synthetic", "--steps", "700", "--quiet", "--trace", path});
  ASSERT_EQ(run.wait(), 0) << run.err();
  checkTrace(path, 4, 700);
}

TEST(TraceTest, RanksOfMpiAreInOneFile) {
  if (std::string reason = whyNot(TransportKind::Mpi); !reason.empty())
    GTEST_SKIP() << reason;
  std::string path = temporaryPath("mpi.json");
  ProgramRun run({"mpirun", "-n", "4"}, mpirunEnvironment(), "2,2,1",
                 {"--synthetic", "--steps", "3", "--quiet", "--trace", path});
  ASSERT_EQ(run.wait(), 0) << run.err();
  checkTrace(path, 4, 3);
}

TEST(TraceTest, AFileThatCannotBeWrittenIsNamed) {
  ProgramRun missing("1,2,1", {"--synthetic", "--steps", "3", "--trace", temporaryPath("no/such")});
  EXPECT_EQ(missing.wait(), 1);
  EXPECT_EQ(missing.err(),
            "error: --trace: cannot write " + temporaryPath("no/such") + ": No such file or directory\n");
  ProgramRun full("1,2,1", {"--synthetic", "--steps", "3", "--trace", "/dev/full"});
  EXPECT_EQ(full.wait(), 0) << "what was trained is not lost with it";
  EXPECT_EQ(full.err().find("warning: the trace is not written: "), 0u) << full.err();
  EXPECT_NE(full.err().find("No space left on device\n"), std::string::npos) << full.err();
}

TEST(TraceRecorderTest, WhatHasNoRoomIsCounted) {
  TraceRecorder recorder(3);
  for (int step = 1; step <= 5; ++step) {
    recorder.beginStep(step);
    recorder.endStep();
  }
  EXPECT_EQ(recorder.slices().size(), 3u);
  EXPECT_EQ(recorder.omitted(), 2);
}

class GatherTest : public ::testing::TestWithParam<TransportCase> {};

TEST_P(GatherTest, TheFirstRankGetsEverything) {
  int n = GetParam().ranks;
  LocalWorldShape shape;
  shape.arenaBytes.assign(n, 4096);
  runOnRanks(GetParam().kind, shape, [n](Transport &transport, std::byte *) -> std::string {
    int rank = transport.rank();
    for (int64_t bytes : {int64_t(1), int64_t(1000), int64_t(1000), Transport::gatherLimit, int64_t(17)}) {
      std::vector<uint8_t> in(bytes, uint8_t(rank * 10 + bytes % 7)), out(rank == 0 ? n * bytes : 0);
      transport.gather(in.data(), bytes, out.data());
      for (size_t i = 0; i < out.size(); ++i)
        if (out[i] != uint8_t(int64_t(i) / bytes * 10 + bytes % 7))
          return format("byte %zu of %lld is wrong", i, (long long)bytes);
    }
    transport.barrier(Transport::everyRank);
    return "";
  });
}

// Ranks of one machine share a clock: what asking for the time gives is how wrong it is.
TEST_P(GatherTest, ClocksAreAligned) {
  LocalWorldShape shape;
  shape.arenaBytes.assign(GetParam().ranks, 4096);
  runOnRanks(GetParam().kind, shape, [](Transport &transport, std::byte *) -> std::string {
    if (transport.clockOffset() != 0)
      return "there is one machine and one clock";
    if (auto *mpi = dynamic_cast<MpiTransport *>(&transport)) {
      int64_t offset = mpi->measureClockOffset();
      if (std::abs(offset) > 2'000'000)
        return format("the measured offset is %lld ns", (long long)offset);
    }
    return "";
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GatherTest,
                         ::testing::Values(TransportCase{TransportKind::Local, 1},
                                           TransportCase{TransportKind::Local, 3},
                                           TransportCase{TransportKind::Mpi, 3}),
                         nameOf);

} // namespace
