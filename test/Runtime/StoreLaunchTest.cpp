// Whole runs whose processes connect themselves: the same numbers as forked ranks give, and one clear error of all that
// can go wrong while they start or run.
#include "runtime/launch/StoreAddress.h"
#include "runtime/transport/RankEnvironment.h"
#include "test/Runtime/ProgramRun.h"
#include "test/Runtime/Ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sys/socket.h>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

using Runs = std::vector<std::unique_ptr<ProgramRun>>;

std::vector<std::string> environmentOf(int rank, int ranks, int port, const std::string &host = ownAddress()) {
  return {"MASTER_ADDR=" + host, "MASTER_PORT=" + std::to_string(port), "RANK=" + std::to_string(rank),
          "WORLD_SIZE=" + std::to_string(ranks)};
}

// `layout` on as many processes as `ranks` says, but for `missing`.
Runs start(int ranks, int port, const std::string &layout, std::vector<std::string> arguments, int missing = -1,
           const std::string &host = ownAddress()) {
  arguments.insert(arguments.end(), {"--transport", "tcp"});
  Runs runs;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != missing)
      runs.push_back(std::make_unique<ProgramRun>(std::vector<std::string>{}, environmentOf(rank, ranks, port, host),
                                                  layout, arguments));
  return runs;
}

// Waits for all; what they have said of errors, and whether one has done its work.
struct Outcome {
  std::vector<int> statuses;
  std::string errors;
};
Outcome end(Runs &runs) {
  Outcome outcome;
  for (auto &run : runs) {
    outcome.statuses.push_back(run->wait());
    outcome.errors += run->err();
  }
  return outcome;
}

