// Turns of one collective in shared memory, one after the other, where members come late with a turn that is over.
#include "runtime/local/SharedOperation.h"
#include "runtime/base/Clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace ppcrt;

namespace {

constexpr int kMembers = 2;
constexpr int64_t kOnePart = 1 << 10, kSeveral = 4 << 10; // elements
constexpr uint32_t kTurns = 100000;
constexpr double kSeconds = 2;

// Members that share their memory as threads do.
class Members {
public:
  Members() {
    size_t bytes = (SharedOperation::bytesFor(kMembers) + 63) / 64 * 64; // a multiple of the alignment
    memory.reset(static_cast<std::byte *>(std::aligned_alloc(64, bytes)));
    std::memset(memory.get(), 0, bytes);
    for (auto &buffer : buffers)
      buffer.resize(kSeveral);
  }

  // Adds up ones of all members in each turn. A member asks for parts of the turn before, too, as a rank does that has
  // not taken its result yet when it begins a later collective in the same place.
  void run(int index) {
    double deadline = now() + kSeconds;
    for (uint32_t turn = 0; turn < last && !isWrong; ++turn) {
      if (index == 0 && now() > deadline)
        last = turn + 1; // before it arrives, so that all members have seen it when the turn has ended
      while (!operation().isFree(turn))
        std::this_thread::yield();
      std::vector<float> &own = buffers[index];
      int64_t count = turn % 2 ? kSeveral : kOnePart;
      std::fill_n(own.begin(), count, 1.f);
      Collective call{CollectiveKind::AllReduce, 0, own.data(), own.data(), count, DataType::F32};
      if (operation().arrive(turn, kMembers, index, call, 0))
        operation().open(turn, kMembers, 0);
      for (int tries = 1; !operation().hasEnded(turn); ++tries) {
        if (turn > 0 && operation().help(turn - 1, kMembers) != SharedOperation::Done::Nothing)
          isWrong = true;
        if (tries % 1000 == 0)
          operation().help(turn, kMembers), std::this_thread::yield();
      }
      for (int64_t i = 0; i < count; ++i)
        if (own[i] != float(kMembers))
          isWrong = true;
    }
  }

  std::atomic<uint32_t> last{kTurns};
  std::atomic<bool> isWrong{false};

private:
  struct Free {
    void operator()(std::byte *bytes) const { std::free(bytes); }
  };
  SharedOperation &operation() { return *reinterpret_cast<SharedOperation *>(memory.get()); }
  std::unique_ptr<std::byte, Free> memory;
  std::vector<float> buffers[kMembers];
};

// Two turns of members that are processes, of one part and of several.
class TwoTurns {
public:
  TwoTurns() : bytes(SharedOperation::bytesFor(kMembers) + kMembers * kSeveral * sizeof(float)) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    arrive(0, kOnePart);
    operation().open(0, kMembers, 0);
    while (!operation().hasEnded(0))
      operation().help(0, kMembers);
    arrive(1, kSeveral);
  }
  ~TwoTurns() { munmap(memory, bytes); }

  SharedOperation &operation() { return *static_cast<SharedOperation *>(memory); }
  float *buffer(int member) {
    return reinterpret_cast<float *>(static_cast<std::byte *>(memory) + SharedOperation::bytesFor(kMembers)) +
           member * kSeveral;
  }

private:
  void arrive(uint32_t turn, int64_t count) {
    for (int member = 0; member < kMembers; ++member) {
      std::fill_n(buffer(member), count, 1.f);
      Collective call{CollectiveKind::AllReduce, 0, buffer(member), buffer(member), count, DataType::F32};
      operation().arrive(turn, kMembers, member, call, 0);
    }
  }

  size_t bytes;
  void *memory;
};

} // namespace

// Whoever comes late looks after each instruction of the one who opens the next turn.
TEST(SharedOperationTest, WhoComesLateTakesNothingWhileTheNextTurnIsOpened) {
  constexpr int mostSteps = 10'000'000;
  TwoTurns turns;
  pid_t opener = fork();
  if (opener == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
      _exit(2);
    raise(SIGSTOP);
    turns.operation().open(1, kMembers, 0);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(opener, &status, 0), opener);
  if (WIFEXITED(status))
    GTEST_SKIP() << "no process may follow another one here";
  int steps = 0, tooEarly = 0;
  for (; WIFSTOPPED(status) && steps < mostSteps; ++steps) {
    tooEarly += turns.operation().help(0, kMembers) != SharedOperation::Done::Nothing;
    ASSERT_EQ(ptrace(PTRACE_SINGLESTEP, opener, nullptr, nullptr), 0);
    ASSERT_EQ(waitpid(opener, &status, 0), opener);
  }
  ASSERT_TRUE(WIFEXITED(status)) << steps << " instructions";
  EXPECT_GT(steps, 20);
  EXPECT_EQ(tooEarly, 0);
  while (turns.operation().help(1, kMembers) != SharedOperation::Done::Nothing) {
  }
  EXPECT_TRUE(turns.operation().hasEnded(1));
  for (int64_t i = 0; i < kSeveral; ++i)
    ASSERT_EQ(turns.buffer(0)[i], float(kMembers)) << i;
}

TEST(SharedOperationTest, WhoComesLateTakesNoPartOfTheNextTurn) {
  Members members;
  std::thread other([&] { members.run(1); });
  members.run(0);
  other.join();
  EXPECT_FALSE(members.isWrong);
}
