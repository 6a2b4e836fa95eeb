// Turns of one collective in shared memory, one after the other, where members come late with a turn that is over.
#include "runtime/host/SharedOperation.h"
#include "runtime/core/Clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace ppcrt;

namespace {

constexpr int kMembers = 2;
constexpr int64_t kOnePart = 1 << 10, kSeveral = 4 << 10; // elements
constexpr uint32_t kTurns = 60000;
constexpr double kSeconds = 3;

// Members that share their memory as threads do.
class Members {
public:
  Members() {
    size_t bytes = (SharedOperation::bytesFor(kMembers) + 63) / 64 * 64;
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

} // namespace

TEST(SharedOperationTest, WhoComesLateTakesNoPartOfTheNextTurn) {
  Members members;
  std::thread other([&] { members.run(1); });
  members.run(0);
  other.join();
  EXPECT_FALSE(members.isWrong);
}
