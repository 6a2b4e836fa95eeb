// ppc-verify-arena: checks bytes of the arena against the order of their uses, whichever pass assigned them.
#include "ScratchLifetimes.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/SymbolTable.h"
#include "ppc/Timing/BufferUses.h"
#include "ppc/Timing/LinearOrder.h"
#include "ppc/Timing/UseOrder.h"
#include "ppc/Transforms/Contracts/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_VERIFYARENAPASS
#include "ppc/Transforms/Contracts/Passes.h.inc"

namespace {

using namespace ppcrt;

/// The arenas of all devices, split into cells wherever a slot begins or ends, so that a slot is a range of cells.
class ArenaCells {
public:
  explicit ArenaCells(BufferUses &uses) : uses(uses) {}

  /// Fails, with an error, if a buffer has no offset or reaches past the end.
  LogicalResult cut(ProgramOp program);

  size_t size() const { return count; }
  /// Slots of all buffers, numbered; those in the memory of the host, and empty ones, have no cells.
  size_t number(uint32_t buffer, int64_t slot) const { return firstSlot[buffer] + slot; }
  uint32_t bufferOf(size_t slot) const { return llvm::upper_bound(firstSlot, slot) - firstSlot.begin() - 1; }
  llvm::iota_range<size_t> cells(size_t slot) const { return llvm::seq(ranges[slot].first, ranges[slot].second); }
  std::string describe(size_t slot) const {
    uint32_t buffer = bufferOf(slot);
    return describeSlot(uses.getBuffers()[buffer], slot - firstSlot[buffer]);
  }
  /// Offset of a cell.
  int64_t offset(size_t cell) const { return offsets[cell]; }

private:
  LogicalResult cutDevice(DeviceOp device, uint32_t first, uint32_t last);

  BufferUses &uses;
  std::vector<size_t> firstSlot; ///< by buffer, and one more
  std::vector<std::pair<size_t, size_t>> ranges;
  std::vector<int64_t> offsets; ///< by cell
  size_t count = 0;
};

LogicalResult ArenaCells::cutDevice(DeviceOp device, uint32_t first, uint32_t last) {
  std::vector<int64_t> bounds;
  // Host memory is modelled as if it followed the arena.
  int64_t arena = device.getArena().value_or(0);
  auto placeOf = [&](BufferOp buffer) {
    return int64_t(*buffer.getOffset()) + (buffer.getMemory() == Memory::Host ? arena : 0);
  };
  auto isElsewhere = [](BufferOp buffer) { return buffer.getMemory() == Memory::Host && !buffer.getOffset(); };
  auto forSlots = [&](function_ref<void(size_t slot, int64_t begin, int64_t end)> visit) {
    for (uint32_t number = first; number < last; ++number) {
      BufferOp buffer = uses.getBuffers()[number];
      for (int64_t slot = 0; slot < buffer.getSlotCount(); ++slot)
        if (buffer.getBytes() > 0 && !isElsewhere(buffer)) {
          int64_t begin = placeOf(buffer) + slot * int64_t(buffer.getStride().value_or(0));
          visit(this->number(number, slot), begin, begin + buffer.getBytes());
        }
    }
  };
  for (BufferOp buffer : uses.getBuffers().slice(first, last - first)) { // arena_c1
    if (isElsewhere(buffer))                                             // of a program that nothing has laid out there
      continue;
    if (!buffer.getOffset() || buffer.hasSlots() != buffer.getStride().has_value())
      return buffer.emitOpError("has no offset in the arena: run ppc-assign-arena first");
    int64_t end = int64_t(*buffer.getOffset()) + (buffer.getSlotCount() - 1) * int64_t(buffer.getStride().value_or(0)) +
                  buffer.getBytes();
    if (end > arena && buffer.getMemory() != Memory::Host)
      return buffer.emitOpError() << "ends at byte " << end << " of an arena of " << arena;
  }
  forSlots([&](size_t, int64_t begin, int64_t end) { bounds.insert(bounds.end(), {begin, end}); });
  llvm::sort(bounds);
  bounds.erase(llvm::unique(bounds), bounds.end());
  forSlots([&](size_t slot, int64_t begin, int64_t end) {
    ranges[slot] = {count + (llvm::lower_bound(bounds, begin) - bounds.begin()),
                    count + (llvm::lower_bound(bounds, end) - bounds.begin())};
  });
  llvm::append_range(offsets, bounds);
  count += bounds.size();
  return success();
}

LogicalResult ArenaCells::cut(ProgramOp program) {
  firstSlot.assign(1, 0);
  for (BufferOp buffer : uses.getBuffers())
    firstSlot.push_back(firstSlot.back() + buffer.getSlotCount());
  ranges.assign(firstSlot.back(), {0, 0});
  for (auto [number, device] : llvm::enumerate(program.getDevices()))
    if (failed(cutDevice(device, uses.firstBuffer(number), uses.firstBuffer(number + 1))))
      return failure();
  return success();
}

/// Follows one list of actions of all devices.
class ArenaCheck {
public:
  ArenaCheck(const StepEvents &events, BufferUses &uses, const ArenaCells &cells)
      : events(events), uses(uses), cells(cells), places(events, cells.size()) {}

