// Ranks that die, and signals: the others stop in the middle of a run that would take days, and nothing is left behind.
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ppcrt::test;

namespace {

const std::vector<std::string> longRun = {"--synthetic", "--steps", "100000000", "--print-every", "1000000000"};

class FailureTest : public ::testing::TestWithParam<const char *> {};

TEST_P(FailureTest, AKilledRankStopsTheOthersAndIsNamed) {
  ProgramRun run(GetParam(), longRun);
  ASSERT_TRUE(run.waitForOutput("step 1 "));
  std::vector<pid_t> ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  kill(ranks[2], SIGKILL);
  EXPECT_EQ(run.wait(), 1);
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
    EXPECT_EQ(run.wait(), 128 + signal);
    EXPECT_TRUE(gone(ranks));
  }
}

TEST_P(FailureTest, RanksDoNotSurviveTheirLauncher) {
  ProgramRun run(GetParam(), longRun);
  ASSERT_TRUE(run.waitForOutput("step 1 "));
  std::vector<pid_t> ranks = run.ranks();
  kill(run.launcher(), SIGKILL);
  EXPECT_EQ(run.wait(), 1000 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return gone(ranks); }));
}

INSTANTIATE_TEST_SUITE_P(Layouts, FailureTest, ::testing::Values("1,2,2", "2,1,2"));

// Some launchers ignore SIGCHLD, and a program inherits it.
TEST(FailureTest, ARunEndsWhereTheEndsOfChildrenAreIgnored) {
  ProgramRun run({"env", "--ignore-signal=CHLD"}, {}, "1,1,2", {"--synthetic", "--steps", "2", "--quiet"});
  EXPECT_EQ(run.wait(), 0) << run.err();
}

TEST(FailureTest, DataTruncatedWhileItIsReadIsNamed) {
  std::string path = temporaryPath("cut");
  writeFile(path, std::string(1 << 20, 'x'));
  ProgramRun run("1,2,1", {"--data", path, "--steps", "100000000", "--print-every", "1000000000"});
  ASSERT_TRUE(run.waitForOutput("step 1 "));
  ASSERT_EQ(truncate(path.c_str(), 8192), 0);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_EQ(run.err().find("error: rank "), 0u) << run.err();
  EXPECT_NE(run.err().find(path), std::string::npos) << run.err();
}

TEST(FailureTest, ALossThatIsNoNumberEndsTheRunAtItsStep) {
  for (const char *layout : {"1,1,1", "2,1,2"}) {
    std::vector<std::string> arguments = {"--synthetic", "--steps", "6", "--lr", "3e38", "--warmup", "0", "--quiet"};
    ProgramRun run(layout, arguments);
    EXPECT_EQ(run.wait(), 1);
    std::string error = run.err();
    EXPECT_EQ(error.find("error: rank "), 0u) << error;
    EXPECT_NE(error.find("in step 2: step 2: "), std::string::npos) << error;
    EXPECT_NE(error.find("; --on-not-finite=continue trains on\n"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), error.size() - 1) << "more than one line: " << error;
    arguments.push_back("--on-not-finite=continue");
    ProgramRun other(layout, arguments);
    EXPECT_EQ(other.wait(), 0) << other.err();
    EXPECT_NE(other.err().find("warning: rank "), std::string::npos) << other.err();
  }
}

TEST(FailureTest, AFullDiskUnderTheLogIsToldOnce) {
  ProgramRun run("1,2,1", {"--synthetic", "--steps", "3", "--log", "/dev/full"});
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(run.err(), "warning: cannot write /dev/full: No space left on device: it ends with the step before this "
                       "one, and training goes on\n");
  EXPECT_NE(run.out().find("done: 3 steps"), std::string::npos) << run.out();
}

// The limit on the size of a file stands for a disk that is full.
TEST(FailureTest, ALogOnAFullDiskEndsWithAWholeLine) {
  std::string losses = temporaryPath("short.losses");
  rlimit before{}, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  small = {1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  ProgramRun run("1,2,1", {"--synthetic", "--steps", "150", "--quiet", "--save-losses", losses});
  int status = run.wait();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(run.err(), "warning: cannot write " + losses +
                           ": File too large: it ends with the step before this one, and training goes on\n");
  std::string text = readFile(losses);
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(text.back(), '\n');
  EXPECT_GT(text.size(), 980u);
}

TEST(FailureTest, ALogIntoAPipeWithoutReader) {
  std::string pipe = temporaryPath("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ProgramRun alone("1,1,1", {"--synthetic", "--steps", "3", "--quiet", "--log", pipe});
  EXPECT_EQ(alone.wait(), 1);
  EXPECT_EQ(alone.err(), "error: --log: cannot write " + pipe + ": it is a pipe that nothing reads\n");
  int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ProgramRun run("1,1,1", {"--synthetic", "--steps", "200000", "--quiet", "--log", pipe});
  pollfd waited{reader, POLLIN, 0};
  EXPECT_EQ(poll(&waited, 1, int(patience * 1000)), 1);
  close(reader);
  EXPECT_TRUE(run.waitForError("\n"));
  EXPECT_EQ(run.err(), "warning: cannot write " + pipe +
                           ": Broken pipe: it ends with the step before this one, and training goes on\n");
  kill(run.launcher(), SIGTERM);
  EXPECT_EQ(run.wait(), 128 + SIGTERM);
}

TEST(FailureTest, APipeAsDataIsReadAndNoReasonToHang) {
  std::string pipe = temporaryPath("data-pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ProgramRun alone("1,1,1", {"--data", pipe, "--steps", "1"});
  EXPECT_EQ(alone.wait(), 1);
  EXPECT_EQ(alone.err(), "error: cannot read " + pipe + ": a pipe through which nothing has come for 5 s\n");
  for (const char *option : {"--tokenizer", "--weights"}) {
    ProgramRun other("1,1,1", {"--synthetic", option, pipe, "--steps", "1"});
    EXPECT_NE(other.wait(), -1) << option;
  }
  ProgramRun run("1,2,1", {"--data", pipe, "--steps", "2", "--quiet"});
  int writer = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  std::string text(3000, 'a');
  EXPECT_EQ(write(writer, text.data(), text.size()), ssize_t(text.size()));
  close(writer);
  EXPECT_EQ(run.wait(), 0) << run.err();
}

} // namespace
