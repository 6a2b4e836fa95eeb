// The program of one device while it is being built.
#include "StageProgram.h"
#include "ppc/Analysis/ModuleTarget.h"
#include "ppc/Scheduling/PipelineSchedule.h"

namespace mlir::ppc {

StageFunction::StageFunction(OpBuilder &module, Location loc, int64_t device, RoutineKind kind, int64_t stage)
    : function(func::FuncOp::create(module, loc,
                                    ((ppcrt::isOfStep(kind) ? "device" + Twine(device) : "stage" + Twine(stage)) + "." +
                                     stringifyRoutineKind(kind))
                                        .str(),
                                    module.getFunctionType({}, {}))),
      builder(module.getContext()) {
  function->setAttr(attr::stage, module.getI64IntegerAttr(device));
  function->setAttr(ppcrt::kRoutineAttr, module.getStringAttr(stringifyRoutineKind(kind)));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Value StageFunction::argument(BufferOp buffer, Type type) {
  Value &value = arguments[buffer];
  if (!value) {
    value = function.front().addArgument(type, function.getLoc()); // the type of the function follows at the end
    reads.push_back(buffer);
  }
  return value;
}

void StageFunction::addResult(BufferOp buffer, Value value) {
  writes.push_back(buffer);
  results.push_back(value);
}

void StageFunction::finish() {
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(
      builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [index, buffer] : llvm::enumerate(writes))
    if (auto updated = llvm::find(reads, buffer); updated != reads.end())
      function.setResultAttr(index, attr::destination, builder.getI64IntegerAttr(updated - reads.begin()));
}

StageProgram::StageProgram(ppcrt::DeviceOp device)
    : device(device), builder(OpBuilder::atBlockEnd(&device.getBody().front())) {}

static void setFields(BufferOp buffer, const BufferFields &fields) {
  if (fields.name)
    buffer.setNameAttr(fields.name);
  if (fields.state)
    buffer.setStateAttr(fields.state);
  if (fields.logical)
    buffer.setLogicalAttr(TypeAttr::get(fields.logical));
  if (fields.sharding)
    buffer.setShardingAttr(fields.sharding);
  if (fields.init)
    buffer.setInitAttr(fields.init);
  if (fields.order)
    buffer.setOrder(*fields.order);
}

BufferOp StageProgram::addBuffer(BufferRole role, Type type, const BufferFields &fields) {
  auto tensor = cast<RankedTensorType>(type);
  std::string name = (stringifyBufferRole(role) + Twine(buffers++)).str();
  auto buffer = BufferOp::create(builder, device.getLoc(), name, role,
                                 MemRefType::get(tensor.getShape(), tensor.getElementType()));
  setFields(buffer, fields);
  if (llvm::is_contained({BufferRole::Input, BufferRole::Saved, BufferRole::Message}, role))
    buffer.setSlots(1); // until the schedule sets their number
  return buffer;
}

void StageProgram::setRole(BufferOp buffer, BufferRole role, const BufferFields &fields) {
  buffer.setRole(role);
  setFields(buffer, fields);
}

StageFunction &StageProgram::function(RoutineKind kind, OpBuilder &module, Location loc, int64_t chunk, int64_t stage) {
  if (StageFunction *found = findFunction(kind, chunk))
    return *found;
  functions.push_back({kind, chunk, std::make_unique<StageFunction>(module, loc, device.getAt(), kind, stage)});
  return *functions.back().function;
}

StageFunction *StageProgram::findFunction(RoutineKind kind, int64_t chunk) {
  for (Entry &entry : functions)
    if (entry.kind == kind && entry.chunk == chunk)
      return entry.function.get();
  return nullptr;
}

llvm::Expected<PipelinePlacement> PipelinePlacement::of(ModuleOp module, PlanAttr plan) {
  PipelineShape shape{plan.getPipelineDevices(), int64_t(plan.getMicroBatches()), plan.getVp()};
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(plan.getSchedule().getValue());
  if (!kind)
    return kind.takeError();
  if (llvm::Error error = checkPipelineShape(**kind, shape))
    return std::move(error);
  llvm::Expected<ArrayRef<const TargetCapabilities *>> targets = possibleTargets(module);
  if (!targets)
    return targets.takeError();
  if (llvm::none_of(*targets, [&](const TargetCapabilities *target) { return lackedBy(*target, **kind).empty(); }))
    return llvm::createStringError("compiled programs cannot run schedule " + plan.getSchedule().getValue() +
                                   ", which needs " + lackedBy(*targets->front(), **kind));
  PipelinePlacement placement;
  placement.splits = (*kind)->splitsBackward && shape.devices > 1;
  if ((*kind)->place)
    for (const std::vector<int64_t> &copy : (*kind)->place(shape))
      llvm::append_range(placement.devices, copy);
  else
    llvm::append_range(placement.devices, llvm::seq<int64_t>(shape.devices));
  placement.copies = (*kind)->replicas;
  placement.slices = defaultSlices(**kind, shape.devices);
  SmallVector<int64_t> once(placement.devices.begin(), placement.devices.end());
  for (int64_t slice = 1; slice < placement.slices; ++slice)
    llvm::append_range(placement.devices, once);
  std::vector<int64_t> held(shape.devices, 0);
  for (int64_t device : placement.devices)
    placement.chunks.push_back(held[device]++);
  return placement;
}

std::string PipelinePlacement::routineName(RoutineKind kind, int64_t chunk) {
  return (stringifyRoutineKind(kind) + (chunk ? "." + Twine(chunk) : Twine())).str();
}

void StageProgram::finish() {
  auto names = [&](ArrayRef<BufferOp> list) {
    return builder.getArrayAttr(llvm::map_to_vector(
        list, [](BufferOp buffer) -> Attribute { return FlatSymbolRefAttr::get(buffer.getSymNameAttr()); }));
  };
  llvm::sort(functions,
             [](const Entry &a, const Entry &b) { return std::pair(a.kind, a.chunk) < std::pair(b.kind, b.chunk); });
  for (auto &[kind, chunk, function] : functions) {
    function->finish();
    ppcrt::RoutineOp::create(builder, device.getLoc(), PipelinePlacement::routineName(kind, chunk), kind, chunk,
                             function->function.getSymName(), names(function->reads), names(function->writes),
                             FlatSymbolRefAttr(), ArrayAttr());
  }
}

FailureOr<BufferOp> StepSplit::argumentBuffer(int64_t device, BlockArgument argument) {
  StageProgram &program = *devices[device];
  if (auto it = program.bufferOf.find(argument); it != program.bufferOf.end())
    return it->second;
  unsigned number = argument.getArgNumber();
  auto text = [&](StringRef name) { return step.getArgAttrOfType<StringAttr>(number, name); };
  BufferFields fields;
  BufferRole role;
  if (step.getArgAttr(number, attr::parameter)) {
    role = BufferRole::Parameter;
    fields.name = text(attr::parameter);
    fields.init = step.getArgAttrOfType<InitAttr>(number, attr::init);
  } else if (step.getArgAttr(number, attr::state)) {
    role = BufferRole::State;
    fields.state = text(attr::state);
    fields.name = text(attr::of);
  } else if (step.getArgAttr(number, attr::scalar)) {
    role = BufferRole::Scalar;
    fields.name = text(attr::scalar);
  } else {
    return step.emitOpError() << "argument " << number
                              << " is used in the step but is not an input of its micro-batches, "
                              << "parameter, state or scalar";
  }
  fields.sharding = step.getArgAttrOfType<ShardingAttr>(number, attr::sharding);
  if (auto logical = step.getArgAttrOfType<TypeAttr>(number, attr::logicalType))
    fields.logical = cast<RankedTensorType>(logical.getValue());
  BufferOp buffer = program.addBuffer(role, argument.getType(), fields);
  program.bufferOf[argument] = buffer;
  return buffer;
}

void StepSplit::finish() {
  auto builder = OpBuilder::atBlockEnd(&program.getBody().front());
  for (auto &device : devices)
    device->finish();
  auto end = [&](Site site, BufferOp buffer) {
    return SymbolRefAttr::get(holderOf(site.stage).device.getSymNameAttr(),
                              {FlatSymbolRefAttr::get(buffer.getSymNameAttr())});
  };
  auto routine = [&](Site site) { return PipelinePlacement::routineName(site.action, placement.chunkOf(site.stage)); };
  for (auto [number, message] : llvm::enumerate(messages))
    ppcrt::MessageOp::create(builder, program.getLoc(), "message" + std::to_string(number),
                             end(message.made, message.from), routine(message.made), end(message.used, message.to),
                             routine(message.used));
}

} // namespace mlir::ppc
