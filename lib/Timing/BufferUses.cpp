// Uses of buffers by actions.
#include "ppc/Timing/BufferUses.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ppc {

using namespace ppcrt;

BufferUses::BufferUses(ProgramOp program, ProgramSymbols &symbols) : symbols(symbols) {
  for (DeviceOp device : program.getDevices()) {
    firstBuffers.push_back(buffers.size());
    for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
      numbers[buffer] = buffers.size();
      buffers.push_back(buffer);
      slotCounts.push_back(buffer.hasSlots() ? buffer.getSlotCount() : 0);
      places.push_back(buffer.getPlaces().value_or(ArrayRef<int64_t>()));
    }
  }
  for (BufferOp buffer : buffers)
    owners.push_back(numbers.lookup(symbols.ownerOf(buffer)));
  firstBuffers.push_back(buffers.size());
}

/// The micro-batch for which an action uses a buffer.
static std::optional<int64_t> microBatchOf(Operation *action, BufferOp buffer, const ProgramSymbols &symbols) {
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(action)
      .Case<LoadOp, RunOp, SendOp, ReceiveOp, CollectiveOp, CopyOp, CheckFiniteOp>(
          [](auto op) -> std::optional<int64_t> { return op.getMicroBatch(); })
      .Case([&](ExchangeOp exchange) -> std::optional<int64_t> {
        MessageOp sent = symbols.message(exchange.getSentAttr().getAttr());
        return sent && symbols.sent(sent) == buffer ? exchange.getSentMicroBatch() : exchange.getReceivedMicroBatch();
      })
      .Default(std::nullopt);
}

ArrayRef<BufferUse> BufferUses::of(Operation *action) {
  auto list = [&](std::vector<BufferUse> &uses) {
    SmallVector<Access> accesses;
    cast<ActionOpInterface>(action).getAccesses(symbols, accesses);
    for (const Access &access : accesses)
      uses.push_back({numbers.lookup(access.buffer), access.slot.value_or(0),
                      access.slot ? microBatchOf(action, access.buffer, symbols) : std::nullopt, access.isRead,
                      access.isWrite, access.early});
  };
  auto device = cast<DeviceOp>(action->getParentOp()->getParentOp());
  // The op that determines the uses: runs of one routine do the same, each for its micro-batch.
  Operation *kind = nullptr;
  if (auto run = dyn_cast<RunOp>(action))
    kind = symbols.routine(device, run.getRoutineAttr().getAttr());
  else if (isa<LoadOp>(action))
    kind = device;
  if (!kind) {
    current.clear();
    list(current);
    return current;
  }
  auto [entry, isNew] = known.try_emplace(kind);
  if (isNew)
    list(entry->second);
  current = entry->second;
  std::optional<int64_t> microBatch = microBatchOf(action, BufferOp(), symbols); // equal for all buffers
  for (BufferUse &use : current)
    if (int64_t slots = slotCounts[use.buffer]) {
      int64_t number = microBatch.value_or(0);
      use.microBatch = microBatch;
      use.slot = number < int64_t(places[use.buffer].size()) ? places[use.buffer][number] : number % slots;
    }
  return current;
}

std::string describeSlot(BufferOp buffer, int64_t slot) {
  std::string name = "@" + buffer.getSymName().str() + " (" + buffer.describe() + ")";
  return buffer.hasSlots() ? "slot " + std::to_string(slot) + " of " + name : name;
}

} // namespace mlir::ppc
