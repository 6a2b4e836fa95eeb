// Whole runs whose ranks a launcher has started: the same numbers as forked ranks give, and one clear error.
#include "runtime/base/Error.h"
#include "runtime/transport/RankEnvironment.h"
#include "test/Runtime/ProgramRun.h"
#include "test/Runtime/Ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <unistd.h>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

class MpiLaunchTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (std::string reason = whyNot(TransportKind::Mpi); !reason.empty())
      GTEST_SKIP() << reason;
  }
};

std::unique_ptr<ProgramRun> mpirun(int ranks, const std::string &layout, const std::vector<std::string> &arguments,
                                   bool overTcp = false) {
  std::vector<std::string> command = {"mpirun", "-n", std::to_string(ranks)};
  if (overTcp)
    command.insert(command.end(), {"--mca", "btl", "tcp,self"});
  return std::make_unique<ProgramRun>(command, mpirunEnvironment(), layout, arguments);
}

int linesWith(const std::string &text, const std::string &part) {
  std::stringstream stream(text);
  int count = 0;
  for (std::string line; std::getline(stream, line);)
    count += line.find(part) != std::string::npos;
  return count;
}

TEST_F(MpiLaunchTest, TheSameBitsAsForkedRanks) {
  struct Case {
    const char *layout;
    int ranks;
    bool overTcp;
  };
  for (const auto &[layout, ranks, overTcp] :
       {Case{"1,1,1", 1, false}, Case{"1,2,1", 2, false}, Case{"1,1,3", 3, false}, Case{"2,2,2", 8, false},
        Case{"2,1,2", 4, true}}) {
    std::string forked = temporaryPath(std::string("forked") + layout),
                base = temporaryPath(std::string("mpi") + layout);
    auto outputs = [](const std::string &to) {
      return std::vector<std::string>{"--synthetic",
                                      "--steps",
                                      "12",
                                      "--lr",
                                      "2",
                                      "--save-losses",
                                      to + ".losses",
                                      "--save-parameters",
                                      to + ".parameters",
                                      "--save-gradients",
                                      to + ".gradients"};
    };
    ProgramRun local(layout, outputs(forked));
    ASSERT_EQ(local.wait(), 0) << local.err();
    auto run = mpirun(ranks, layout, outputs(base), overTcp);
    ASSERT_EQ(run->wait(), 0) << layout << run->err();
    EXPECT_EQ(run->err(), "");
    EXPECT_EQ(linesWith(run->out(), "transport: mpi (Open MPI "), 1) << run->out();
    EXPECT_EQ(linesWith(run->out(), "step 12 "), 1);
    for (const char *file : {".losses", ".parameters", ".gradients"}) {
      EXPECT_FALSE(readFile(base + file).empty()) << file;
      EXPECT_EQ(readFile(base + file), readFile(forked + file)) << layout << " " << file;
    }
  }
}

TEST_F(MpiLaunchTest, AWrongNumberOfRanksIsOneError) {
  for (int ranks : {1, 3, 5}) {
    auto run = mpirun(ranks, "1,2,2", {"--synthetic"});
    EXPECT_EQ(run->wait(), 1);
    EXPECT_EQ(linesWith(run->err(), "error: "), 1) << run->err();
    EXPECT_EQ(run->err().find("error: the program was compiled for 4 ranks, but mpirun started " +
                              std::to_string(ranks) + ": start it with mpirun -n 4, "),
              0u)
        << run->err();
    EXPECT_EQ(run->out(), "");
  }
}

TEST_F(MpiLaunchTest, RanksOfDifferentProgramsAreRefused) {
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  ProgramRun run({"mpirun", "-n", "1", self, "--program=1,2,1", "--synthetic", "--steps", "3", ":", "-n", "1"},
                 mpirunEnvironment(), "1,1,2", {"--synthetic", "--steps", "3"});
  EXPECT_EQ(run.wait(), 1);
  EXPECT_EQ(run.err().find("error: the ranks were not started alike"), 0u) << run.err();
  EXPECT_NE(run.err().find("\n  layout of the program: "), std::string::npos) << run.err();
  EXPECT_EQ(linesWith(run.err(), "error: "), 1) << run.err();
}

