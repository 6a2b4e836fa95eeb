// Messages: identity, order, and waiting of both ends.
#include "test/Runtime/Ranks.h"

#include <cstring>
#include <unistd.h>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

constexpr int messages = 6;

// A ring: every rank sends `messages` messages with two tags to the next one.
LocalWorldShape ring(int n) {
  LocalWorldShape shape;
  shape.arenaBytes.assign(n, 1 << 20);
  for (int rank = 0; rank < n; ++rank)
    for (int tag = 0; tag < 2; ++tag)
      for (int m = 0; m < messages; ++m)
        shape.messages.push_back({rank, (rank + 1) % n, {tag, m}});
  return shape;
}

int32_t contents(int step, int source, int tag, int m) { return ((step * 16 + source) * 16 + tag) * 16 + m; }

TEST(PointToPointTest, MessagesAreFoundByTheirKeysInAnyOrder) {
  uint64_t seed = testSeed();
  for (int n : {2, 3, 4}) {
    runOnRanks(ring(n), [&](LocalWorld &world, int rank) -> std::string {
      LocalTransport transport(world, rank);
      std::mt19937_64 random(seed + rank);
      auto *buffers = reinterpret_cast<int32_t *>(world.arena(rank)); // 2 x messages x 256 elements, twice
      std::vector<int> order(2 * messages);
      std::iota(order.begin(), order.end(), 0);
      for (int step = 0; step < 20; ++step) {
        std::vector<int64_t> requests;
        std::shuffle(order.begin(), order.end(), random);
        for (int i : order) {
          std::fill_n(buffers + 256 * i, 256, contents(step, rank, i % 2, i / 2));
          requests.push_back(transport.send((rank + 1) % n, {i % 2, i / 2}, buffers + 256 * i, 1024));
        }
        std::shuffle(order.begin(), order.end(), random);
        int source = (rank + n - 1) % n;
        for (int i : order) {
          if (random() % 8 == 0)
            usleep(random() % 300);
          int32_t *out = buffers + 256 * (2 * messages + i);
          transport.receive(source, {i % 2, i / 2}, out, 1024);
          if (out[0] != contents(step, source, i % 2, i / 2) || out[255] != out[0])
            return format("step %d: message %d of rank %d is wrong", step, i, source);
        }
        for (int64_t request : requests)
          transport.waitSend(request);
      }
      return "";
    });
  }
}

TEST(PointToPointTest, SendDoesNotWaitAndWaitSendDoes) {
  runOnRanks(ring(2), [](LocalWorld &world, int rank) -> std::string {
    LocalTransport transport(world, rank);
    auto *flag = reinterpret_cast<int32_t *>(world.arena(0)); // read by both
    auto *data = reinterpret_cast<int32_t *>(world.arena(rank) + 4096);
    if (rank == 0) {
      *data = 42;
      int64_t request = transport.send(1, {0, 0}, data, 4);
      transport.barrier(Transport::everyRank); // reached although nobody has received
      transport.waitSend(request);
      if (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 1)
        return "waitSend returned before the message was received";
      *data = 43; // must not be seen by the receiver
      return "";
    }
    transport.barrier(Transport::everyRank);
    usleep(20000);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    transport.receive(0, {0, 0}, data, 4);
    return *data == 42 ? "" : "the message was changed";
  });
}

TEST(PointToPointTest, RanksThatWaitForEachOtherAreEndedAndNamed) {
  ::testing::internal::CaptureStderr();
  int status = statusOnRanks(ring(3), [](LocalWorld &world, int rank) -> std::string {
    if (rank == 2)
      return "";
    LocalTransport transport(world, rank);
    if (rank == 1)
      transport.barrier(Transport::everyRank);
    transport.receive((rank + 2) % 3, {1, 4}, world.arena(rank), 4);
    return "";
  });
  EXPECT_EQ(status, 1);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "error: the ranks wait for each other and cannot go on: rank 0: receive of micro-batch 4, tag 1, rank 2; rank 1: "
      "barrier of all ranks; rank 2 has ended\n");
}

} // namespace
