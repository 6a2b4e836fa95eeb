// Ranks that die, and signals: the others stop within seconds, and nothing is left behind.
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>

#include <chrono>
#include <unistd.h>

using namespace ppcrt::test;

namespace {

const std::vector<std::string> longRun = {"--synthetic", "--steps", "100000000", "--print-every", "1000000000"};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class FailureTest : public ::testing::TestWithParam<const char *> {};

TEST_P(FailureTest, AKilledRankStopsTheOthersAndIsNamed) {
  ProgramRun run(GetParam(), longRun);
  ASSERT_TRUE(run.waitForOutput("step 1 "));
  std::vector<pid_t> ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  auto start = std::chrono::steady_clock::now();
  kill(ranks[2], SIGKILL);
  EXPECT_EQ(run.wait(10), 1);
  EXPECT_LT(secondsSince(start), 3);
  EXPECT_TRUE(gone(ranks));
  EXPECT_EQ(run.err().find("error: rank 2 ("), 0u) << run.err();
  EXPECT_NE(run.err().find("was killed by signal 9 (Killed); the other ranks were stopped\n"), std::string::npos);
  EXPECT_EQ(run.err().find('\n'), run.err().size() - 1) << "more than one line: " << run.err();
}

TEST_P(FailureTest, SignalsToTheLauncherStopEverything) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ProgramRun run(GetParam(), longRun);
    ASSERT_TRUE(run.waitForOutput("step 1 "));
    std::vector<pid_t> ranks = run.ranks();
    kill(run.launcher(), signal);
    EXPECT_EQ(run.wait(10), 128 + signal);
    EXPECT_TRUE(gone(ranks));
  }
}

TEST_P(FailureTest, RanksDoNotSurviveTheirLauncher) {
  ProgramRun run(GetParam(), longRun);
  ASSERT_TRUE(run.waitForOutput("step 1 "));
  std::vector<pid_t> ranks = run.ranks();
  kill(run.launcher(), SIGKILL);
  EXPECT_EQ(run.wait(10), 1000 + SIGKILL);
  for (int turn = 0; turn < 200 && !gone(ranks); ++turn)
    usleep(10000);
  EXPECT_TRUE(gone(ranks));
}

INSTANTIATE_TEST_SUITE_P(Layouts, FailureTest, ::testing::Values("1,2,2", "2,1,2"));

TEST(FailureTest, DataThatIsCutWhileItIsReadIsNamed) {
  std::string path = temporaryPath("cut");
  writeFile(path, std::string(1 << 20, 'x'));
  ProgramRun run("1,2,1", {"--data", path, "--steps", "100000000", "--print-every", "1000000000"});
  ASSERT_TRUE(run.waitForOutput("step 1 "));
  ASSERT_EQ(truncate(path.c_str(), 8192), 0);
  EXPECT_EQ(run.wait(20), 1);
  EXPECT_EQ(run.err().find("error: rank "), 0u) << run.err();
  EXPECT_NE(run.err().find(path), std::string::npos) << run.err();
}

TEST(FailureTest, ALossThatIsNoNumberEndsTheRunAtItsStep) {
  for (const char *layout : {"1,1,1", "2,1,2"}) {
    std::vector<std::string> arguments = {"--synthetic", "--steps", "6", "--lr", "3e38", "--warmup", "0", "--quiet"};
    ProgramRun run(layout, arguments);
    EXPECT_EQ(run.wait(10), 1);
    std::string error = run.err();
    EXPECT_EQ(error.find("error: rank "), 0u) << error;
    EXPECT_NE(error.find("in step 2: step 2: "), std::string::npos) << error;
    EXPECT_NE(error.find("; --on-not-finite=continue trains on\n"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), error.size() - 1) << "more than one line: " << error;
    arguments.push_back("--on-not-finite=continue");
    ProgramRun other(layout, arguments);
    EXPECT_EQ(other.wait(10), 0) << other.err();
    EXPECT_NE(other.err().find("warning: rank "), std::string::npos) << other.err();
  }
}

TEST(FailureTest, AFullDiskIsNamed) {
  ProgramRun run("1,2,1", {"--synthetic", "--steps", "3", "--log", "/dev/full"});
  EXPECT_EQ(run.wait(10), 1);
  EXPECT_NE(run.err().find("cannot write /dev/full: No space left on device\n"), std::string::npos) << run.err();
}

} // namespace