TEST_F(MpiLaunchTest, WhatAllRanksFindIsSaidOnce) {
  std::string folder = temporaryPath("no/such");
  struct Case {
    std::vector<std::string> arguments;
    int status;
    std::string error;
  };
  for (const auto &[arguments, status, error] :
       {Case{{"--bogus"}, 2, "error: unknown argument \"--bogus\": see --help"},
        Case{{"--data", folder}, 1, "error: cannot read " + folder + ": No such file or directory"},
        Case{{"--synthetic", "--log", folder},
             1,
             "error: --log: cannot write " + folder + ": No such file or directory"},
        Case{{"--synthetic", "--transport", "local"}, 1, "error: --transport local forks the ranks in one process"}}) {
    auto run = mpirun(2, "1,2,1", arguments);
    EXPECT_EQ(run->wait(), status);
    EXPECT_EQ(run->err().find(error), 0u) << run->err();
    EXPECT_EQ(linesWith(run->err(), "error: "), 1) << run->err();
  }
}

// A run that stops in the middle goes on from its checkpoint to the losses of an unbroken run, whoever started its
// ranks.
TEST_F(MpiLaunchTest, CheckpointsAreCarriedOnByEitherTransport) {
  auto arguments = [](const std::string &name, const std::string &steps) {
    std::string base = temporaryPath(name); // a constant learning rate, which does not depend on the number of steps
    return std::vector<std::string>{"--synthetic",
                                    "--lr",
                                    "2",
                                    "--min-lr",
                                    "2",
                                    "--warmup",
                                    "0",
                                    "--quiet",
                                    "--save-losses",
                                    base + ".losses",
                                    "--checkpoint-dir",
                                    base,
                                    "--checkpoint-every",
                                    "3",
                                    "--steps",
                                    steps};
  };
  ProgramRun unbroken("2,1,2", arguments("whole", "14"));
  ASSERT_EQ(unbroken.wait(), 0) << unbroken.err();
  std::string expected = readFile(temporaryPath("whole.losses"));
  ASSERT_EQ(std::count(expected.begin(), expected.end(), '\n'), 14);
  for (bool mpiFirst : {true, false}) {
    std::string name = mpiFirst ? "mpi-first" : "local-first";
    for (bool first : {true, false}) {
      std::vector<std::string> words = arguments(name, first ? "5" : "14");
      words.push_back("--resume");
      auto run = first == mpiFirst ? mpirun(4, "2,1,2", words) : std::make_unique<ProgramRun>("2,1,2", words);
      ASSERT_EQ(run->wait(), 0) << run->err();
      EXPECT_EQ(run->err(), "");
    }
    EXPECT_EQ(readFile(temporaryPath(name + ".losses")), expected) << name;
  }
}

TEST_F(MpiLaunchTest, TheMachineIsChecked) {
  auto run = mpirun(4, "2,2,1", {"--check-machine"}, true);
  EXPECT_EQ(run->wait(), 0) << run->err();
  EXPECT_NE(run->out().find("\nmachine check passed: 4 ranks\n"), std::string::npos) << run->out();
}

TEST_F(MpiLaunchTest, ADeadRankEndsAll) {
  auto run = mpirun(4, "1,2,2", {"--synthetic", "--steps", "100000000", "--print-every", "1000000000"});
  ASSERT_TRUE(run->waitForOutput("step 1 "));
  std::vector<pid_t> ranks = run->ranks();
  ASSERT_EQ(ranks.size(), 4u);
  kill(ranks[2], SIGKILL);
  EXPECT_NE(run->wait(), 0);
  EXPECT_NE((run->out() + run->err()).find("exited on signal 9 (Killed)"), std::string::npos) << run->err();
  EXPECT_TRUE(eventually([&] { return gone(ranks); }));
}

// A transport of mpi where there is no MPI: the library is looked for in LD_LIBRARY_PATH first.
TEST(MpiLaunchErrorTest, AMissingLibraryIsNamed) {
  std::string folder = temporaryPath("nothing-in-it");
  writeFile(folder + "-libmpi", "");
  ASSERT_EQ(std::system(("mkdir -p " + folder + " && echo nonsense >" + folder + "/libmpi.so.40").c_str()), 0);
  ProgramRun run({}, {"LD_LIBRARY_PATH=" + folder}, "1,1,1", {"--synthetic", "--transport", "mpi"});
  EXPECT_EQ(run.wait(), 1);
  EXPECT_EQ(
      run.err().find("error: the transport mpi needs Open MPI on every machine, but libmpi.so.40 cannot be loaded ("),
      0u)
      << run.err();
}

TEST(TorchrunTest, OnOneMachineTheFirstProcessForksTheRanks) {
  auto environment = [](int rank, int machines) {
    return std::vector<std::string>{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500", "RANK=" + std::to_string(rank),
                                    "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=" + std::to_string(2 / machines)};
  };
  ProgramRun first({}, environment(0, 1), "1,2,1", {"--synthetic", "--steps", "2"});
  ProgramRun second({}, environment(1, 1), "1,2,1", {"--synthetic", "--steps", "2"});
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(linesWith(first.out(), "done: 2 steps"), 1);
  EXPECT_EQ(second.out() + second.err(), "");
}