int count(const std::string &text, const std::string &part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// All fail, and one of them says why, which holds `part`.
void expectOneError(const Outcome &outcome, const std::string &part) {
  for (int status : outcome.statuses)
    EXPECT_EQ(status, 1) << outcome.errors;
  EXPECT_EQ(count(outcome.errors, "error: "), 1) << outcome.errors;
  EXPECT_NE(outcome.errors.find(part), std::string::npos) << outcome.errors;
}

TEST(StoreLaunchTest, TheSameBitsAsForkedRanks) {
  for (const auto &[layout, ranks] : {std::pair("1,1,1", 1), std::pair("1,2,1", 2), std::pair("2,1,2", 4)}) {
    std::string forked = temporaryPath(std::string("forked") + layout),
                base = temporaryPath(std::string("tcp") + layout);
    auto arguments = [](const std::string &to) {
      return std::vector<std::string>{
          "--synthetic",       "--steps",         "6", "--lr", "2", "--save-losses", to + ".losses",
          "--save-parameters", to + ".parameters"};
    };
    ProgramRun local(layout, arguments(forked));
    ASSERT_EQ(local.wait(), 0) << local.err();
    Runs runs = start(ranks, freePort(), layout, arguments(base));
    Outcome outcome = end(runs);
    EXPECT_EQ(std::count(outcome.statuses.begin(), outcome.statuses.end(), 0), ranks);
    EXPECT_EQ(outcome.errors, "");
    EXPECT_NE(runs[0]->out().find("transport: tcp (" + ownAddress() + ":"), std::string::npos) << runs[0]->out();
    for (const char *file : {".losses", ".parameters"}) {
      EXPECT_FALSE(readFile(base + file).empty()) << file;
      EXPECT_EQ(readFile(base + file), readFile(forked + file)) << layout << " " << file;
    }
  }
}

TEST(StoreLaunchTest, RunsOfTwoAddressesShareAPort) {
  int port = freePort();
  Runs first = start(2, port, "1,2,1", {"--synthetic", "--steps", "2", "--quiet"});
  Runs second = start(2, port, "1,2,1", {"--synthetic", "--steps", "2", "--quiet"}, -1, "127.0.0.1");
  for (Runs *runs : {&first, &second}) {
    Outcome outcome = end(*runs);
    EXPECT_EQ(outcome.statuses, (std::vector<int>{0, 0})) << outcome.errors;
  }
}

TEST(StoreLaunchTest, AMissingRankIsNamed) {
  // Where the others are late, too, they are given more time.
  for (int seconds = 1; seconds < int(patience); seconds *= 2) {
    Runs runs =
        start(3, freePort(), "1,1,3", {"--synthetic", "--steps", "2", "--join-timeout", std::to_string(seconds)}, 1);
    Outcome outcome = end(runs);
    if (outcome.errors.find(" of 3 ranks have not come to ") != std::string::npos)
      continue;
    expectOneError(outcome, "1 of 3 ranks has not come to " + ownAddress() + ":");
    EXPECT_NE(runs[0]->err().find(" within " + std::to_string(seconds) + " s: 1; --join-timeout SECONDS waits longer"),
              std::string::npos)
        << runs[0]->err();
    return;
  }
  ADD_FAILURE() << "two ranks do not find each other";
}

TEST(StoreLaunchTest, AMissingFirstRankIsNamed) {
  Runs runs = start(2, freePort(), "1,2,1", {"--synthetic", "--steps", "2", "--join-timeout", "1"}, 0);
  expectOneError(end(runs), "rank 0 cannot be reached at " + ownAddress() + ":");
}

TEST(StoreLaunchTest, APortThatIsTakenIsNamed) {
  int port = freePort();
  tcp::Socket other = tcp::listenAt({ownAddress(), port});
  Runs runs = start(1, port, "1,1,1", {"--synthetic", "--steps", "2"});
  expectOneError(end(runs), "error: rank 0 cannot listen at " + ownAddress() + ":" + std::to_string(port) +
                                ": Address already in use: another run may use the port");
}

TEST(StoreLaunchTest, OtherProgramsAndNumbersAreRefused) {
  int port = freePort();
  Runs runs;
  for (int rank : {0, 1})
    runs.push_back(
        std::make_unique<ProgramRun>(std::vector<std::string>{}, environmentOf(rank, 2, port), rank ? "1,1,2" : "1,2,1",
                                     std::vector<std::string>{"--synthetic", "--steps", "2", "--transport", "tcp"}));
  expectOneError(end(runs), "layout of the program: ");
  runs = start(3, freePort(), "1,2,1", {"--synthetic", "--steps", "2"});
  expectOneError(end(runs), "the program was compiled for 2 ranks, but torchrun started 3");
  port = freePort();
  runs.clear();
  for (int turn : {0, 1, 2})
    runs.push_back(
        std::make_unique<ProgramRun>(std::vector<std::string>{}, environmentOf(turn ? 1 : 0, 3, port), "1,1,3",
                                     std::vector<std::string>{"--synthetic", "--steps", "2", "--transport", "tcp"}));
  expectOneError(end(runs), "two processes say that they are rank 1");
}

// Killed ones are noticed at once, stopped ones after the time that is given; whichever it is, all end.
TEST(StoreLaunchTest, ADeadOrStoppedRankEndsAll) {
  for (int victim : {0, 2})
    for (int signal : {SIGKILL, SIGSTOP}) {
      const char *timeout = signal == SIGKILL ? "600" : "5"; // those that live must be heard of in that time
      Runs runs =
          start(3, freePort(), "1,1,3",
                {"--synthetic", "--steps", "100000000", "--print-every", "1000000000", "--hang-timeout", timeout});
      ASSERT_TRUE(runs[0]->waitForOutput("step 1 "));
      kill(runs[size_t(victim)]->launcher(), signal);
      std::string said;
      for (int rank = 0; rank < 3; ++rank)
        if (rank != victim) {
          EXPECT_EQ(runs[size_t(rank)]->wait(), 1);
          said += runs[size_t(rank)]->err();
        }
      kill(runs[size_t(victim)]->launcher(), SIGKILL);
      EXPECT_EQ(count(said, "error: "), 1) << said;
      EXPECT_NE(said.find("error: rank " + std::to_string(victim) + (victim ? " on " : " at ")), std::string::npos)
          << said;
      EXPECT_NE(said.find(signal == SIGKILL ? "has ended" : "has not been heard of for "), std::string::npos) << said;
    }
}

TEST(StoreAddressTest, NodesOfSlurm) {
  EXPECT_EQ(firstNode("gpu[03-07,9],login"), "gpu03");
  EXPECT_EQ(firstNode("login,gpu[03-07,9]"), "login");
  EXPECT_EQ(firstNode("node1"), "node1");
  EXPECT_EQ(firstNode("a-1[7],b"), "a-17");
  EXPECT_EQ(firstNode("x[]"), "");
}

TEST(StoreAddressTest, WhatOptionsAndEnvironmentsSay) {
  auto with = [](std::vector<std::pair<const char *, const char *>> variables, const char *store,
                 RankEnvironment environment) {
    const char *names[] = {"MASTER_ADDR",         "MASTER_PORT",  "TORCHELASTIC_USE_AGENT_STORE",
                           "SLURM_STEP_NODELIST", "SLURM_JOB_ID", "SLURM_STEP_ID"};
    for (const char *name : names)
      unsetenv(name);
    for (auto [name, value] : variables)
      setenv(name, value, 1);
    Options options;
    options.store = store;
    std::string shown;
    try {
      shown = show(storeAddress(options, environment));
    } catch (const std::exception &error) {
      shown = error.what();
    }
    for (const char *name : names)
      unsetenv(name);
    return shown;
  };
  RankEnvironment torchrun{LauncherKind::Torchrun, "torchrun", 0, 4, 2}, slurm{LauncherKind::Slurm, "srun", 0, 4, 0},
      mpi{LauncherKind::OpenMpi, "mpirun", 0, 4, 2};
  EXPECT_EQ(with({{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}}, "", torchrun), "node1:29500");
  EXPECT_EQ(with({{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}}, "",
                 torchrun),
            "node1:29501");
  EXPECT_EQ(with({{"MASTER_ADDR", "node1"}}, "::1:99", torchrun), "::1:99");
  EXPECT_EQ(with({{"SLURM_STEP_NODELIST", "gpu[3-4]"}, {"SLURM_JOB_ID", "11"}, {"SLURM_STEP_ID", "2"}}, "", slurm),
            "gpu3:20090");
  EXPECT_EQ(with({}, "", mpi), "mpirun does not say where rank 0 is: give --store HOST:PORT, the same to all ranks");
  EXPECT_EQ(with({}, "node1", mpi), "--store: expected HOST:PORT, found \"node1\"");
  EXPECT_EQ(with({}, "node1:70000", mpi), "--store: expected a port from 1 to 65535, found \"70000\"");
  EXPECT_EQ(with({{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "x"}}, "", torchrun),
            "MASTER_PORT: expected a port from 1 to 65535, found \"x\"");
}

} // namespace
