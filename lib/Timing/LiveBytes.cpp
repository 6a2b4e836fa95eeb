#include "ppc/Timing/LiveBytes.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::ppc {

using namespace ppcrt;

/// Whether a value in the buffer is live only from one use to a later one.
static bool isShort(BufferOp buffer) {
  return llvm::is_contained({BufferRole::Input, BufferRole::Saved, BufferRole::Message, BufferRole::Prepared,
                             BufferRole::Gathered, BufferRole::Scratch},
                            buffer.getRole());
}

namespace {
/// A value in a slot: the first and last action that use it.
struct Content {
  int64_t first, last;
};
} // namespace

/// Peak bytes of values in short-lived buffers.
static int64_t mostShortBytes(Block &actions, BufferUses &uses, int64_t alignment) {
  DenseMap<std::pair<uint32_t, int64_t>, Content> now; // by buffer and slot
  std::vector<std::pair<uint32_t, Content>> values;
  int64_t number = 0;
  for (Operation &action : actions) {
    for (const BufferUse &use : uses.of(&action)) {
      BufferOp buffer = uses.getBuffers()[use.buffer];
      if (!isShort(buffer) || buffer.getMemory() == Memory::Host)
        continue;
      auto [entry, isNew] = now.try_emplace({use.buffer, use.slot}, Content{number, number});
      // Scratch is new in each run; so is a buffer that is written and not read.
      if (bool begins = use.isWrite && !use.isRead && entry->second.last < number; !isNew && begins) {
        values.push_back({use.buffer, entry->second});
        entry->second.first = number;
      }
      entry->second.last = number;
    }
    ++number;
  }
  for (auto &[place, value] : now)
    values.push_back({place.first, value});
  std::vector<int64_t> change(number + 1, 0);
  for (auto [buffer, value] : values) {
    int64_t bytes = llvm::alignTo(BufferOp(uses.getBuffers()[buffer]).getBytes(), alignment);
    change[value.first] += bytes;
    change[value.last + 1] -= bytes;
  }
  int64_t sum = 0, most = 0;
  for (int64_t each : change)
    most = std::max(most, sum += each);
  return most;
}

int64_t mostLiveBytes(DeviceOp device, BufferUses &uses, size_t place, int64_t alignment) {
  int64_t always = 0, most = 0;
  for (uint32_t number = uses.firstBuffer(place); number < uses.firstBuffer(place + 1); ++number)
    if (BufferOp buffer = uses.getBuffers()[number]; !isShort(buffer) && buffer.getMemory() != Memory::Host)
      always += llvm::alignTo(buffer.getBytes(), alignment) * buffer.getSlotCount();
  for (Operation &op : device.getBody().front())
    if (isa<StepOp, EvaluateOp>(op))
      most = std::max(most, mostShortBytes(op.getRegion(0).front(), uses, alignment));
  return always + most;
}

} // namespace mlir::ppc