class RankEnvironmentTest : public ::testing::Test {
protected:
  void SetUp() override {
    for (const char *name : names)
      unsetenv(name);
  }
  void TearDown() override { SetUp(); }
  void set(const char *name, const char *value) { setenv(name, value, 1); }
  static constexpr const char *names[] = {"OMPI_COMM_WORLD_RANK",
                                          "OMPI_COMM_WORLD_SIZE",
                                          "OMPI_COMM_WORLD_LOCAL_SIZE",
                                          "SLURM_STEP_ID",
                                          "SLURM_PROCID",
                                          "SLURM_STEP_NUM_TASKS",
                                          "PMI_RANK",
                                          "PMI_SIZE",
                                          "PMIX_RANK",
                                          "MASTER_ADDR",
                                          "RANK",
                                          "WORLD_SIZE",
                                          "LOCAL_WORLD_SIZE"};
};

TEST_F(RankEnvironmentTest, EachLauncherIsRecognised) {
  EXPECT_FALSE(readRankEnvironment());
  set("RANK", "3"), set("WORLD_SIZE", "8");
  EXPECT_FALSE(readRankEnvironment()); // many programs set such names
  set("MASTER_ADDR", "node1");
  EXPECT_EQ(readRankEnvironment()->kind, LauncherKind::Torchrun);
  EXPECT_EQ(readRankEnvironment()->rank, 3);
  EXPECT_EQ(readRankEnvironment()->size, 8);
  set("PMI_RANK", "1"), set("PMI_SIZE", "2");
  EXPECT_EQ(readRankEnvironment()->kind, LauncherKind::Pmi);
  set("SLURM_PROCID", "0"), set("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_EQ(readRankEnvironment()->kind, LauncherKind::Pmi); // a batch script
  set("SLURM_STEP_ID", "0");
  EXPECT_EQ(readRankEnvironment()->kind, LauncherKind::Slurm);
  EXPECT_EQ(readRankEnvironment()->size, 4);
  set("SLURM_STEP_NUM_TASKS", "1"); // a shell of its own
  EXPECT_EQ(readRankEnvironment()->kind, LauncherKind::Pmi);
  set("OMPI_COMM_WORLD_RANK", "5"), set("OMPI_COMM_WORLD_SIZE", "6");
  EXPECT_EQ(readRankEnvironment()->kind, LauncherKind::OpenMpi);
  EXPECT_EQ(readRankEnvironment()->size, 6);
}

std::string errorOfEnvironment() {
  try {
    readRankEnvironment();
  } catch (const InputError &error) {
    return error.what();
  }
  return "";
}

TEST_F(RankEnvironmentTest, NonsenseIsRefusedByNameAndValue) {
  set("SLURM_STEP_ID", "0"), set("MASTER_ADDR", "node1");
  const std::vector<const char *> launchers[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
      {"PMI_RANK", "PMI_SIZE"},
      {"PMIX_RANK"},
      {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}};
  for (const std::vector<const char *> &launcher : launchers) {
    auto setAll = [&] {
      for (const char *name : launcher)
        set(name, name == launcher.front() ? "1" : "4");
    };
    setAll();
    ASSERT_TRUE(readRankEnvironment()) << launcher.front();
    for (const char *name : launcher)
      for (const char *value :
           {"x", "1x", "-1", "+1", " 1", "01", "1.0", "0x1", "99999999999", "99999999999999999999"}) {
        setAll();
        set(name, value);
        EXPECT_EQ(errorOfEnvironment(), format("environment variable %s: expected an integer from 0 to 2147483647, "
                                               "found \"%s\": the launcher sets it, or unset it",
                                               name, value));
      }
    for (const char *name : launcher)
      unsetenv(name);
  }
  set("RANK", ""), set("WORLD_SIZE", "2");
  EXPECT_FALSE(readRankEnvironment()) << "an empty one is not set";
  set("RANK", "2");
  EXPECT_EQ(errorOfEnvironment(), "RANK is 2 and WORLD_SIZE is 2: ranks are numbers from 0 to WORLD_SIZE - 1");
  set("WORLD_SIZE", "");
  EXPECT_EQ(errorOfEnvironment(), "RANK is 2 and WORLD_SIZE is not set: torchrun sets both");
}

} // namespace
