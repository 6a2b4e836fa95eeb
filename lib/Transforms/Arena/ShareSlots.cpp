// ppc-share-slots: values with disjoint lifetimes on a device use the same slots.
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Scheduling/SharedPlaces.h"
#include "ppc/Timing/BufferUses.h"
#include "ppc/Transforms/Arena/Passes.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <tuple>

namespace mlir::ppc {
#define GEN_PASS_DEF_SHARESLOTSPASS
#include "ppc/Transforms/Arena/Passes.h.inc"

namespace {

using namespace ppcrt;

/// Buffers whose values are live from and until the same actions.
struct SameLifetimes {
  std::vector<Lifetime> byMicroBatch;
  SmallVector<BufferOp> buffers;
};

/// The values of one device that may use the slots of others.
class SlotSharing {
public:
  SlotSharing(DeviceOp device, size_t place, BufferUses &uses, int64_t microBatches)
      : device(device), first(uses.firstBuffer(place)), end(uses.firstBuffer(place + 1)), uses(uses),
        microBatches(microBatches) {}

  void run();

private:
  /// Uses of a buffer: its stream, and its lifetimes in the step.
  struct Use {
    Attribute stream;
    bool mayShare = true;
    std::vector<Lifetime> byMicroBatch;
  };
  void follow(Block &actions, bool isStep);
  void share(ArrayRef<size_t> kinds, size_t number);

  DeviceOp device;
  uint32_t first, end; ///< buffers
  BufferUses &uses;
  int64_t microBatches;
  std::vector<Use> used; ///< by buffer, from the first of the device on
  std::vector<SameLifetimes> kinds;
  std::map<std::vector<size_t>, SharedPlaces> known; ///< by kinds
  /// Of the values that are being shared: of each kind the buffers, in order.
  std::vector<SmallVector<BufferOp>> ofKinds;
};
} // namespace

void SlotSharing::follow(Block &actions, bool isStep) {
  int64_t number = 0;
  for (Operation &action : actions) {
    Attribute stream = cast<ActionOpInterface>(action).getStreamAttr();
    for (const BufferUse &use : uses.of(&action)) {
      Use &own = used[use.buffer - first];
      own.stream = own.stream ? own.stream : stream;
      own.mayShare &= isa<RunOp>(action) && own.stream == stream && use.microBatch && *use.microBatch < microBatches;
      if (!own.mayShare || !isStep)
        continue;
      own.byMicroBatch.resize(microBatches);
      own.byMicroBatch[*use.microBatch].extend(number);
    }
    ++number;
  }
}

/// Lets the number-th buffer of each of these sets share the slots of the others, if that needs fewer slots.
void SlotSharing::share(ArrayRef<size_t> together, size_t number) {
  std::vector<size_t> key(together.begin(), together.end());
  auto [found, isNew] = known.try_emplace(key);
  if (isNew) {
    std::vector<Lifetime> values;
    for (size_t kind : together)
      llvm::append_range(values, kinds[kind].byMicroBatch);
    found->second = sharePlaces(values);
  }
  const SharedPlaces &places = found->second;
  int64_t slots = 0;
  for (size_t kind : together)
    slots += ofKinds[kind][number].getSlotCount();
  if (places.count >= slots)
    return;
  BufferOp owner = ofKinds[together.front()][number];
  for (auto [i, kind] : llvm::enumerate(together)) {
    BufferOp buffer = ofKinds[kind][number];
    buffer.setSlots(places.count);
    buffer.setPlaces(ArrayRef(places.places).slice(i * microBatches, microBatches));
    if (buffer != owner)
      buffer.setSharesAttr(FlatSymbolRefAttr::get(owner.getSymNameAttr()));
  }
}

void SlotSharing::run() {
  used.resize(end - first);
  follow(device.getStep().getBody().front(), /*isStep=*/true);
  if (EvaluateOp evaluate = device.getEvaluate())
    follow(evaluate.getBody().front(), /*isStep=*/false);
  std::map<std::vector<Lifetime>, size_t> numbers;
  using Like = std::tuple<Attribute, Type, int64_t>; // stream, elements, bytes
  llvm::MapVector<Like, llvm::MapVector<size_t, SmallVector<BufferOp>>> likes;
  for (uint32_t number = first; number < end; ++number) {
    BufferOp buffer = uses.getBuffers()[number];
    Use &use = used[number - first];
    if (buffer.getRole() != BufferRole::Saved || buffer.getMemory() == Memory::Host || buffer.getPlaces() ||
        !use.mayShare || use.byMicroBatch.empty())
      continue;
    auto [kind, isNew] = numbers.try_emplace(use.byMicroBatch, kinds.size());
    if (isNew)
      kinds.push_back({std::move(use.byMicroBatch), {}});
    likes[{use.stream, buffer.getBufferType().getElementType(), buffer.getBytes()}][kind->second].push_back(buffer);
  }
  for (auto &[like, ofLike] : likes) {
    size_t most = 0;
    ofKinds.assign(kinds.size(), {});
    for (auto &[kind, buffers] : ofLike) {
      most = std::max(most, buffers.size());
      ofKinds[kind] = buffers;
    }
    for (size_t number = 0; number < most; ++number) {
      SmallVector<size_t> together;
      for (size_t kind = 0; kind < kinds.size(); ++kind)
        if (number < ofKinds[kind].size())
          together.push_back(kind);
      share(together, number);
    }
  }
}

namespace {
struct ShareSlotsPass : impl::ShareSlotsPassBase<ShareSlotsPass> {
  void runOnOperation() override {
    ProgramOp program = findProgram(getOperation());
    if (!program)
      return; // plain functions, no program of a plan
    // What leaves for the host has as few slots on the device as copies need.
    if (auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan); plan && plan.offloadsActivations())
      return;
    for (DeviceOp device : program.getDevices())
      if (!device.getStep()) {
        device.emitOpError("has no step, so how long its values live is not known: run ppc-apply-schedule first");
        return signalPassFailure();
      }
    ProgramSymbols symbols(program);
    BufferUses uses(program, symbols);
    for (auto [number, device] : llvm::enumerate(program.getDevices()))
      SlotSharing(device, number, uses, int64_t(program.getMicroBatches())).run();
  }
};
} // namespace

} // namespace mlir::ppc
