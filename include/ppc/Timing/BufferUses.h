// Accesses of actions to the memory of their devices.
#ifndef PPC_TIMING_BUFFERUSES_H
#define PPC_TIMING_BUFFERUSES_H

#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

/// A use of a slot of a buffer by an action.
struct BufferUse {
  uint32_t buffer; ///< its number in the program
  int64_t slot;    ///< 0 if the buffer has no slots
  std::optional<int64_t>
      microBatch; ///< micro-batch of the value; none if the buffer has no slots or the action gives none
  bool isRead, isWrite;
  std::optional<uint32_t> early = std::nullopt; ///< for a run: the entry of `early` with which the use ends, if any
};

/// The buffers of a program, numbered, and the uses of each action: ActionOpInterface::getAccesses, queried once for a
/// routine instead of for each run of it.
class BufferUses {
public:
  /// `symbols` must outlive it.
  BufferUses(ppcrt::ProgramOp program, ppcrt::ProgramSymbols &symbols);

  ArrayRef<ppcrt::BufferOp> getBuffers() const { return buffers; }
  /// The range of buffers of the device with index `device`: [first, first of the next).
  uint32_t firstBuffer(size_t device) const { return firstBuffers[device]; }
  /// The buffer whose slots that one uses: the one that it shares, or itself.
  uint32_t ownerOf(uint32_t buffer) const { return owners[buffer]; }
  /// The uses of `action`, in its order; valid until the next call.
  ArrayRef<BufferUse> of(Operation *action);

private:
  ppcrt::ProgramSymbols &symbols;
  std::vector<ppcrt::BufferOp> buffers;
  std::vector<int64_t> slotCounts;       ///< by buffer; 0: it has none
  std::vector<ArrayRef<int64_t>> places; ///< by buffer; empty: it has none
  std::vector<uint32_t> owners;          ///< by buffer
  std::vector<uint32_t> firstBuffers;    ///< by device, and one more
  DenseMap<Operation *, uint32_t> numbers;
  DenseMap<Operation *, std::vector<BufferUse>> known; ///< by routine, for loads by device; micro-batch 0
  std::vector<BufferUse> current;
};

/// "slot 1 of @h (saved x)", "@w (parameter w)": for messages to users.
std::string describeSlot(ppcrt::BufferOp buffer, int64_t slot);

} // namespace mlir::ppc

#endif // PPC_TIMING_BUFFERUSES_H
