// Saved values on the host.
#include "OffloadSaved.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/Builders.h"

namespace mlir::ppc::test {

using namespace ppcrt;

namespace {

/// One saved value: who leaves it and who uses it.
struct Saved {
  BufferOp buffer;
  RoutineOp made, used;
};

class Offload {
public:
  explicit Offload(DeviceOp device) : device(device), stream(FlatSymbolRefAttr::get(device.getContext(), "offload")) {}

  LogicalResult run(int64_t count);

private:
  SmallVector<Saved> find(int64_t count);
  BufferOp clone(BufferOp buffer, StringRef suffix);
  void move(Saved saved);
  void copyIn(Block &actions, const Saved &saved, FlatSymbolRefAttr host, FlatSymbolRefAttr back);
  /// Waits for one more token, unless it does already.
  static void wait(Operation *action, Operation *before) {
    if (before && !llvm::is_contained(action->getOperands(), before->getResult(0)))
      action->insertOperands(action->getNumOperands(), before->getResult(0));
  }

  DeviceOp device;
  FlatSymbolRefAttr stream;
};

} // namespace

SmallVector<Saved> Offload::find(int64_t count) {
  SmallVector<Saved> found;
  llvm::SmallDenseSet<Attribute> sent;
  for (auto message : device.getProgram().getBody().front().getOps<MessageOp>())
    if (message.getSender() == device.getSymNameAttr())
      sent.insert(message.getFrom().getLeafReference());
  for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
    if (buffer.getRole() != BufferRole::Saved || sent.contains(buffer.getSymNameAttr()) ||
        int64_t(found.size()) == count)
      continue;
    auto name = FlatSymbolRefAttr::get(buffer.getSymNameAttr());
    SmallVector<RoutineOp> makers, users;
    for (auto routine : device.getBody().front().getOps<RoutineOp>()) {
      if (llvm::is_contained(routine.getWrites(), name))
        makers.push_back(routine);
      if (llvm::is_contained(routine.getReads(), name))
        users.push_back(routine);
    }
    if (makers.size() == 1 && users.size() == 1 && makers.front() != users.front())
      found.push_back({buffer, makers.front(), users.front()});
  }
  return found;
}

BufferOp Offload::clone(BufferOp buffer, StringRef suffix) {
  OpBuilder after(buffer->getContext());
  after.setInsertionPointAfter(buffer);
  auto copy = cast<BufferOp>(after.clone(*buffer));
  copy.setSymName((buffer.getSymName() + suffix).str());
  return copy;
}

void Offload::copyIn(Block &actions, const Saved &saved, FlatSymbolRefAttr host, FlatSymbolRefAttr back) {
  Operation *lastOut = nullptr, *lastUse = nullptr;
  auto name = FlatSymbolRefAttr::get(BufferOp(saved.buffer).getSymNameAttr());
  for (auto run : llvm::to_vector(actions.getOps<RunOp>())) {
    StringAttr routine = run.getRoutineAttr().getAttr();
    OpBuilder at(run);
    auto copy = [&](FlatSymbolRefAttr from, FlatSymbolRefAttr to) {
      return CopyOp::create(at, run.getLoc(), TypeRange{TokenType::get(run.getContext())}, from, to,
                            run.getMicroBatchAttr(), ValueRange(), stream);
    };
    if (routine == RoutineOp(saved.made).getSymNameAttr()) {
      wait(run, lastOut); // which reads what it overwrites
      at.setInsertionPointAfter(run);
      lastOut = copy(name, host);
      wait(lastOut, run);
    } else if (routine == RoutineOp(saved.used).getSymNameAttr()) {
      Operation *in = copy(host, back);
      wait(in, lastUse);
      wait(run, in);
      lastUse = run;
    }
  }
}

void Offload::move(Saved saved) {
  BufferOp host = clone(saved.buffer, ".host"), back = clone(saved.buffer, ".back");
  host.setMemory(Memory::Host);
  back.setSlots(1);
  saved.buffer.setSlots(1);
  auto hostName = FlatSymbolRefAttr::get(host.getSymNameAttr());
  auto backName = FlatSymbolRefAttr::get(back.getSymNameAttr());
  auto name = FlatSymbolRefAttr::get(saved.buffer.getSymNameAttr());
  SmallVector<Attribute> reads(saved.used.getReads().getValue());
  llvm::replace(reads, Attribute(name), Attribute(backName));
  saved.used.setReadsAttr(ArrayAttr::get(device.getContext(), reads));
  copyIn(device.getStep().getBody().front(), saved, hostName, backName);
}

LogicalResult Offload::run(int64_t count) {
  SmallVector<Saved> all = find(count);
  if (all.empty())
    return device.emitOpError("keeps no value that one routine uses");
  OpBuilder streams = OpBuilder::atBlockBegin(&device.getBody().front());
  StreamOp::create(streams, device.getLoc(), stream.getValue());
  for (const Saved &saved : all)
    move(saved);
  return success();
}

LogicalResult offloadSaved(ModuleOp module, int64_t count) {
  for (DeviceOp device : findProgram(module).getDevices())
    if (failed(Offload(device).run(count)))
      return failure();
  return success();
}

} // namespace mlir::ppc::test
