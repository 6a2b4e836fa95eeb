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

class PointToPointTest : public ::testing::TestWithParam<TransportCase> {};

TEST_P(PointToPointTest, MessagesAreFoundByTheirKeysInAnyOrder) {
  uint64_t seed = testSeed();
  int n = GetParam().ranks;
  runOnRanks(GetParam().kind, ring(n), [&](Transport &transport, std::byte *arena) -> std::string {
    int rank = transport.rank();
    std::mt19937_64 random(seed + rank);
    auto *buffers = reinterpret_cast<int32_t *>(arena); // 2 x messages x 256 elements, twice
    std::vector<int> order(2 * messages);
    std::iota(order.begin(), order.end(), 0);
    for (int step = 0; step < 20; ++step) {
      std::vector<int64_t> requests;
      std::shuffle(order.begin(), order.end(), random);
      for (int i : order) {
        std::fill_n(buffers + 256 * i, 256, contents(step, rank, i % 2, i / 2));
        requests.push_back(transport.startSend((rank + 1) % n, {i % 2, i / 2}, buffers + 256 * i, 1024));
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
        transport.wait(request);
    }
    return "";
  });
}

TEST_P(PointToPointTest, SendDoesNotWait) {
  // Far more than a transport would keep for a receiver that is not there yet; all ranks send first.
  constexpr int64_t count = 2 << 20;
  int n = GetParam().ranks;
  LocalWorldShape shape = ring(n);
  shape.arenaBytes.assign(n, 2 * count * int64_t(sizeof(int32_t)));
  runOnRanks(GetParam().kind, shape, [&](Transport &transport, std::byte *arena) -> std::string {
    int rank = transport.rank(), source = (rank + n - 1) % n;
    auto *sent = reinterpret_cast<int32_t *>(arena), *received = sent + count;
    for (int64_t i = 0; i < count; ++i)
      sent[i] = int32_t(i * 31 + rank);
    int64_t request = transport.startSend((rank + 1) % n, {0, 0}, sent, count * int64_t(sizeof(int32_t)));
    transport.barrier(Transport::everyRank); // reached although no rank has received
    transport.receive(source, {0, 0}, received, count * int64_t(sizeof(int32_t)));
    transport.wait(request);
    for (int64_t i = 0; i < count; ++i)
      if (received[i] != int32_t(i * 31 + source))
        return format("element %lld is wrong", (long long)i);
    return "";
  });
}

// A stage goes on computing when it has sent: what it sent must not wait for its next call.
TEST_P(PointToPointTest, MessagesTravelWhileTheSenderComputes) {
  constexpr int64_t bytes = 8 << 20;
  int n = GetParam().ranks;
  LocalWorldShape shape = ring(n);
  shape.arenaBytes.assign(n, 2 * bytes);
  runOnRanks(GetParam().kind, shape, [&](Transport &transport, std::byte *arena) -> std::string {
    int rank = transport.rank();
    std::memset(arena, 7, 2 * bytes);
    transport.barrier(Transport::everyRank);
    if (rank == 0) {
      int64_t request = transport.startSend(1, {0, 0}, arena, bytes);
      if (!awaitMark("received"))
        return "the message waits for the sender's next call";
      transport.wait(request);
    } else if (rank == 1) {
      transport.receive(0, {0, 0}, arena + bytes, bytes);
      setMark("received");
    }
    transport.barrier(Transport::everyRank);
    return "";
  });
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, PointToPointTest,
    ::testing::Values(TransportCase{TransportKind::Local, 2}, TransportCase{TransportKind::Local, 3},
                      TransportCase{TransportKind::Local, 4}, TransportCase{TransportKind::Mpi, 2},
                      TransportCase{TransportKind::Mpi, 4}, TransportCase{TransportKind::MpiOverTcp, 3},
                      TransportCase{TransportKind::Store, 2}, TransportCase{TransportKind::Store, 4}),
    nameOf);

TEST(LocalPointToPointTest, WaitingForASendWaitsForTheReceiver) {
  runOnRanks(TransportKind::Local, ring(2), [](Transport &transport, std::byte *arena) -> std::string {
    auto *data = reinterpret_cast<int32_t *>(arena + 4096);
    if (transport.rank() == 0) {
      auto *flag = reinterpret_cast<int32_t *>(arena), **address = reinterpret_cast<int32_t **>(data);
      *address = flag;
      int64_t told = transport.startSend(1, {1, 0}, address, sizeof *address);
      transport.wait(told);
      *data = 42;
      int64_t request = transport.startSend(1, {0, 0}, data, 4);
      transport.wait(request);
      if (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 1)
        return "wait returned before the message was received";
      *data = 43; // must not be seen by the receiver
      return "";
    }
    int32_t *flag;
    transport.receive(0, {1, 0}, &flag, sizeof flag);
    usleep(20000);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    transport.receive(0, {0, 0}, data, 4);
    return *data == 42 ? "" : "the message was changed";
  });
}

TEST(LocalPointToPointTest, RanksThatWaitForEachOtherAreEndedAndNamed) {
  ::testing::internal::CaptureStderr();
  int status = statusOnRanks(
      TransportKind::Local, ring(3),
      [](Transport &transport, std::byte *arena) -> std::string {
        if (transport.rank() == 2)
          return "";
        if (transport.rank() == 1)
          transport.barrier(Transport::everyRank);
        transport.receive((transport.rank() + 2) % 3, {1, 4}, arena, 4);
        return "";
      },
      soon);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "error: the ranks wait for each other and cannot go on: rank 0: receive of micro-batch 4, tag 1, rank 2; rank 1: "
      "barrier of all ranks; rank 2 has ended\n");
}

} // namespace
