// One owner at a time, with the locks of the file system and without: those that live are respected, those that were
// killed are not.
#include "runtime/files/FolderLock.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"
#include "runtime/host/Memory.h"
#include "test/Runtime/ProgramRun.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace ppcrt;
using namespace ppcrt::test;
namespace fs = std::filesystem;

namespace {

constexpr double quick = 0.02; // seconds of a beat: nothing depends on how long one takes

class FolderLockTest : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    static int number = 0;
    folder = temporaryPath("locked" + std::to_string(number++));
  }
  // While an owner is watched, time goes by until it has beaten; where none lives, at once.
  void letOwnerBeat() const {
    std::string before = readFile(folder + "/run.lock");
    EXPECT_TRUE(!ownerLives || eventually([&] { return readFile(folder + "/run.lock") != before; }));
  }
  std::unique_ptr<FolderLock> take() const {
    return std::make_unique<FolderLock>(folder, quick, GetParam(), [this](double) { letOwnerBeat(); });
  }
  // Why the folder cannot be had, or nothing.
  std::string refusal() const {
    try {
      take();
      return "";
    } catch (const InputError &error) {
      return error.what();
    }
  }
  // A process that holds the folder until it is killed.
  pid_t startOwner() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
      std::unique_ptr<FolderLock> lock = take();
      lock->startBeating();
      if (write(ready[1], "x", 1) != 1)
        _exit(1);
      while (true)
        pause();
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    ownerLives = true;
    return child;
  }
  void end(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    ownerLives = false;
  }
  std::string folder;
  bool ownerLives = false;
};

TEST_P(FolderLockTest, OneAfterTheOther) {
  for (int turn = 0; turn < 3; ++turn) {
    std::unique_ptr<FolderLock> lock = take();
    lock->startBeating();
    ownerLives = true;
    EXPECT_EQ(lock->takenOver(), "");
    EXPECT_NE(refusal().find(" is used by another run (process " + std::to_string(getpid())), std::string::npos);
    lock->check();
    ownerLives = false;
  }
  EXPECT_FALSE(fs::exists(folder)) << "it was made for the lock and stayed empty";
}

TEST_P(FolderLockTest, AKilledOwnerIsReplaced) {
  pid_t owner = startOwner();
  EXPECT_NE(refusal().find(" is used by another run (process " + std::to_string(owner)), std::string::npos);
  end(owner);
  std::unique_ptr<FolderLock> lock = take();
  EXPECT_NE(lock->takenOver().find("process " + std::to_string(owner)), std::string::npos) << lock->takenOver();
}

TEST_P(FolderLockTest, AForkedRankHoldsIt) {
  std::unique_ptr<FolderLock> lock = take();
  pid_t rank = fork();
  if (rank == 0) {
    lock->startBeating();
    while (true)
      pause();
  }
  ownerLives = true;
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
  auto beat = [&] {
    owner["count"] = int(owner["count"]) + 1;
    writeFile(folder + "/run.lock", owner.dump());
  };
  double watched = 0;
  auto watch = [&](double beatsUntil) {
    watched = 0;
    FolderLock lock(folder, 1, GetParam(), [&](double seconds) {
      watched += seconds;
      if (watched >= beatsUntil)
        beat();
    });
    return lock.takenOver();
  };
  beat();
  for (double beatsAfter : {0.5, 2.5}) // whenever it beats within three beats
    try {
      watch(beatsAfter);
      ADD_FAILURE() << "an owner that beats after " << beatsAfter << " beats is replaced";
    } catch (const InputError &error) {
      EXPECT_NE(std::string(error.what()).find("(process 1 on elsewhere, since then)"), std::string::npos);
      EXPECT_EQ(watched, beatsAfter);
    }
  std::string takenOver = watch(100);
  EXPECT_NE(takenOver.find("on elsewhere"), std::string::npos) << takenOver;
  EXPECT_GE(watched, 3);
}

