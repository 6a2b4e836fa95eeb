// ppc-offload-activations: saved activations are on the host between forward and backward.
#include "ActionTokens.h"
#include "OffloadedDevices.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/IR/Remarks.h"
#include "ppc/CostModel/OffloadWindow.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Support/Units.h"
#include "ppc/Transforms/Offload/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace mlir::ppc {
#define GEN_PASS_DEF_OFFLOADACTIVATIONSPASS
#include "ppc/Transforms/Offload/Passes.h.inc"

namespace {

using namespace ppcrt;

/// Values of which one routine makes all and others use all, of as many slots: they leave and come together.
struct SavedGroup {
  RoutineOp made;
  SmallVector<RoutineOp> used;
  int64_t slots = 0;
  OffloadWindow window{};
  SmallVector<BufferOp> values, onHost, back;
};

class ActivationsOffload {
public:
  explicit ActivationsOffload(DeviceOp device) : device(device) {}

  /// Returns whether anything is offloaded; fails, with an error, if backward reads a value that no forward has
  /// computed.
  FailureOr<bool> run();

private:
  std::vector<SavedGroup> findGroups();
  int64_t usedAtOnce(const SavedGroup &group);
  BufferOp clone(BufferOp buffer, StringRef suffix, int64_t slots);
  void addBuffers(SavedGroup &group);
  LogicalResult addCopies(const SavedGroup &group);
  void report(ArrayRef<SavedGroup> groups);

  DeviceOp device;
  FlatSymbolRefAttr out, in; ///< streams
  ActionTokens tokens;
};

} // namespace

/// Values that only forward computes and only later routines read; not those that are sent, whose slots the
/// schedule relies on.
std::vector<SavedGroup> ActivationsOffload::findGroups() {
  struct Users {
    SmallVector<RoutineOp> made, used;
  };
  llvm::MapVector<Attribute, Users> users;
  for (auto routine : device.getBody().front().getOps<RoutineOp>()) {
    for (Attribute name : routine.getWrites())
      users[name].made.push_back(routine);
    for (Attribute name : routine.getReads())
      users[name].used.push_back(routine);
  }
  for (auto message : device.getProgram().getBody().front().getOps<MessageOp>())
    for (SymbolRefAttr end : {message.getFrom(), message.getTo()})
      if (end.getRootReference() == device.getSymNameAttr())
        users.erase(FlatSymbolRefAttr::get(end.getLeafReference()));
  std::map<std::vector<Operation *>, size_t> numbers;
  std::vector<SavedGroup> groups;
  for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
    auto found = users.find(FlatSymbolRefAttr::get(buffer.getSymNameAttr()));
    if (buffer.getRole() != BufferRole::Saved || found == users.end())
      continue;
    auto &[made, used] = found->second;
    auto isLater = [](RoutineOp routine) {
      return llvm::is_contained({RoutineKind::Backward, RoutineKind::WeightGradient}, routine.getKind());
    };
    if (made.size() != 1 || made.front().getKind() != RoutineKind::Forward || used.empty() ||
        !llvm::all_of(used, isLater))
      continue;
    std::vector<Operation *> key{made.front()};
    key.insert(key.end(), used.begin(), used.end());
    auto [number, isNew] = numbers.try_emplace(std::move(key), groups.size());
    if (isNew)
      groups.push_back({made.front(), used, buffer.getSlotCount(), {}, {}, {}, {}});
    groups[number->second].values.push_back(buffer);
  }
  llvm::erase_if(groups, [&](SavedGroup &group) {
    group.window = offloadWindow(group.slots, usedAtOnce(group));
    return group.window.in == 0;
  });
  return groups;
}

/// Number of slots that separate the micro-batches that are between the first and the last routine that reads them.
int64_t ActivationsOffload::usedAtOnce(const SavedGroup &group) {
  std::vector<PipelineAction> uses;
  for (auto run : device.getStep().getBody().front().getOps<RunOp>())
    if (llvm::any_of(group.used, [&](RoutineOp one) { return one.getSymNameAttr() == run.getRoutineAttr().getAttr(); }))
      uses.push_back({PipelineActionKind::Backward, 0, int64_t(run.getMicroBatch().value_or(0))});
  return leastSlots(uses, 1);
}

BufferOp ActivationsOffload::clone(BufferOp buffer, StringRef suffix, int64_t slots) {
  OpBuilder after(buffer->getContext());
  after.setInsertionPointAfter(buffer);
  auto copy = cast<BufferOp>(after.clone(*buffer));
  copy.setSymName((buffer.getSymName() + suffix).str());
  copy.setSlots(slots);
  return copy;
}

void ActivationsOffload::addBuffers(SavedGroup &group) {
  DenseMap<Attribute, Attribute> replaced;
  for (BufferOp value : group.values) {
    BufferOp back = group.back.emplace_back(clone(value, ".back", group.window.in));
    group.onHost.emplace_back(clone(value, ".host", group.slots)).setMemory(Memory::Host);
    value.setSlots(group.window.out);
    replaced[FlatSymbolRefAttr::get(value.getSymNameAttr())] = FlatSymbolRefAttr::get(back.getSymNameAttr());
  }
  for (RoutineOp routine : group.used) {
    SmallVector<Attribute> reads(routine.getReads().getValue());
    for (Attribute &name : reads)
      if (Attribute other = replaced.lookup(name))
        name = other;
    routine.setReadsAttr(ArrayAttr::get(device.getContext(), reads));
  }
}

