// Layout of a rank's memory: persistent buffers, slots, and buffers that share bytes since their lifetimes are
// disjoint.
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "ppc/Support/Units.h"
#include "ppc/Timing/BufferLifetimes.h"
#include "ppc/Timing/LiveBytes.h"
#include "ppc/Transforms/Arena/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_ASSIGNARENAPASS
#include "ppc/Transforms/Arena/Passes.h.inc"

namespace {

using namespace ppcrt;

/// Gives each routine of `device` a buffer for the scratch of its code.
LogicalResult addScratch(DeviceOp device, const SymbolTable &functions) {
  for (auto buffer : device.getBody().front().getOps<BufferOp>())
    if (buffer.getRole() == BufferRole::Scratch)
      return buffer.emitOpError("is scratch already: the arena is laid out once");
  for (auto routine : device.getBody().front().getOps<RoutineOp>()) {
    auto code = functions.lookup<func::FuncOp>(routine.getCodeAttr().getAttr());
    auto type = code && code.getNumArguments() ? dyn_cast<MemRefType>(code.getArgumentTypes().back()) : MemRefType();
    if (!type || !type.hasStaticShape() || type.getRank() != 1 || !type.getElementType().isInteger(8))
      return routine.emitOpError() << "names code " << routine.getCodeAttr()
                                   << " without scratch as its last argument: run ppc-assign-offsets first";
    OpBuilder builder(routine);
    auto name = builder.getStringAttr("scratch." + routine.getSymName());
    BufferOp::create(builder, routine.getLoc(), name.getValue(), BufferRole::Scratch, type);
    routine.setScratchAttr(FlatSymbolRefAttr::get(name));
  }
  return success();
}

/// Places the buffers of one device, each as low as those before it allow.
class ArenaLayout {
public:
  ArenaLayout(DeviceOp device, uint32_t firstBuffer, const BufferLifetimes &lifetimes, int64_t alignment)
      : device(device), firstBuffer(firstBuffer), lifetimes(lifetimes), alignment(alignment) {}

  void run();

private:
  struct Placed {
    uint32_t number;
    BufferOp buffer;
    int64_t begin, end;
  };
  void place(uint32_t number, BufferOp buffer);
  void placeSharing();
  void placeOnHost();
  bool mayShare(const Placed &placed, uint32_t number, BufferOp buffer) const;
  SmallVector<std::pair<uint32_t, BufferOp>> scratchByStream();

  DeviceOp device;
  uint32_t firstBuffer;
  const BufferLifetimes &lifetimes;
  int64_t alignment;          ///< bytes
  SmallVector<Placed> apart;  ///< from everything
  SmallVector<Placed> shared; ///< placed buffers that may share bytes, by offset
  int64_t apartEnd = 0, end = 0;
};
} // namespace

/// Whether the contents are dead after the last use. Other buffers are read from outside as well: after the step,
/// or after a failure.
static bool isGoneAfterUse(BufferOp buffer) {
  return buffer.getRole() == BufferRole::Scratch || buffer.getRole() == BufferRole::Gathered;
}

bool ArenaLayout::mayShare(const Placed &placed, uint32_t number, BufferOp buffer) const {
  BufferOp other = placed.buffer;
  // Scratch does not outlive an action, so it may be used in turns.
  bool hold = buffer.getRole() != BufferRole::Scratch || other.getRole() != BufferRole::Scratch;
  return lifetimes.areApart(placed.number, number) || (!hold && lifetimes.takeTurns(placed.number, number));
}

void ArenaLayout::place(uint32_t number, BufferOp buffer) {
  int64_t stride = llvm::alignTo(buffer.getBytes(), alignment), bytes = stride * buffer.getSlotCount();
  int64_t begin = apartEnd;
  if (isGoneAfterUse(buffer)) {
    for (const Placed &placed : shared) { // ascending: the first gap that is wide enough
      if (placed.begin >= begin + bytes)
        break;
      if (placed.end > begin && !mayShare(placed, number, buffer))
        begin = placed.end;
    }
    Placed self{number, buffer, begin, begin + bytes};
    shared.insert(llvm::upper_bound(shared, self, [](const Placed &a, const Placed &b) { return a.begin < b.begin; }),
                  self);
  } else {
    apartEnd += bytes;
  }
  end = std::max({end, begin + bytes, apartEnd});
  buffer.setOffset(begin);
  if (buffer.hasSlots())
    buffer.setStride(stride);
}

