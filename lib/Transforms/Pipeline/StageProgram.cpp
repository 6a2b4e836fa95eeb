// The program of one device while it is being built.
#include "StageProgram.h"

namespace mlir::ppc {

StageFunction::StageFunction(OpBuilder &module, Location loc, int64_t stage, RoutineKind kind)
    : function(func::FuncOp::create(module, loc, ("stage" + Twine(stage) + "." + stringifyRoutineKind(kind)).str(),
                                    module.getFunctionType({}, {}))),
      builder(module.getContext()) {
  function->setAttr(attr::stage, module.getI64IntegerAttr(stage));
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
    buffer.setSlots(1); // until the schedule says how many
  return buffer;
}

void StageProgram::setRole(BufferOp buffer, BufferRole role, const BufferFields &fields) {
  buffer.setRole(role);
  setFields(buffer, fields);
}

StageFunction &StageProgram::function(RoutineKind kind, OpBuilder &module, Location loc) {
  if (StageFunction *found = findFunction(kind))
    return *found;
  functions.push_back({kind, std::make_unique<StageFunction>(module, loc, device.getAt(), kind)});
  return *functions.back().second;
}

StageFunction *StageProgram::findFunction(RoutineKind kind) {
  for (auto &[key, function] : functions)
    if (key == kind)
      return function.get();
  return nullptr;
}

void StageProgram::finish() {
  auto names = [&](ArrayRef<BufferOp> list) {
    return builder.getArrayAttr(llvm::map_to_vector(
        list, [](BufferOp buffer) -> Attribute { return FlatSymbolRefAttr::get(buffer.getSymNameAttr()); }));
  };
  llvm::sort(functions, llvm::less_first());
  for (auto &[kind, function] : functions) {
    function->finish();
    ppcrt::RoutineOp::create(builder, device.getLoc(), stringifyRoutineKind(kind), kind, /*chunk=*/0,
                             function->function.getSymName(), names(function->reads), names(function->writes),
                             FlatSymbolRefAttr());
  }
}

FailureOr<BufferOp> StepSplit::argumentBuffer(int64_t stage, BlockArgument argument) {
  StageProgram &program = *stages[stage];
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
    return step.emitOpError() << "argument " << number << " is used in the step but is no input of its micro-batches, "
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
  for (auto &stage : stages)
    stage->finish();
  auto end = [&](int64_t stage, BufferOp buffer) {
    return SymbolRefAttr::get(stages[stage]->device.getSymNameAttr(),
                              {FlatSymbolRefAttr::get(buffer.getSymNameAttr())});
  };
  for (auto [number, message] : llvm::enumerate(messages))
    ppcrt::MessageOp::create(builder, program.getLoc(), "message" + std::to_string(number),
                             end(message.fromStage, message.from), stringifyRoutineKind(message.made),
                             end(message.toStage, message.to), stringifyRoutineKind(message.used));
}

} // namespace mlir::ppc
