// The order of waits, of uses of buffers, and of communication in a group.
#include "ProgramTime.h"
#include "ppc/Timing/BufferUses.h"
#include "ppc/Timing/LinearOrder.h"
#include "ppc/Timing/UseOrder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ppc {

using namespace ppcrt;

namespace {

/// Contents of a slot: the value of a micro-batch, by its number and the number of its buffer, as several may share
/// the slot; or a value of the whole step.
constexpr int64_t kOfStep = -2;
int64_t valueOf(const BufferUse &use) { return use.microBatch ? int64_t(use.buffer) << 32 | *use.microBatch : kOfStep; }
int64_t microBatchOf(int64_t content) { return content & UINT32_MAX; }
uint32_t bufferOf(int64_t content) { return uint32_t(content >> 32); }

class ProgramTime {
public:
  ProgramTime(const StepEvents &events, BufferUses &uses);

  LogicalResult verify(ArrayRef<Event> order);

private:
  LogicalResult begin(uint32_t activity, Clock ended);
  LogicalResult use(uint32_t activity, const BufferUse &use, Clock ended);
  LogicalResult communicate(uint32_t activity, uint32_t group, Clock ended);
  LogicalResult checkContent(uint32_t activity, const BufferUse &use);
  LogicalResult checkSum(uint32_t activity, const BufferUse &use);
  InFlightDiagnostic conflict(uint32_t activity, uint32_t earlier, const BufferUse &use);
  Operation *op(uint32_t activity) { return events.getActivities()[activity].op; }
  size_t placeOf(const BufferUse &use) const { return firstSlot[uses.ownerOf(use.buffer)] + use.slot; }

  const StepEvents &events;
  BufferUses &uses;
  std::vector<size_t> firstSlot; ///< by buffer, and one more: first locations of slots; then those of groups, by device
  UseOrder places;
  DenseMap<uint32_t, uint32_t> completed; ///< by buffer that is a sum: the activity that first used the complete sum
};

std::vector<size_t> numberSlots(ArrayRef<BufferOp> buffers) {
  std::vector<size_t> first{0};
  for (BufferOp buffer : buffers)
    first.push_back(first.back() + buffer.getSlotCount());
  return first;
}

/// Verb for the use of a buffer by an action, for messages to users.
StringRef verbOf(Operation *action, bool isWrite) {
  if (isa<SendOp>(action))
    return "sent";
  if (isa<ReceiveOp>(action))
    return "received";
  return isWrite ? "written" : "read";
}
} // namespace

ProgramTime::ProgramTime(const StepEvents &events, BufferUses &uses)
    : events(events), uses(uses), firstSlot(numberSlots(uses.getBuffers())),
      places(events, firstSlot.back() + events.getGroupCount() * events.getDeviceCount()) {
  for (auto [number, buffer] : llvm::enumerate(uses.getBuffers()))
    if (BufferOp op = buffer;
        op.isSum() || llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Scalar}, op.getRole()))
      places.setContent(firstSlot[number], kOfStep);
}

LogicalResult ProgramTime::verify(ArrayRef<Event> order) {
  return followClocks(events, order, [&](uint32_t activity, Clock ended) { return begin(activity, ended); });
}

LogicalResult ProgramTime::begin(uint32_t activity, Clock ended) {
  for (uint32_t group : events.getGroups(activity))
    if (failed(communicate(activity, group, ended)))
      return failure();
  for (const BufferUse &used : uses.of(op(activity)))
    if (failed(use(activity, used, ended)))
      return failure();
  return success();
}

/// Checks that the communication of a device over one group is ordered.
LogicalResult ProgramTime::communicate(uint32_t activity, uint32_t group, Clock ended) {
  size_t place = firstSlot.back() + events.getActivities()[activity].device * events.getGroupCount() + group;
  std::optional<uint32_t> earlier = places.add(place, activity, ended, /*isWrite=*/true);
  if (!earlier)
    return success();
  InFlightDiagnostic error = op(activity)->emitOpError()
                             << "communicates over the same ranks as another action that nothing orders: "
                             << events.describe(activity);
  error.attachNote(op(*earlier)->getLoc()) << "the other: " << events.describe(*earlier);
  return error;
}