/// Each micro-batch's values leave when they are made, and come back as soon as a slot for them is free.
LogicalResult ActivationsOffload::addCopies(const SavedGroup &group) {
  struct Uses {
    Operation *made = nullptr, *firstOut = nullptr, *lastOut = nullptr, *lastIn = nullptr;
    SmallVector<Operation *, 2> used;
  };
  llvm::MapVector<int64_t, Uses> all; // by micro-batch, in the order in which forward makes them
  SmallVector<int64_t> inOrder;       // in that in which they are used first
  auto isOf = [](RunOp run, RoutineOp routine) { return run.getRoutineAttr().getAttr() == routine.getSymNameAttr(); };
  for (auto run : device.getStep().getBody().front().getOps<RunOp>()) {
    int64_t microBatch = run.getMicroBatch().value_or(0);
    if (isOf(run, group.made)) {
      all[microBatch].made = run;
    } else if (llvm::any_of(group.used, [&](RoutineOp routine) { return isOf(run, routine); })) {
      if (!all[microBatch].made)
        return run.emitOpError() << "reads what @" << RoutineOp(group.made).getSymName() << " makes of micro-batch "
                                 << microBatch << ", which is not run before it";
      if (all[microBatch].used.empty())
        inOrder.push_back(microBatch);
      all[microBatch].used.push_back(run);
    }
  }
  for (auto &[microBatch, uses] : all)
    if (uses.used.empty())
      return uses.made->emitOpError() << "makes values of micro-batch " << microBatch << ", which nothing reads";
  DenseMap<int64_t, Uses *> atOut, onHost, atIn; // user of each slot
  for (auto &[microBatch, uses] : all) {
    Operation *behind = uses.made; // issued after its sends, which other devices wait for
    while (isa_and_nonnull<SendOp>(behind->getNextNode()))
      behind = behind->getNextNode();
    OpBuilder at(device.getContext());
    at.setInsertionPointAfter(behind);
    std::tie(uses.firstOut, uses.lastOut) =
        copyAt(at, group.values, group.onHost, at.getI64IntegerAttr(microBatch), out);
    tokens.require(uses.firstOut, uses.made);
    if (Uses *before = std::exchange(atOut[microBatch % group.window.out], &uses))
      tokens.require(uses.made, before->lastOut);
  }
  for (int64_t microBatch : inOrder) {
    Uses &uses = all[microBatch], *before = std::exchange(atIn[microBatch % group.window.in], &uses);
    Operation *behind = uses.lastOut;
    if (before && behind->isBeforeInBlock(before->used.back()))
      behind = before->used.back();
    OpBuilder at(device.getContext());
    at.setInsertionPointAfter(behind);
    auto [first, last] = copyAt(at, group.onHost, group.back, at.getI64IntegerAttr(microBatch), in);
    uses.lastIn = last;
    tokens.require(first, uses.lastOut);
    if (before)
      tokens.require(first, before->used.back());
    for (Operation *run : uses.used)
      tokens.require(run, last);
  }
  for (auto &[microBatch, uses] : all)
    if (Uses *before = std::exchange(onHost[microBatch % group.slots], &uses))
      tokens.require(uses.firstOut, before->lastIn);
  return success();
}

void ActivationsOffload::report(ArrayRef<SavedGroup> groups) {
  Bytes onHost, onDevice;
  int64_t count = 0;
  for (const SavedGroup &group : groups)
    for (BufferOp value : group.values) {
      onHost += Bytes(double(value.getBytes() * group.slots));
      onDevice += Bytes(double(value.getBytes() * group.window.slots()));
      ++count;
    }
  remark::passed(device.getLoc(), remark::RemarkOpts::name("activations").category("ppc-offload"))
      << llvm::formatv("device {0}: {1} of {2} saved activations are offloaded to the host, at most {3} of them are on "
                       "the device at a time",
                       int64_t(device.getAt()), toString(onHost), count, toString(onDevice))
             .str();
}

FailureOr<bool> ActivationsOffload::run() {
  std::vector<SavedGroup> groups = findGroups();
  if (groups.empty())
    return false;
  in = getStream(device, "fetch");
  out = getStream(device, "offload");
  for (SavedGroup &group : groups) {
    addBuffers(group);
    if (failed(addCopies(group)))
      return failure();
  }
  tokens.write(device.getStep().getBody().front());
  report(groups);
  return true;
}

namespace {
struct OffloadActivationsPass : impl::OffloadActivationsPassBase<OffloadActivationsPass> {
  void runOnOperation() override {
    if (failed(forEachDevice(
            getOperation(), [](PlanAttr plan) { return plan.offloadsActivations(); },
            [](DeviceOp device) { return ActivationsOffload(device).run(); }, "activations",
            "offload activations does nothing: no device keeps them for more micro-batches than stay on it; that takes "
            "several stages (pp or vp), and several micro-batches")))
      signalPassFailure();
  }
};
} // namespace

} // namespace mlir::ppc
