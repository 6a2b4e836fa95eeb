// Communication that goes on while ranks do other things: what a request needs of its peers, and what it does not.
#include "runtime/base/Clock.h"
#include "test/Runtime/Ranks.h"

#include <cstring>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

constexpr int64_t elements = 1 << 18; // 1 MiB of floats

// Two groups of everybody, and a message with each of two tags from every rank to the next one.
LocalWorldShape twoGroupsOf(int n, int64_t arenaBytes) {
  LocalWorldShape shape;
  shape.arenaBytes.assign(n, arenaBytes);
  std::vector<int> everybody(n);
  std::iota(everybody.begin(), everybody.end(), 0);
  shape.groups = {{everybody}, {{everybody.rbegin(), everybody.rend()}}};
  for (int rank = 0; rank < n; ++rank)
    for (int tag = 0; tag < 2; ++tag)
      shape.messages.push_back({rank, (rank + 1) % n, {tag, 0}});
  return shape;
}

float *floats(std::byte *arena, int64_t place) { return reinterpret_cast<float *>(arena) + place * elements; }

Collective sum(int group, float *buffer, int64_t count) {
  return {CollectiveKind::AllReduce, group, buffer, buffer, count, DataType::F32};
}

class AsynchronousTest : public ::testing::TestWithParam<TransportCase> {};

TEST_P(AsynchronousTest, RanksWaitInOppositeOrders) {
  int n = GetParam().ranks;
  runOnRanks(
      GetParam().kind, twoGroupsOf(n, 8 * elements * 4), [&](Transport &transport, std::byte *arena) -> std::string {
        int rank = transport.rank(), next = (rank + 1) % n, previous = (rank + n - 1) % n;
        for (int turn = 0; turn < 10; ++turn) {
          for (int place = 0; place < 4; ++place)
            std::fill_n(floats(arena, place), elements, float(rank + place + turn));
          std::vector<Transport::Request> requests = {
              transport.start(sum(0, floats(arena, 0), elements)), transport.start(sum(1, floats(arena, 1), elements)),
              transport.start(sum(0, floats(arena, 2), 3)),
              transport.startSend(next, {0, 0}, floats(arena, 3), elements * 4),
              transport.startReceive(previous, {0, 0}, floats(arena, 4), elements * 4)};
          if (rank % 2)
            std::reverse(requests.begin(), requests.end());
          for (Transport::Request request : requests)
            transport.wait(request);
          float ranks = float(n * (n - 1) / 2);
          const float expected[] = {ranks + float(n * turn), ranks + float(n * (turn + 1)),
                                    ranks + float(n * (turn + 2)), float(rank + 3 + turn), float(previous + 3 + turn)};
          for (int place = 0; place < 5; ++place)
            if (floats(arena, place)[0] != expected[place] || floats(arena, place)[2] != expected[place])
              return format("turn %d, request %d: %g in place of %g", turn, place, floats(arena, place)[0],
                            expected[place]);
        }
        return "";
      });
}

// The first rank has started and computes: nobody may have to wait for it to come back.
TEST_P(AsynchronousTest, RequestsEndWhileOneRankComputes) {
  int n = GetParam().ranks;
  runOnRanks(
      GetParam().kind, twoGroupsOf(n, 8 * elements * 4), [&](Transport &transport, std::byte *arena) -> std::string {
        int rank = transport.rank(), next = (rank + 1) % n, previous = (rank + n - 1) % n;
        std::fill_n(floats(arena, 0), 8 * elements, float(rank + 1));
        transport.barrier(Transport::everyRank);
        float *blocks = floats(arena, 4);
        const std::vector<Transport::Request> requests = {
            transport.start(sum(0, floats(arena, 0), elements)),
            transport.start(
                {CollectiveKind::ReduceScatter, 1, floats(arena, 1), floats(arena, 2), elements / n, DataType::F32}),
            transport.start({CollectiveKind::AllGather, 1, floats(arena, 3), blocks, elements / n, DataType::F32}),
            transport.startSend(next, {1, 0}, floats(arena, 5), elements * 4),
            transport.startReceive(previous, {1, 0}, floats(arena, 6), elements * 4)};
        for (int other = 1; rank == 0 && other < n; ++other)
          if (!awaitMark(std::to_string(other)))
            return format("requests of rank %d have not ended while this one computed", other);
        for (Transport::Request request : requests)
          transport.wait(request);
        if (rank != 0)
          setMark(std::to_string(rank));
        float all = float(n * (n + 1) / 2);
        for (int64_t i : {int64_t(0), elements / n - 1})
          if (floats(arena, 0)[i] != all || floats(arena, 2)[i] != all || floats(arena, 6)[i] != float(previous + 1))
            return format("element %lld is wrong", (long long)i);
        for (int member = 0; member < n; ++member) // of the second group: the last rank first
          if (blocks[member * (elements / n)] != float(n - member))
            return format("block %d is wrong", member);
        return "";
      });
}