/// Scratch buffers by stream, the streams in the order of their first routines: each has an offset of at most the
/// sum of the largest scratch of each earlier stream.
SmallVector<std::pair<uint32_t, BufferOp>> ArenaLayout::scratchByStream() {
  DenseMap<Attribute, llvm::SmallDenseSet<Attribute>> streams; // by routine
  device.walk([&](RunOp run) { streams[run.getRoutineAttr()].insert(run.getStreamAttr()); });
  llvm::MapVector<Attribute, SmallVector<std::pair<uint32_t, BufferOp>>> groups;
  DenseMap<Attribute, std::pair<uint32_t, BufferOp>> scratch;
  for (auto [number, buffer] : llvm::enumerate(device.getBody().front().getOps<BufferOp>()))
    if (buffer.getRole() == BufferRole::Scratch)
      scratch[FlatSymbolRefAttr::get(buffer.getSymNameAttr())] = {firstBuffer + number, buffer};
  SmallVector<std::pair<uint32_t, BufferOp>> alone, result;
  for (auto routine : device.getBody().front().getOps<RoutineOp>()) {
    auto &own = streams[FlatSymbolRefAttr::get(routine.getSymNameAttr())];
    (own.size() == 1 ? groups[*own.begin()] : alone).push_back(scratch[routine.getScratchAttr()]);
  }
  for (auto &[stream, list] : groups)
    llvm::append_range(result, list);
  llvm::append_range(result, alone);
  return result;
}

void ArenaLayout::run() {
  // Persistent buffers first, then slots; buffers that may share bytes follow.
  for (bool shares : {false, true}) {
    SmallVector<std::pair<uint32_t, BufferOp>> own;
    for (bool slots : {false, true})
      for (auto [number, buffer] : llvm::enumerate(device.getBody().front().getOps<BufferOp>()))
        if (buffer.hasSlots() == slots && buffer.getMemory() != Memory::Host && !buffer.getShares() &&
            buffer.getRole() != BufferRole::Scratch && isGoneAfterUse(buffer) == shares)
          own.push_back({firstBuffer + number, buffer});
    if (shares) // small buffers fit into gaps between large ones, not the other way round
      llvm::stable_sort(own, [](const auto &a, const auto &b) {
        return BufferOp(a.second).getBytes() > BufferOp(b.second).getBytes();
      });
    for (auto [number, buffer] : own)
      place(number, buffer);
  }
  for (auto [number, buffer] : scratchByStream())
    place(number, buffer);
  device.setArena(end);
  placeOnHost();
  placeSharing();
}

/// Gives buffers that share another one its offset.
void ArenaLayout::placeSharing() {
  for (auto buffer : device.getBody().front().getOps<BufferOp>())
    if (FlatSymbolRefAttr shared = buffer.getSharesAttr()) {
      BufferOp owner = device.buffer(shared.getAttr());
      buffer.setOffset(*owner.getOffset());
      buffer.setStride(*owner.getStride());
    }
}

/// Offsets in host memory, where no buffers share bytes: all are persistent, or in slots.
void ArenaLayout::placeOnHost() {
  int64_t next = 0;
  for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
    if (buffer.getMemory() != Memory::Host || buffer.getShares())
      continue;
    int64_t stride = llvm::alignTo(buffer.getBytes(), alignment);
    buffer.setOffset(next);
    if (buffer.hasSlots())
      buffer.setStride(stride);
    next += stride * buffer.getSlotCount();
  }
}

/// Reports the size of the arena relative to the bytes in use at one time.
static void report(DeviceOp device, BufferUses &uses, size_t place, int64_t alignment) {
  auto remark = remark::analysis(device.getLoc(), remark::RemarkOpts::name("arena").category("ppc-arena"));
  if (!remark)
    return; // not requested
  int64_t arena = *device.getArena(), live = mostLiveBytes(device, uses, place, alignment);
  remark << llvm::formatv("device {0}: {1} ({2} bytes), of which {3} bytes are in use at one time: {4:f2} % more",
                          int64_t(device.getAt()), toString(Bytes(double(arena))), arena, live,
                          live ? 100 * (double(arena) / double(live) - 1) : 0.0)
                .str();
}

namespace {
struct AssignArenaPass : impl::AssignArenaPassBase<AssignArenaPass> {
  using AssignArenaPassBase::AssignArenaPassBase;

  void runOnOperation() override {
    if (alignment < 1 || !llvm::isPowerOf2_64(alignment)) {
      getOperation().emitError() << "alignment is " << alignment.getValue() << ", expected a power of 2";
      return signalPassFailure();
    }
    ProgramOp program = findProgram(getOperation());
    if (!program)
      return; // plain functions, no program of a plan
    SymbolTable functions(getOperation());
    for (DeviceOp device : program.getDevices()) {
      if (!device.getStep()) {
        device.emitOpError("has no step, so how long its buffers live is not known: run ppc-apply-schedule first");
        return signalPassFailure();
      }
      if (failed(addScratch(device, functions)))
        return signalPassFailure();
    }
    ProgramSymbols symbols(program);
    BufferUses uses(program, symbols);
    FailureOr<BufferLifetimes> lifetimes = BufferLifetimes::compute(program, symbols, uses);
    if (failed(lifetimes))
      return signalPassFailure();
    for (auto [number, device] : llvm::enumerate(program.getDevices())) {
      ArenaLayout(device, uses.firstBuffer(number), *lifetimes, alignment).run();
      report(device, uses, number, alignment);
    }
  }
};
} // namespace

} // namespace mlir::ppc
