// Writes the actions of one device, each with tokens of its dependences.
#include "StepWriter.h"

namespace mlir::ppc {

using namespace ppcrt;

StepWriter::StepWriter(DeviceOp device, ProgramSymbols &symbols, Block &actions)
    : device(device), symbols(symbols), builder(OpBuilder::atBlockEnd(&actions)),
      hasInputs(llvm::any_of(device.getBody().front().getOps<BufferOp>(),
                             [](BufferOp buffer) { return buffer.getRole() == BufferRole::Input; })) {}

std::pair<unsigned, FlatSymbolRefAttr> StepWriter::stream(const Twine &name) {
  auto symbol = FlatSymbolRefAttr::get(builder.getStringAttr(name));
  unsigned number = llvm::find(streams, symbol) - streams.begin();
  if (number == streams.size()) {
    Block &parts = device.getBody().front();
    if (llvm::none_of(parts.getOps<StreamOp>(), [&](StreamOp op) { return op.getSymName() == symbol.getValue(); })) {
      auto at = llvm::find_if(parts, [](Operation &op) { return !isa<StreamOp>(op); }); // streams come first
      OpBuilder(&parts, at).create<StreamOp>(device.getLoc(), symbol.getValue());
    }
    streams.push_back(symbol);
    ended.emplace_back();
    past.emplace_back();
  }
  return {number, symbol};
}

ArrayRef<Access> StepWriter::accessesOf(ActionOpInterface action) {
  auto run = dyn_cast<RunOp>(*action);
  if (!run) {
    ofAction.clear();
    action.getAccesses(symbols, ofAction);
    return ofAction;
  }
  auto [entry, isNew] = ofRoutines.try_emplace(run.getRoutineAttr());
  RoutineAccesses &routine = entry->second;
  if (isNew) {
    SmallVector<Access> first;
    action.getAccesses(symbols, first);
    routine.accesses.assign(first.begin(), first.end());
    for (Access &access : routine.accesses)
      routine.slotCounts.push_back(access.slot ? access.buffer.getSlotCount() : 0);
  }
  int64_t microBatch = run.getMicroBatch().value_or(0);
  for (auto [access, slots] : llvm::zip_equal(routine.accesses, routine.slotCounts))
    if (slots)
      access.slot = microBatch % slots;
  return routine.accesses;
}

void StepWriter::finish(ActionOpInterface action, unsigned stream) {
  ArrayRef<Access> accesses = accessesOf(action);
  SmallVector<End> needed;
  for (const Access &access : accesses) {
    auto found = uses.find({access.buffer, access.slot.value_or(0)});
    if (found == uses.end())
      continue;
    if (found->second.written)
      needed.push_back(*found->second.written);
    if (access.isWrite)
      llvm::append_range(needed, found->second.read);
  }
  // The latest first: actions that it waits for have completed with it.
  llvm::stable_sort(needed, [](const End &a, const End &b) { return a.place > b.place; });
  Clock &clock = ended[stream];
  clock.resize(streams.size(), -1);
  clock[stream] = int64_t(past[stream].size()) - 1;
  SmallVector<Value> tokens;
  for (const End &end : needed) {
    if (clock[end.stream] >= end.place)
      continue;
    tokens.push_back(end.token);
    const Clock &before = past[end.stream][end.place];
    for (auto [mine, other] : llvm::zip(clock, before))
      mine = std::max(mine, other);
    clock[end.stream] = std::max(clock[end.stream], end.place);
  }
  action->setOperands(tokens);
  End own{stream, int64_t(past[stream].size()), action->getResult(0)};
  past[stream].push_back(clock);
  past[stream].back()[stream] = own.place;
  for (const Access &access : accesses) {
    Uses &known = uses[{access.buffer, access.slot.value_or(0)}];
    if (access.isWrite) {
      known.written = own;
      known.read.clear();
      continue;
    }
    auto sameStream = llvm::find_if(known.read, [&](const End &end) { return end.stream == stream; });
    if (sameStream != known.read.end())
      *sameStream = own;
    else
      known.read.push_back(own);
  }
}

void StepWriter::load(int64_t microBatch) {
  if (!hasInputs)
    return;
  auto [number, name] = stream("compute");
  finish(LoadOp::create(builder, device.getLoc(), token(), microBatch, ValueRange(), name.getValue()), number);
}

void StepWriter::run(RoutineOp routine, std::optional<int64_t> microBatch) {
  auto [number, name] = stream("compute");
  IntegerAttr which = microBatch ? builder.getI64IntegerAttr(*microBatch) : IntegerAttr();
  finish(RunOp::create(builder, device.getLoc(), token(), FlatSymbolRefAttr::get(routine.getSymNameAttr()), which,
                       ValueRange(), name),
         number);
}

void StepWriter::send(MessageOp message, int64_t microBatch, const Twine &line) {
  auto [number, name] = stream("to" + line);
  finish(SendOp::create(builder, device.getLoc(), token(), message.getSymName(), microBatch, ValueRange(),
                        name.getValue()),
         number);
}

void StepWriter::receive(MessageOp message, int64_t microBatch, const Twine &line) {
  auto [number, name] = stream("from" + line);
  finish(ReceiveOp::create(builder, device.getLoc(), token(), message.getSymName(), microBatch, ValueRange(),
                           name.getValue()),
         number);
}

} // namespace mlir::ppc
