// One owner at a time, with the locks of the file system and without: those that live are respected, those that were
// killed are not.
#include "runtime/core/FolderLock.h"
#include "runtime/core/Error.h"
#include "runtime/core/Machine.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace ppcrt;
using namespace ppcrt::test;
namespace fs = std::filesystem;

namespace {

constexpr double quick = 0.1;

class FolderLockTest : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    static int number = 0;
    folder = temporaryPath("locked" + std::to_string(number++));
  }
  // Why the folder cannot be had, or nothing.
  std::string refusal() const {
    try {
      FolderLock lock(folder, quick, GetParam());
      return "";
    } catch (const InputError &error) {
      return error.what();
    }
  }
  // A process that holds the folder until it is killed.
  pid_t startOwner() const {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
      FolderLock lock(folder, quick, GetParam());
      lock.startBeating();
      if (write(ready[1], "x", 1) != 1)
        _exit(1);
      while (true)
        pause();
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
  }
  static void end(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  std::string folder;
};

TEST_P(FolderLockTest, OneAfterTheOther) {
  for (int turn = 0; turn < 3; ++turn) {
    FolderLock lock(folder, quick, GetParam());
    lock.startBeating();
    EXPECT_EQ(lock.takenOver(), "");
    EXPECT_NE(refusal().find(" is used by another run (process " + std::to_string(getpid())), std::string::npos);
    lock.check();
  }
  EXPECT_FALSE(fs::exists(folder)) << "it was made for the lock and stayed empty";
}

TEST_P(FolderLockTest, AKilledOwnerIsReplaced) {
  pid_t owner = startOwner();
  EXPECT_NE(refusal().find(" is used by another run (process " + std::to_string(owner)), std::string::npos);
  end(owner);
  FolderLock lock(folder, quick, GetParam());
  EXPECT_NE(lock.takenOver().find("process " + std::to_string(owner)), std::string::npos) << lock.takenOver();
}

TEST_P(FolderLockTest, AForkedRankHoldsIt) {
  auto lock = std::make_unique<FolderLock>(folder, quick, GetParam());
  pid_t rank = fork();
  if (rank == 0) {
    lock->startBeating();
    while (true)
      pause();
  }
  EXPECT_NE(refusal(), "");
  end(rank);
  lock.reset();
  EXPECT_EQ(refusal(), "");
}

// What a run on another machine, to which locks do not reach, leaves or goes on writing.
TEST_P(FolderLockTest, AnOwnerOnAnotherMachineIsWatched) {
  nlohmann::json owner = {{"id", 77},     {"host", "elsewhere"}, {"machine", machineIdentity() ^ 1},
                          {"process", 1}, {"started", "then"},   {"count", 5}};
  fs::create_directories(folder);
  writeFile(folder + "/run.lock", owner.dump());
  pid_t writer = fork();
  if (writer == 0)
    for (int count = 6;; ++count) {
      owner["count"] = count;
      writeFile(folder + "/run.lock.next", owner.dump());
      fs::rename(folder + "/run.lock.next", folder + "/run.lock");
      usleep(20000);
    }
  usleep(100000);
  EXPECT_NE(refusal().find("(process 1 on elsewhere, since then)"), std::string::npos);
  end(writer);
  FolderLock lock(folder, quick, GetParam());
  EXPECT_NE(lock.takenOver().find("on elsewhere"), std::string::npos) << lock.takenOver();
}

TEST_P(FolderLockTest, WhoWasTakenOverNotices) {
  FolderLock lock(folder, quick, GetParam());
  writeFile(folder + "/run.lock",
            R"({"id": 5, "host": "h", "machine": 1, "process": 2, "started": "now", "count": 0})");
  EXPECT_THROW(lock.check(), InputError);
}

// Many come at the same time to a folder that a killed run has left: one gets it.
TEST_P(FolderLockTest, OneOfManyGetsIt) {
  end(startOwner());
  std::vector<pid_t> racers;
  for (int i = 0; i < 12; ++i)
    if (pid_t child = fork(); child == 0) {
      try {
        FolderLock lock(folder, quick, GetParam());
        lock.startBeating();
        usleep(3'000'000);
        lock.check();
        _exit(0);
      } catch (const InputError &) {
        _exit(1);
      }
    } else {
      racers.push_back(child);
    }
  int winners = 0;
  for (pid_t racer : racers) {
    int status = 0;
    waitpid(racer, &status, 0);
    winners += status == 0;
  }
  EXPECT_EQ(winners, 1);
}

INSTANTIATE_TEST_SUITE_P(Locks, FolderLockTest, ::testing::Bool(), [](const ::testing::TestParamInfo<bool> &info) {
  return std::string(info.param ? "WithLocks" : "WithoutLocks");
});

} // namespace
