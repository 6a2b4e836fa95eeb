// Lays out a rank's memory: what is kept, slots, scratch.
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "ppc/Transforms/Arena/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_ASSIGNARENAPASS
#include "ppc/Transforms/Arena/Passes.h.inc"

namespace {

using namespace ppcrt;

constexpr int64_t kAlignment = 64;

/// The streams on which each routine is run.
DenseMap<Attribute, llvm::SmallDenseSet<Attribute>> streamsOf(DeviceOp device) {
  DenseMap<Attribute, llvm::SmallDenseSet<Attribute>> streams;
  device.walk([&](RunOp run) { streams[run.getRoutineAttr().getAttr()].insert(run.getStreamAttr()); });
  return streams;
}

struct AssignArenaPass : impl::AssignArenaPassBase<AssignArenaPass> {
  void runOnOperation() override {
    ProgramOp program = findProgram(getOperation());
    if (!program)
      return; // plain functions, no program of a plan
    SymbolTable functions(getOperation());
    for (DeviceOp device : program.getDevices())
      if (failed(place(device, functions)))
        return signalPassFailure();
  }

private:
  LogicalResult place(DeviceOp device, const SymbolTable &functions) {
    if (!device.getStep())
      return device.emitOpError("has no step, so how long its buffers live is not known: run ppc-apply-schedule first");
    int64_t end = 0;
    // What is kept from step to step first, then slots.
    for (bool slots : {false, true})
      for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
        if (buffer.getRole() == BufferRole::Scratch)
          return buffer.emitOpError("is scratch already: the arena is laid out once");
        if (buffer.hasSlots() != slots || buffer.getMemory() == Memory::Host)
          continue;
        int64_t stride = llvm::alignTo(buffer.getBytes(), kAlignment);
        buffer.setOffset(end);
        if (slots)
          buffer.setStride(stride);
        end += stride * buffer.getSlotCount();
      }
    return placeScratch(device, functions, end);
  }

  /// Routines that one stream runs share their scratch: it lives for one run, and those come one after the other.
  LogicalResult placeScratch(DeviceOp device, const SymbolTable &functions, int64_t end) {
    auto streams = streamsOf(device);
    llvm::MapVector<Attribute, int64_t> shared; // by stream: the largest
    SmallVector<std::pair<RoutineOp, int64_t>> sizes;
    for (auto routine : device.getBody().front().getOps<RoutineOp>()) {
      auto code = functions.lookup<func::FuncOp>(routine.getCodeAttr().getAttr());
      auto type = code && code.getNumArguments() ? dyn_cast<MemRefType>(code.getArgumentTypes().back()) : MemRefType();
      if (!type || type.getRank() != 1 || !type.getElementType().isInteger(8))
        return routine.emitOpError() << "names code " << routine.getCodeAttr()
                                     << " without scratch as its last argument: run ppc-assign-offsets first";
      sizes.push_back({routine, type.getNumElements()});
      auto &own = streams[routine.getSymNameAttr()];
      if (own.size() == 1)
        shared[*own.begin()] = std::max(shared[*own.begin()], type.getNumElements());
    }
    DenseMap<Attribute, int64_t> offsets;
    for (auto [stream, bytes] : shared) {
      offsets[stream] = end;
      end = llvm::alignTo(end + bytes, kAlignment);
    }
    for (auto [routine, bytes] : sizes) {
      OpBuilder builder(routine);
      auto name = builder.getStringAttr("scratch." + routine.getSymName());
      auto scratch = BufferOp::create(builder, routine.getLoc(), name.getValue(), BufferRole::Scratch,
                                      MemRefType::get({bytes}, builder.getI8Type()));
      auto &own = streams[routine.getSymNameAttr()];
      bool isShared = own.size() == 1;
      scratch.setOffset(isShared ? offsets[*own.begin()] : end);
      if (!isShared)
        end = llvm::alignTo(end + bytes, kAlignment);
      routine.setScratchAttr(FlatSymbolRefAttr::get(name));
    }
    device.setArena(end);
    return success();
  }
};

} // namespace
} // namespace mlir::ppc
