// A loop of lowering, measuring arenas and asking each stage that is too large to save less.
#include "ppc/Phases/FitMemory.h"

#include "dialects/ppcrt/PpcRt.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Phases/TargetPhases.h"
#include "ppc/Support/Units.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ppc {
namespace {

/// Slots of a device, and the bytes that all buffers with slots take in one of them.
struct Slots {
  int64_t count = 1, bytes = 0;
};

Slots slotsOf(ppcrt::DeviceOp device) {
  Slots slots;
  for (auto buffer : device.getBody().front().getOps<ppcrt::BufferOp>())
    if (buffer.hasSlots()) {
      slots.count = std::max(slots.count, buffer.getSlotCount());
      slots.bytes += buffer.getStride().value_or(0);
    }
  return slots;
}

class MemoryFitter {
public:
  MemoryFitter(const MemoryBudget &budget, PhaseRunner runPhase) : budget(budget), runPhase(runPhase) {}

  /// Lowers a copy of `planned`, of which stages save `fewer` bytes, to laid out arenas.
  OwningOpRef<ModuleOp> lower(ModuleOp planned, ArrayRef<int64_t> fewer) const;
  /// Compares the arenas of `module` with the budget, and sets what the next attempt saves.
  void measure(ModuleOp module);

  SmallVector<int64_t> fewer, next; ///< bytes per stage and micro-batch: of the attempt, and of the one after it
  int64_t excess = 0;               ///< bytes above the budget, of all stages
  int64_t largest = 0, worst = 0;   ///< bytes of the largest arena, and its stage
  bool exhausted = false;           ///< a stage has nothing left that it could recompute

private:
  const MemoryBudget &budget;
  PhaseRunner runPhase;
  SmallVector<int64_t> saveable; ///< bytes that the plan saves, per stage and micro-batch
  int64_t excessBefore = INT64_MAX, stalls = 0;
};

OwningOpRef<ModuleOp> MemoryFitter::lower(ModuleOp planned, ArrayRef<int64_t> fewer) const {
  OwningOpRef<ModuleOp> module = planned.clone();
  if (failed(runPhase(*module, "partition",
                      [&](OpPassManager &pm) { buildPartitionPhase(pm, fewer, budget.overlap, budget.cluster); })) ||
      failed(runPhase(*module, "device", [&](OpPassManager &pm) {
        buildDevicePhase(pm, budget.target, /*profile=*/false, /*verifyArena=*/false, budget.overlap);
      })))
    return nullptr;
  return module;
}

void MemoryFitter::measure(ModuleOp module) {
  SmallVector<ppcrt::DeviceOp> devices = ppcrt::findProgram(module).getDevices();
  if (saveable.empty())
    for (ppcrt::DeviceOp device : devices)
      saveable.push_back(slotsOf(device).bytes);
  next = fewer;
  next.resize(devices.size(), 0);
  excess = largest = worst = 0;
  exhausted = false;
  for (auto [number, device] : llvm::enumerate(devices)) {
    int64_t arena = *device.getArena(), over = arena - budget.bytes;
    if (arena > largest)
      largest = arena, worst = number;
    if (over <= 0)
      continue;
    excess += over;
    exhausted |= next[number] > saveable[number];
    // Recomputation comes in steps of whole tensors: a request below the next step frees nothing, so it doubles.
    next[number] += llvm::divideCeil(over, slotsOf(device).count) << stalls;
  }
  stalls = excess >= excessBefore ? stalls + 1 : 0;
  excessBefore = excess;
}

} // namespace

FailureOr<SmallVector<int64_t>> fitMemory(ModuleOp planned, const MemoryBudget &budget, PhaseRunner runPhase,
                                          function_ref<void(const Twine &)> report) {
  MemoryFitter fitter(budget, runPhase);
  while (true) {
    OwningOpRef<ModuleOp> module = fitter.lower(planned, fitter.fewer);
    if (!module)
      return failure();
    fitter.measure(*module);
    if (!fitter.excess)
      return fitter.fewer;
    if (budget.recomputeIsGiven || fitter.exhausted) {
      report("stage " + Twine(fitter.worst) + " needs " + toString(Bytes(double(fitter.largest))) +
             " per rank, --memory allows " + toString(Bytes(double(budget.bytes))) +
             (budget.recomputeIsGiven
                  ? ": leave out --recompute to let the compiler choose what backward recomputes, or use more ranks"
                  : "; backward can recompute nothing more: use more ranks or a smaller --micro-batch"));
      return failure();
    }
    fitter.fewer = fitter.next;
  }
}

} // namespace mlir::ppc
