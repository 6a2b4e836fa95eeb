// Lookup of the names of a program.
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::ppcrt;

ProgramSymbols::ProgramSymbols(ProgramOp program) {
  for (Operation &op : program.getBody().front()) {
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      outer[symbol.getNameAttr()] = &op;
    if (auto device = dyn_cast<DeviceOp>(op))
      for (Operation &part : device.getBody().front())
        if (auto symbol = dyn_cast<SymbolOpInterface>(part))
          inner[{&op, symbol.getNameAttr()}] = &part;
  }
}

DeviceOp ProgramSymbols::device(StringAttr name) const { return dyn_cast_or_null<DeviceOp>(outer.lookup(name)); }
MessageOp ProgramSymbols::message(StringAttr name) const { return dyn_cast_or_null<MessageOp>(outer.lookup(name)); }

BufferOp ProgramSymbols::buffer(DeviceOp device, StringAttr name) const {
  return dyn_cast_or_null<BufferOp>(inner.lookup({device, name}));
}
BufferOp ProgramSymbols::ownerOf(BufferOp buffer) const {
  FlatSymbolRefAttr shared = buffer.getSharesAttr();
  BufferOp owner = shared ? this->buffer(cast<DeviceOp>(buffer->getParentOp()), shared.getAttr()) : BufferOp();
  return owner ? owner : buffer;
}
RoutineOp ProgramSymbols::routine(DeviceOp device, StringAttr name) const {
  return dyn_cast_or_null<RoutineOp>(inner.lookup({device, name}));
}
bool ProgramSymbols::hasStream(DeviceOp device, StringAttr name) const {
  return isa_and_nonnull<StreamOp>(inner.lookup({device, name}));
}

static BufferOp endOf(const ProgramSymbols &symbols, SymbolRefAttr end) {
  DeviceOp device = symbols.device(end.getRootReference());
  return device && end.getNestedReferences().size() == 1 ? symbols.buffer(device, end.getLeafReference()) : BufferOp();
}
BufferOp ProgramSymbols::sent(MessageOp message) const { return endOf(*this, message.getFrom()); }
BufferOp ProgramSymbols::received(MessageOp message) const { return endOf(*this, message.getTo()); }

ProgramOp ppcrt::findProgram(ModuleOp module) {
  auto programs = module.getOps<ProgramOp>();
  return programs.empty() ? ProgramOp() : *programs.begin();
}

ProgramOp ppcrt::requireProgram(ModuleOp module) {
  ProgramOp program = findProgram(module);
  if (!program)
    module.emitError("has no ppcrt.program: run ppc-split-stages first");
  return program;
}

FlatSymbolRefAttr ppcrt::findOrAddGroup(ModuleOp module, ArrayAttr axes, DenseI64ArrayAttr stages) {
  std::string name = "over";
  for (Attribute axis : axes)
    name += "." + cast<StringAttr>(axis).str();
  for (int64_t stage : stages ? stages.asArrayRef() : ArrayRef<int64_t>())
    name += "." + std::to_string(stage);
  for (auto group : module.getOps<GroupOp>())
    if (group.getAxesAttr() == axes && group.getStagesAttr() == stages)
      return FlatSymbolRefAttr::get(group.getSymNameAttr());
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto groups = module.getOps<GroupOp>(); // in the order in which they are found
  for (auto last : groups)
    builder.setInsertionPointAfter(last);
  while (module.lookupSymbol(name))
    name += "_";
  auto group = GroupOp::create(builder, module.getLoc(), name, axes, stages, ArrayAttr());
  return FlatSymbolRefAttr::get(group.getSymNameAttr());
}

int32_t ppcrt::groupNumber(Operation *op, FlatSymbolRefAttr group) {
  int32_t number = 0;
  for (auto other : op->getParentOfType<ModuleOp>().getOps<GroupOp>()) {
    if (other.getSymNameAttr() == group.getAttr())
      break;
    ++number;
  }
  return number;
}