InFlightDiagnostic ProgramTime::conflict(uint32_t activity, uint32_t earlier, const BufferUse &use) {
  bool wasWritten = llvm::any_of(
      uses.of(op(earlier)), [&](const BufferUse &other) { return placeOf(other) == placeOf(use) && other.isWrite; });
  InFlightDiagnostic error = op(activity)->emitOpError()
                             << "may " << (use.isWrite ? "write " : "read ")
                             << describeSlot(uses.getBuffers()[use.buffer], use.slot) << " while it is still being "
                             << verbOf(op(earlier), wasWritten);
  error.attachNote(op(earlier)->getLoc()) << "which nothing orders before it: " << events.describe(earlier);
  return error;
}

LogicalResult ProgramTime::use(uint32_t activity, const BufferUse &use, Clock ended) {
  size_t place = placeOf(use);
  BufferOp buffer = uses.getBuffers()[use.buffer];
  BufferUse kept = use; // messages query the uses of other actions, which invalidates `use`
  if (std::optional<uint32_t> earlier = places.add(place, events.endOfUse(activity, use.early), ended, use.isWrite))
    return conflict(activity, *earlier, kept);
  if (buffer.getRole() == BufferRole::Scratch)
    return success();
  if ((use.isRead && failed(checkContent(activity, kept))) || (buffer.isSum() && failed(checkSum(activity, kept))))
    return failure();
  if (use.isWrite)
    places.setContent(place, valueOf(kept));
  return success();
}

/// Checks that actions of the whole step use a sum after all micro-batches have added to it; a check may read it at
/// any time.
LogicalResult ProgramTime::checkSum(uint32_t activity, const BufferUse &use) {
  Operation *action = op(activity);
  bool isOfStep = llvm::TypeSwitch<Operation *, bool>(action)
                      .Case<RunOp, CollectiveOp, CopyOp>([](auto used) { return !used.getMicroBatch(); })
                      .Default(false);
  if (isOfStep && use.isRead)
    completed.try_emplace(use.buffer, activity);
  auto user = completed.find(use.buffer);
  if (isOfStep || !use.isWrite || user == completed.end())
    return success();
  InFlightDiagnostic error = action->emitOpError() << "adds to " << describeSlot(uses.getBuffers()[use.buffer], 0)
                                                   << " after the sum has been used";
  error.attachNote(op(user->second)->getLoc()) << "used here: " << events.describe(user->second);
  return error;
}

LogicalResult ProgramTime::checkContent(uint32_t activity, const BufferUse &use) {
  size_t place = placeOf(use);
  BufferOp buffer = uses.getBuffers()[use.buffer];
  int64_t found = places.content(place), wanted = use.microBatch ? valueOf(use) : found;
  if (found != UseOrder::kNothing && found == wanted)
    return success();
  InFlightDiagnostic error = op(activity)->emitOpError() << "reads " << describeSlot(buffer, use.slot);
  if (use.microBatch)
    error << " for micro-batch " << *use.microBatch;
  if (found == UseOrder::kNothing) {
    error << " before anything was written there";
    error.attachNote(buffer.getLoc()) << "the buffer";
    return error;
  }
  bool isOfStep = found == kOfStep;
  if (!isOfStep && bufferOf(found) != use.buffer)
    error << ", which by then holds @" << BufferOp(uses.getBuffers()[bufferOf(found)]).getSymName()
          << " of micro-batch " << microBatchOf(found);
  else
    error << ", which by then holds the value of micro-batch " << (isOfStep ? kOfStep : microBatchOf(found));
  if (std::optional<uint32_t> writer = places.writer(place))
    error.attachNote(op(*writer)->getLoc()) << "written here: " << events.describe(*writer);
  return error;
}

LogicalResult verifyTime(ProgramOp program, ProgramSymbols &symbols, bool isEvaluation) {
  FailureOr<StepEvents> events = StepEvents::build(program, symbols, isEvaluation);
  if (failed(events))
    return failure();
  FailureOr<std::vector<Event>> order = findLinearOrder(*events);
  if (failed(order) || failed(verifyIssueOrder(*events)))
    return failure();
  BufferUses uses(program, symbols);
  return ProgramTime(*events, uses).verify(*order);
}

} // namespace mlir::ppc