TEST_P(AsynchronousTest, ManyRequestsAreUnderWay) {
  constexpr int calls = 200;
  constexpr int64_t count = 1000;
  int n = GetParam().ranks;
  uint64_t seed = testSeed();
  runOnRanks(GetParam().kind, twoGroupsOf(n, calls * count * 4),
             [&](Transport &transport, std::byte *arena) -> std::string {
               int rank = transport.rank();
               std::mt19937_64 random(seed + rank);
               auto *values = reinterpret_cast<float *>(arena);
               std::vector<std::pair<int, Transport::Request>> requests;
               for (int i = 0; i < calls; ++i) {
                 std::fill_n(values + i * count, count, float(rank * calls + i));
                 requests.emplace_back(i, transport.start(sum(i % 2, values + i * count, count)));
               }
               std::shuffle(requests.begin(), requests.end(), random);
               for (auto [i, request] : requests) {
                 transport.wait(request);
                 if (float expected = float(n * (n - 1) / 2 * calls + n * i); values[i * count + count - 1] != expected)
                   return format("call %d: %g in place of %g", i, values[i * count + count - 1], expected);
               }
               return "";
             });
}

TEST_P(AsynchronousTest, WaitingForATimeEndsThen) {
  runOnRanks(GetParam().kind, twoGroupsOf(GetParam().ranks, 4 << 20),
             [](Transport &transport, std::byte *arena) -> std::string {
               double start = now();
               transport.waitAny(start + 0.05);
               if (double waited = now() - start; waited < 0.05)
                 return format("waited %.3f s in place of 0.05", waited);
               // What the others have started does not end without the first, which waits until they have given up.
               for (int other = 1; transport.rank() == 0 && other < transport.rankCount(); ++other)
                 if (!awaitMark(std::to_string(other)))
                   return format("rank %d waits for good", other);
               Transport::Request request = transport.start(sum(0, floats(arena, 0), 10));
               if (transport.rank() != 0) {
                 transport.waitAny(now() + 0.05);
                 setMark(std::to_string(transport.rank()));
               }
               transport.wait(request);
               return "";
             });
}

INSTANTIATE_TEST_SUITE_P(Ranks, AsynchronousTest,
                         ::testing::Values(TransportCase{TransportKind::Local, 2},
                                           TransportCase{TransportKind::Local, 4}, TransportCase{TransportKind::Mpi, 2},
                                           TransportCase{TransportKind::Mpi, 3},
                                           TransportCase{TransportKind::MpiOverTcp, 3},
                                           TransportCase{TransportKind::Store, 2},
                                           TransportCase{TransportKind::Store, 3}),
                         nameOf);

TEST(AsynchronousErrorTest, ADeadPeerEndsTheProgram) {
  ::testing::internal::CaptureStderr();
  int status =
      statusOnRanks(TransportKind::Local, twoGroupsOf(3, 8 * elements * 4), [](Transport &transport, std::byte *arena) {
        Transport::Request request = transport.start(sum(0, floats(arena, 0), elements));
        if (transport.rank() == 1)
          fatal("has had enough");
        Transport::Request other = transport.start(sum(1, floats(arena, 1), elements));
        transport.wait(other);
        transport.wait(request);
        return std::string();
      });
  EXPECT_EQ(status, 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "error: rank 1: has had enough\n");
}

TEST(AsynchronousErrorTest, RequestsThatNeverEndAreNamed) {
  ::testing::internal::CaptureStderr();
  int status = statusOnRanks(
      TransportKind::Local, twoGroupsOf(2, 4096),
      [](Transport &transport, std::byte *arena) {
        transport.wait(transport.start(sum(transport.rank(), floats(arena, 0), 8)));
        return std::string();
      },
      soon);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "error: the ranks wait for each other and cannot go on: rank 0: all_reduce of group 0; rank 1: all_reduce of "
      "group 1\n");
}

} // namespace