  LogicalResult verify(ArrayRef<Event> order);

private:
  LogicalResult begin();
  LogicalResult use(uint32_t activity, const BufferUse &use, Clock ended);
  LogicalResult end();
  InFlightDiagnostic conflict(uint32_t activity, size_t slot, size_t cell, uint32_t earlier);
  void noteWriter(InFlightDiagnostic &error, size_t cell);
  Operation *op(uint32_t activity) { return events.getActivities()[activity].op; }

  const StepEvents &events;
  BufferUses &uses;
  const ArenaCells &cells;
  UseOrder places; ///< by cell; its contents are a slot, and a micro-batch
};

/// Contents of a cell, as a number: a slot, and the micro-batch of its value; 0 for the micro-batch if the buffer
/// has one value or the action gives none.
int64_t contentOf(size_t slot, std::optional<int64_t> microBatch) {
  return int64_t(slot) << 24 | (microBatch ? *microBatch + 1 : 0);
}
size_t slotOf(int64_t content) { return content >> 24; }
int64_t microBatchOf(int64_t content) { return (content & ((1 << 24) - 1)) - 1; }

bool isThereFromBeginning(BufferOp buffer) {
  return buffer.isSum() ||
         llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Scalar}, buffer.getRole());
}

// arena_c2
LogicalResult ArenaCheck::begin() {
  for (auto [number, op] : llvm::enumerate(uses.getBuffers())) {
    BufferOp buffer = op;
    if (!isThereFromBeginning(buffer))
      continue;
    size_t slot = cells.number(number, 0);
    for (size_t cell : cells.cells(slot)) {
      if (int64_t other = places.content(cell); other != UseOrder::kNothing) {
        InFlightDiagnostic error = buffer.emitOpError() << "shares byte " << cells.offset(cell) << " of the arena with "
                                                        << cells.describe(slotOf(other)) << "; a step begins with both";
        error.attachNote(BufferOp(uses.getBuffers()[cells.bufferOf(slotOf(other))]).getLoc()) << "the other buffer";
        return error;
      }
      places.setContent(cell, contentOf(slot, std::nullopt));
    }
  }
  return success();
}

InFlightDiagnostic ArenaCheck::conflict(uint32_t activity, size_t slot, size_t cell, uint32_t earlier) {
  size_t there = slot;
  bool wasWritten = false;
  for (const BufferUse &other : uses.of(op(earlier)))
    if (size_t number = cells.number(other.buffer, other.slot);
        (number != slot || earlier != activity) && llvm::is_contained(cells.cells(number), cell)) {
      there = number;
      wasWritten |= other.isWrite;
    }
  InFlightDiagnostic error = op(activity)->emitOpError();
  if (earlier == activity) {
    error << "uses " << cells.describe(slot) << " and " << cells.describe(there) << " at once, which share byte "
          << cells.offset(cell) << " of the arena";
    BufferOp other = uses.getBuffers()[cells.bufferOf(there)];
    error.attachNote(other.getLoc()) << "the other buffer";
    return error;
  }
  error << "may use " << cells.describe(slot) << " while " << cells.describe(there) << ", also at byte "
        << cells.offset(cell) << " of the arena, is still being " << (wasWritten ? "written" : "read");
  error.attachNote(op(earlier)->getLoc()) << "which nothing orders before it: " << events.describe(earlier);
  return error;
}

