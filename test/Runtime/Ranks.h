// Running test code as forked ranks.
#pragma once

#include "runtime/core/Error.h"
#include "runtime/host/Launcher.h"
#include "runtime/host/LocalTransport.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace ppcrt::test {

// The seed of property tests: PPC_TEST_SEED, or a fresh one; printed so that a failure can be repeated.
inline uint64_t testSeed() {
  static const uint64_t seed = [] {
    const char *given = std::getenv("PPC_TEST_SEED");
    uint64_t value = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
    std::printf("seed: PPC_TEST_SEED=%llu\n", (unsigned long long)value);
    return value;
  }();
  return seed;
}

// Forks the ranks; `body` returns an empty string, or what went wrong. Returns runRanks' status.
inline int statusOnRanks(const LocalWorldShape &shape, const std::function<std::string(LocalWorld &, int)> &body) {
  testSeed();
  LocalWorld world(shape);
  LaunchedRanks ranks;
  ranks.count = world.rankCount();
  ranks.body = [&](int rank) {
    RankStatus &status = world.status(rank);
    setFatalMessageBuffer(status.message, sizeof status.message);
    SharedWord::setSpinning(false);
    std::string failure = body(world, rank);
    std::snprintf(status.message, sizeof status.message, "%s", failure.c_str());
    return failure.empty() ? 0 : 1;
  };
  ranks.describe = [](int rank) { return "rank " + std::to_string(rank); };
  ranks.message = [&](int rank) { return std::string(world.status(rank).message); };
  ranks.waits = [&](int rank) { return world.status(rank).waits.load(); };
  ranks.describeWait = [&](int rank) { return describeWait(world.status(rank)); };
  ranks.patience = 3;
  return runRanks(ranks);
}

inline void runOnRanks(const LocalWorldShape &shape, const std::function<std::string(LocalWorld &, int)> &body) {
  EXPECT_EQ(statusOnRanks(shape, body), 0);
}

} // namespace ppcrt::test
