// Ranks that are threads of one process, several programs' worth of them at once: nothing of a rank belongs to the
// process.
#include "runtime/executor/PlanExecutor.h"
#include "runtime/host/HostMemory.h"
#include "runtime/host/Threads.h"
#include "runtime/launch/Launch.h"
#include "test/Runtime/BigramProgram.h"
#include "test/Runtime/Ranks.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

constexpr int steps = 4;

// What a rank has after training: the losses, its traffic, and all bytes of its arena.
struct Outcome {
  std::vector<float> losses;
  std::vector<double> groupBytes;
  double messageBytes = 0;
  std::vector<std::byte> arena;

  bool operator==(const Outcome &other) const {
    return losses == other.losses && groupBytes == other.groupBytes && messageBytes == other.messageBytes &&
           arena == other.arena;
  }
};

Outcome train(const Manifest &manifest, const ppcrt_program &program, Transport &transport, std::byte *arena,
              uint64_t seed) {
  setLibraryThreads(1); // also where a process is forked that had threads
  RankContext context(transport);
  RandomTokens tokens(sequenceLength, vocabulary, seed);
  HostMemory memory(arena, manifest.deviceOf(transport.rank()).arenaBytes);
  HostFunctions code(manifest.deviceOf(transport.rank()), program);
  PlanExecutor executor(manifest, code, context, memory, tokens);
  executor.initializeParameters(seed);
  Outcome outcome;
  for (int step = 1; step <= steps; ++step)
    outcome.losses.push_back(executor.run(step, 0.1).loss);
  outcome.groupBytes = context.traffic.groupBytes;
  outcome.messageBytes = context.traffic.messageBytes;
  outcome.arena.assign(arena, arena + manifest.deviceOf(transport.rank()).arenaBytes);
  return outcome;
}

class ThreadRanksTest : public ::testing::TestWithParam<const char *> {
protected:
  const ppcrt_program &program = bigramProgram(GetParam());
  Manifest manifest = parseManifest({program.manifest, program.manifest_size});
  int ranks = int(manifest.grid.rankCount());

  // Starts the ranks of a world of their own.
  std::vector<std::thread> start(LocalWorld &world, uint64_t seed, std::vector<Outcome> &outcomes) {
    outcomes.resize(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank, seed] {
        LocalTransport transport(world, rank);
        outcomes[rank] = train(manifest, program, transport, world.arena(rank), seed);
      });
    return threads;
  }

  // The same with a process for each rank, as programs do it.
  std::vector<Outcome> fork(uint64_t seed) {
    LocalWorldShape shape = worldShape(manifest);
    std::vector<std::unique_ptr<SharedRegion>> regions;
    for (int64_t bytes : shape.arenaBytes)
      regions.push_back(std::make_unique<SharedRegion>(size_t(bytes) + 4096));
    std::vector<Outcome> outcomes(ranks);
    int status = statusOnRanks(TransportKind::Local, shape, [&](Transport &transport, std::byte *arena) {
      Outcome mine = train(manifest, program, transport, arena, seed);
      std::byte *out = regions[transport.rank()]->data();
      std::memcpy(out, mine.losses.data(), steps * sizeof(float));
      std::memcpy(out + 512, mine.groupBytes.data(), mine.groupBytes.size() * sizeof(double));
      std::memcpy(out + 1024, &mine.messageBytes, sizeof(double));
      std::memcpy(out + 4096, mine.arena.data(), mine.arena.size());
      return std::string();
    });
    EXPECT_EQ(status, 0);
    for (int rank = 0; rank < ranks; ++rank) {
      const std::byte *in = regions[rank]->data();
      Outcome &outcome = outcomes[rank];
      outcome.losses.resize(steps);
      outcome.groupBytes.resize(manifest.groups.size());
      outcome.arena.assign(in + 4096, in + 4096 + shape.arenaBytes[rank]);
      std::memcpy(outcome.losses.data(), in, steps * sizeof(float));
      std::memcpy(outcome.groupBytes.data(), in + 512, outcome.groupBytes.size() * sizeof(double));
      std::memcpy(&outcome.messageBytes, in + 1024, sizeof(double));
    }
    return outcomes;
  }
};

