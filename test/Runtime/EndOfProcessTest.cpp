// What other threads do while one ends the process.
#include "runtime/base/Error.h"
#include "runtime/mpi/MpiCalls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace ppcrt;

namespace {

std::atomic<int> told{0};

// Takes its time, as one does that tells others of the end.
void tellSlowly(void *, const char *) {
  ++told;
  usleep(500'000);
  _exit(told);
}

[[noreturn]] void endByManyThreads() {
  setFatalHandler(tellSlowly, nullptr);
  for (int i = 0; i < 4; ++i)
    std::thread([] { fatal("a reason"); }).detach();
  for (;;)
    ::pause();
}

[[noreturn]] void endAgainMeanwhile() {
  setFatalHandler([](void *, const char *) { fatal("another reason"); }, nullptr);
  fatal("a reason");
}

} // namespace

TEST(EndOfProcessTest, OneThreadEndsIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(endByManyThreads(), ::testing::ExitedWithCode(1), "");
}

TEST(EndOfProcessTest, AReasonOnTheWayOutEndsItAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(endAgainMeanwhile(), ::testing::ExitedWithCode(1), "");
}

TEST(EndOfProcessTest, OnlyTheOneWhoEndsCallsMpi) {
  struct Shared { // never destroyed, as the other threads go on
    MpiCalls calls;
    std::atomic<int> entered{0};
    std::atomic<bool> isInside{false};
  };
  static Shared *const shared = new Shared;
  for (int i = 0; i < 2; ++i)
    std::thread([] {
      for (;;) {
        std::lock_guard<MpiCalls> lock(shared->calls);
        shared->isInside = true;
        ++shared->entered;
        usleep(1000);
        shared->isInside = false;
      }
    }).detach();
  while (shared->entered < 20)
    usleep(1000);
  shared->calls.keep(60);
  EXPECT_FALSE(shared->isInside);
  int before = shared->entered;
  usleep(100'000);
  EXPECT_EQ(shared->entered, before);
}

TEST(EndOfProcessTest, WhoIsInMpiMayEndIt) {
  MpiCalls calls;
  std::lock_guard<MpiCalls> lock(calls);
  auto begin = std::chrono::steady_clock::now();
  calls.keep(60);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}