// A copy of a folder by hard links has the lock of the run that has used it, or uses it.
TEST_P(FolderLockTest, ACopyByHardLinksHasALockOfItsOwn) {
  std::string copy = folder + "-copy", original = folder;
  fs::create_directories(copy);
  pid_t child = startOwner();
  fs::create_hard_link(original + "/run.lock", copy + "/run.lock");
  folder = copy;
  if (GetParam()) {
    std::string why = refusal();
    EXPECT_EQ(why.find(copy + " is used by another run (process " + std::to_string(child)), 0u) << why;
    EXPECT_NE(why.find(copy + "/run.lock has another name (a hard link, as cp -al makes): wait until that run has "
                              "ended, or remove this name"),
              std::string::npos)
        << why;
  }
  end(child);
  std::string before = readFile(original + "/run.lock");
  std::unique_ptr<FolderLock> lock = take();
  EXPECT_NE(lock->takenOver(), "");
  EXPECT_EQ(readFile(original + "/run.lock"), before) << "of the other run";
  EXPECT_NE(readFile(copy + "/run.lock"), before);
  if (GetParam()) // without locks, its beats would tell
    EXPECT_NE(refusal().find("is used by another run"), std::string::npos);
  lock.reset();
  EXPECT_TRUE(fs::is_empty(copy));
}

// Where a link has the name of the lock, its file is not written.
TEST_P(FolderLockTest, NoFileIsWrittenThroughALink) {
  fs::create_directories(folder);
  const std::string target = folder + "/target", text = "not of a lock";
  writeFile(target, text);
  for (bool symbolic : {true, false}) {
    symbolic ? fs::create_symlink(target, folder + "/run.lock") : fs::create_hard_link(target, folder + "/run.lock");
    std::string why = refusal();
    EXPECT_EQ(readFile(target), text);
    if (GetParam() && symbolic) // else a new file takes the name
      EXPECT_EQ(why.find("--checkpoint-dir: cannot write " + folder + "/run.lock: "), 0u) << why;
    fs::remove(folder + "/run.lock");
  }
}

TEST_P(FolderLockTest, WhoWasTakenOverNotices) {
  std::unique_ptr<FolderLock> lock = take();
  writeFile(folder + "/run.lock",
            R"({"id": 5, "host": "h", "machine": 1, "process": 2, "started": "now", "count": 0})");
  EXPECT_THROW(lock->check(), InputError);
}

// Many come at the same time to a folder that a killed run has left: one gets it. Whoever has written its name waits
// for half a beat, in which the others that saw the same owner have written theirs: here, until all have or were
// refused.
TEST_P(FolderLockTest, OneOfManyGetsIt) {
  constexpr int racers = 12, pausesOfWatch = 6;
  end(startOwner());
  int decided[2], isOver[2];
  ASSERT_EQ(pipe(decided), 0);
  ASSERT_EQ(pipe(isOver), 0);
  SharedRegion memory(sizeof(std::atomic<int>));
  auto &come = *reinterpret_cast<std::atomic<int> *>(memory.data());
  for (int i = 0; i < racers; ++i)
    if (fork() == 0) {
      close(isOver[1]);
      char outcome = 'r', byte;
      int pauses = 0;
      bool hasCome = false;
      try {
        FolderLock lock(folder, quick, GetParam(), [&](double) {
          if (++pauses <= pausesOfWatch)
            return;
          hasCome = ++come;
          eventually([&] { return come == racers; });
        });
        lock.startBeating();
        lock.check();
        outcome = 'o';
        come += !hasCome;
        if (write(decided[1], &outcome, 1) == 1)
          _exit(read(isOver[0], &byte, 1) ? 1 : 0); // holds it until all others are refused
      } catch (const InputError &) {
        come += !hasCome;
      }
      _exit(write(decided[1], &outcome, 1) == 1 ? 0 : 1);
    }
  std::string outcomes(racers, ' ');
  for (char &outcome : outcomes)
    EXPECT_EQ(read(decided[0], &outcome, 1), 1);
  close(isOver[1]);
  for (int i = 0; i < racers; ++i)
    wait(nullptr);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), 'o'), 1) << outcomes;
  for (int end : {decided[0], decided[1], isOver[0]})
    close(end);
}

INSTANTIATE_TEST_SUITE_P(Locks, FolderLockTest, ::testing::Bool(), [](const ::testing::TestParamInfo<bool> &info) {
  return std::string(info.param ? "WithLocks" : "WithoutLocks");
});

} // namespace