TEST_P(ThreadRanksTest, TwoRanksInOneProcess) {
  constexpr std::array<uint64_t, 2> seeds = {3, 8};
  std::array<std::vector<Outcome>, 2> expected = {fork(seeds[0]), fork(seeds[1])}, found;
  ASSERT_NE(expected[0][0].losses, expected[1][0].losses) << "runs that are confused would not be noticed";
  std::vector<std::unique_ptr<LocalWorld>> worlds;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < seeds.size(); ++i) {
    worlds.push_back(std::make_unique<LocalWorld>(worldShape(manifest)));
    for (std::thread &thread : start(*worlds[i], seeds[i], found[i]))
      threads.push_back(std::move(thread));
  }
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < seeds.size(); ++i)
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(found[i][rank].losses, expected[i][rank].losses) << "run " << i << ", rank " << rank;
      EXPECT_TRUE(found[i][rank] == expected[i][rank]) << "run " << i << ", rank " << rank;
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ThreadRanksTest, ::testing::Values("1,1,2", "2,1,1", "2,2,2"),
                         [](const ::testing::TestParamInfo<const char *> &info) {
                           std::string name = info.param;
                           name.erase(std::remove(name.begin(), name.end(), ','), name.end());
                           return "pp_dp_tp_" + name;
                         });

// The gradients of the head are reduced while the last backward goes on, those of the embedding after it.
std::string overlapped(const std::string &text) {
  enum { GradientE = 1, GradientW = 5, Dp = 1, Collective = 4, Stream = 1 };
  nlohmann::json manifest = nlohmann::json::parse(text);
  for (nlohmann::json &device : manifest["devices"]) {
    for (nlohmann::json &routine : device["routines"]) {
      if (routine["entry"] == "stage0.update")
        routine["entry"] = "stage0.update.reduced";
      if (routine["entry"] != "stage0.backward")
        continue;
      routine["entry"] = "stage0.backward.early";
      routine["early_tokens"] = 1;
    }
    for (int gradient : {GradientW, GradientE})
      device["collectives"].push_back(
          {{"kind", "all_reduce"}, {"reduction", "sum"}, {"group", Dp}, {"reads", {gradient}}, {"writes", {gradient}}});
    nlohmann::json &step = device["step"], update = step.back();
    step.back() = {Collective, Stream, 0, -1, {1, 0}};
    step.push_back({Collective, Stream, 1, -1, 2});
    update.push_back(1);
    step.push_back(update);
  }
  return manifest.dump();
}

TEST(OverlapTest, CollectivesOnStreamsGiveTheSameBits) {
  for (const char *layout : {"1,2,1", "1,2,2", "1,4,1"}) {
    const ppcrt_program &program = bigramProgram(layout);
    std::string text(program.manifest, program.manifest_size);
    Manifest manifests[] = {parseManifest(text), parseManifest(overlapped(text))};
    std::vector<Outcome> outcomes[2];
    for (int i = 0; i < 2; ++i) {
      checkEntries(manifests[i], program);
      LocalWorld world(worldShape(manifests[i]));
      outcomes[i].resize(size_t(world.rankCount()));
      std::vector<std::thread> threads;
      for (int rank = 0; rank < world.rankCount(); ++rank)
        threads.emplace_back([&, rank] {
          LocalTransport transport(world, rank);
          outcomes[i][size_t(rank)] = train(manifests[i], program, transport, world.arena(rank), 5);
        });
      for (std::thread &thread : threads)
        thread.join();
    }
    for (size_t rank = 0; rank < outcomes[0].size(); ++rank) {
      EXPECT_EQ(outcomes[0][rank].losses, outcomes[1][rank].losses) << layout << ", rank " << rank;
      EXPECT_TRUE(outcomes[0][rank] == outcomes[1][rank]) << layout << ", rank " << rank;
    }
  }
}

// Each caller's turns are its own: every index once, however many call at the same time.
TEST(ThreadTurnsTest, TurnsOfTwoRanksAreNotMixed) {
  constexpr int callers = 3, rounds = 200;
  constexpr int64_t count = 64;
  std::vector<std::thread> threads;
  std::array<int, callers> wrong{};
  for (int caller = 0; caller < callers; ++caller)
    threads.emplace_back([&, caller] {
      setLibraryThreads(2);
      for (int round = 0; round < rounds; ++round) {
        std::array<std::atomic<int>, count> done{};
        forEachOnThreads(count, [&](int64_t i) { done[i].fetch_add(1); });
        for (const std::atomic<int> &times : done)
          wrong[caller] += times != 1;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, (std::array<int, callers>{}));
}

} // namespace