void ArenaCheck::noteWriter(InFlightDiagnostic &error, size_t cell) {
  if (std::optional<uint32_t> writer = places.writer(cell))
    error.attachNote(op(*writer)->getLoc()) << "written here: " << events.describe(*writer);
}

// arena_c3, arena_c4
LogicalResult ArenaCheck::use(uint32_t activity, const BufferUse &use, Clock ended) {
  size_t slot = cells.number(use.buffer, use.slot);
  for (size_t cell : cells.cells(slot)) {
    if (std::optional<uint32_t> earlier = places.add(cell, events.endOfUse(activity, use.early), ended, use.isWrite))
      return conflict(activity, slot, cell, *earlier);
    int64_t found = places.content(cell), own = contentOf(slot, use.microBatch);
    bool isOther = slotOf(found) != slot || (use.microBatch && microBatchOf(found) >= 0 && found != own);
    if (use.isRead && found != UseOrder::kNothing && isOther) {
      InFlightDiagnostic error = op(activity)->emitOpError() << "reads " << cells.describe(slot);
      if (slotOf(found) == slot)
        error << " for micro-batch " << *use.microBatch << ", over which micro-batch " << microBatchOf(found);
      else
        error << ", over which " << cells.describe(slotOf(found));
      error << " has been written, at byte " << cells.offset(cell) << " of the arena";
      noteWriter(error, cell);
      return error;
    }
    if (use.isWrite)
      places.setContent(cell, own);
  }
  return success();
}

// arena_c5
LogicalResult ArenaCheck::end() {
  for (auto [number, op] : llvm::enumerate(uses.getBuffers())) {
    BufferOp buffer = op;
    if (!llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Metric}, buffer.getRole()))
      continue;
    size_t slot = cells.number(number, 0);
    for (size_t cell : cells.cells(slot))
      if (int64_t found = places.content(cell); found != UseOrder::kNothing && slotOf(found) != slot) {
        InFlightDiagnostic error = buffer.emitOpError() << "is kept, but at the end " << cells.describe(slotOf(found))
                                                        << " is at byte " << cells.offset(cell) << " of the arena";
        noteWriter(error, cell);
        return error;
      }
  }
  return success();
}

LogicalResult ArenaCheck::verify(ArrayRef<Event> order) {
  if (failed(begin()))
    return failure();
  LogicalResult followed = followClocks(events, order, [&](uint32_t activity, Clock ended) -> LogicalResult {
    for (const BufferUse &used : uses.of(op(activity)))
      if (failed(use(activity, used, ended)))
        return failure();
    return success();
  });
  return failure(failed(followed) || failed(end()));
}

struct VerifyArenaPass : impl::VerifyArenaPassBase<VerifyArenaPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    ModuleOp module = getOperation();
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(verifyScratchLifetimes(function))) // arena_c6
        return signalPassFailure();
    if (ProgramOp program = findProgram(module); program && failed(verify(program, module)))
      signalPassFailure();
  }

  LogicalResult verify(ProgramOp program, ModuleOp module) {
    ProgramSymbols symbols(program);
    SymbolTable functions(module);
    BufferUses uses(program, symbols);
    ArenaCells cells(uses);
    if (failed(cells.cut(program)))
      return failure();
    for (DeviceOp device : program.getDevices())
      for (auto routine : device.getBody().front().getOps<RoutineOp>())
        if (failed(verifyCode(routine, symbols, functions)))
          return failure();
    for (bool isEvaluation : {false, true}) {
      FailureOr<StepEvents> events = StepEvents::build(program, symbols, isEvaluation);
      if (failed(events))
        return failure();
      FailureOr<std::vector<Event>> order = findLinearOrder(*events);
      if (failed(order) || failed(ArenaCheck(*events, uses, cells).verify(*order)))
        return failure();
    }
    return success();
  }
};

} // namespace
} // namespace mlir::ppc
