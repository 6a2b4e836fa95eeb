// Work beside the rank, and what a rank says that waits for it.
#include "runtime/base/BackgroundWork.h"
#include "runtime/base/Error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <unistd.h>
#include <vector>

using namespace ppcrt;

TEST(BackgroundWorkTest, IsWaitedForAndTellsWhatItThrows) {
  std::atomic<bool> mayEnd{false};
  BackgroundWork work([&] {
    while (!mayEnd)
      usleep(1000);
    throw InputError("a disk is full");
  });
  EXPECT_FALSE(work.waitFor(0.01));
  mayEnd = true;
  EXPECT_TRUE(work.waitFor(60));
  EXPECT_THROW(work.finish(), InputError);
}

// A disk that takes 200 seconds, by a clock that goes as the waiting does.
TEST(BackgroundWorkTest, WhatTakesLongIsSaidAgainWhenTwiceAsMuchHasPassed) {
  double time = 1000;
  std::vector<double> said;
  auto say = [&](double waited) { said.push_back(waited); };
  auto until = [&](double end) {
    return [&time, end](double seconds) {
      time = std::min(end, time + seconds);
      return time >= end;
    };
  };
  waitAndSay(until(1200), say, [&] { return time; });
  EXPECT_EQ(said, (std::vector<double>{15, 30, 60, 120}));
  said.clear();
  waitAndSay(until(1200 + 14), say, [&] { return time; });
  EXPECT_EQ(said, (std::vector<double>{}));
}

// One that was stopped meanwhile does not say all at once what it has missed.
TEST(BackgroundWorkTest, WhoeverWasHeldUpSaysOneThing) {
  double time = 0;
  std::vector<double> said;
  auto waitFor = [&](double seconds) {
    time += said.empty() ? 100 : seconds;
    return time > 250;
  };
  waitAndSay(waitFor, [&](double waited) { said.push_back(waited); }, [&] { return time; });
  EXPECT_EQ(said, (std::vector<double>{100, 200}));
}
