// The program of one pipeline stage while it is being built.
#include "StageProgram.h"

namespace mlir::ppc {

StringRef toString(Action action) {
  switch (action) {
  case Action::Prepare:
    return "prepare";
  case Action::Forward:
    return "forward";
  case Action::Backward:
    return "backward";
  case Action::WeightGradient:
    return "weight_gradient";
  case Action::Update:
    return "update";
  case Action::Evaluate:
    return "evaluate";
  }
  llvm_unreachable("every action has a name");
}

static constexpr StringLiteral kBuffer = "ppc.buffer";

StageFunction::StageFunction(OpBuilder &module, Location loc, int64_t stage, Action action)
    : function(func::FuncOp::create(module, loc, ("stage" + Twine(stage) + "." + toString(action)).str(),
                                    module.getFunctionType({}, {}))),
      builder(module.getContext()) {
  function->setAttr(attr::stage, module.getI64IntegerAttr(stage));
  function->setAttr("ppc.action", module.getStringAttr(toString(action)));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Value StageFunction::argument(int64_t buffer, Type type) {
  Value &value = arguments[buffer];
  if (!value) {
    value = function.front().addArgument(type, function.getLoc()); // the type of the function follows at the end
    argumentBuffers.push_back(buffer);
  }
  return value;
}

SmallVector<int64_t> StageFunction::bufferOrder() {
  SmallVector<int64_t> order(argumentBuffers);
  for (auto [buffer, value] : results)
    if (!arguments.contains(buffer))
      order.push_back(buffer);
  return order;
}

void StageFunction::addResult(int64_t buffer, Value value) { results.push_back({buffer, value}); }

void StageFunction::finish() {
  SmallVector<Value> values;
  auto boundTo = [&](int64_t buffer) {
    return builder.getDictionaryAttr(builder.getNamedAttr(kBuffer, builder.getI64IntegerAttr(buffer)));
  };
  SmallVector<DictionaryAttr> argumentAttrs = llvm::map_to_vector(argumentBuffers, boundTo), resultAttrs;
  for (auto [buffer, value] : results) {
    values.push_back(value);
    resultAttrs.push_back(boundTo(buffer));
  }
  func::ReturnOp::create(builder, function.getLoc(), values);
  function.setFunctionType(builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
}

int64_t StageProgram::addBuffer(StringRef role, Type type, StringRef space, ArrayRef<NamedAttribute> fields) {
  Builder builder(context);
  SmallVector<NamedAttribute> all(fields);
  all.push_back(builder.getNamedAttr("role", builder.getStringAttr(role)));
  all.push_back(builder.getNamedAttr("type", TypeAttr::get(type)));
  all.push_back(builder.getNamedAttr("space", builder.getStringAttr(space)));
  buffers.push_back(builder.getDictionaryAttr(all));
  return buffers.size() - 1;
}

void StageProgram::setRole(int64_t buffer, StringRef role, ArrayRef<NamedAttribute> fields) {
  NamedAttrList all(cast<DictionaryAttr>(buffers[buffer]));
  all.set("role", StringAttr::get(context, role));
  for (NamedAttribute field : fields)
    all.set(field.getName(), field.getValue());
  buffers[buffer] = all.getDictionary(context);
}

StageFunction &StageProgram::function(Action action, OpBuilder &module, Location loc) {
  if (StageFunction *found = findFunction(action))
    return *found;
  functions.push_back({action, std::make_unique<StageFunction>(module, loc, stage, action)});
  return *functions.back().second;
}

StageFunction *StageProgram::findFunction(Action action) {
  for (auto &[key, function] : functions)
    if (key == action)
      return function.get();
  return nullptr;
}

ArrayAttr StageProgram::messages(StringRef when, ArrayRef<Message> list) {
  Builder builder(context);
  return builder.getArrayAttr(llvm::map_to_vector(list, [&](const Message &message) -> Attribute {
    return builder.getDictionaryAttr({builder.getNamedAttr(when, builder.getStringAttr(toString(message.action))),
                                      builder.getNamedAttr("buffer", builder.getI64IntegerAttr(message.buffer)),
                                      builder.getNamedAttr("stage", builder.getI64IntegerAttr(message.peer)),
                                      builder.getNamedAttr("tag", builder.getI64IntegerAttr(message.tag))});
  }));
}

void StageProgram::addSend(Action after, int64_t buffer, int64_t toStage, int64_t tag) {
  sends.push_back({after, buffer, toStage, tag});
}

void StageProgram::addReceive(Action before, int64_t buffer, int64_t fromStage, int64_t tag) {
  receives.push_back({before, buffer, fromStage, tag});
}

void StageProgram::useReceived(Action before, int64_t buffer) {
  for (Message &message : receives)
    if (message.buffer == buffer)
      message.action = std::min(message.action, before);
}

DictionaryAttr StageProgram::finish() {
  Builder builder(context);
  SmallVector<NamedAttribute> symbols;
  for (auto &[action, function] : functions) {
    function->finish();
    auto entry = builder.getDictionaryAttr(
        {builder.getNamedAttr("entry", function->function.getSymNameAttr()),
         builder.getNamedAttr("buffers", builder.getDenseI64ArrayAttr(function->bufferOrder()))});
    symbols.push_back(builder.getNamedAttr(toString(action), entry));
  }
  return builder.getDictionaryAttr({builder.getNamedAttr("buffers", builder.getArrayAttr(buffers)),
                                    builder.getNamedAttr("functions", builder.getDictionaryAttr(symbols)),
                                    builder.getNamedAttr("sends", messages("after", sends)),
                                    builder.getNamedAttr("receives", messages("before", receives))});
}

FailureOr<int64_t> StepSplit::argumentBuffer(int64_t stage, BlockArgument argument) {
  StageProgram &program = *stages[stage];
  if (auto it = program.bufferOf.find(argument); it != program.bufferOf.end())
    return it->second;
  unsigned number = argument.getArgNumber();
  Builder builder(step.getContext());
  SmallVector<NamedAttribute> fields;
  auto copy = [&](StringRef from, StringRef to) {
    if (Attribute value = step.getArgAttr(number, from))
      fields.push_back(builder.getNamedAttr(to, value));
  };
  StringRef role;
  if (step.getArgAttr(number, attr::parameter)) {
    role = "parameter";
    copy(attr::parameter, "name");
    copy(attr::init, "init");
  } else if (step.getArgAttr(number, attr::state)) {
    role = "state";
    copy(attr::state, "state");
    copy(attr::of, "name");
  } else if (step.getArgAttr(number, attr::scalar)) {
    role = "scalar";
    copy(attr::scalar, "name");
  } else {
    return step.emitOpError() << "argument " << number << " is used in the step but is no input of its micro-batches, "
                              << "parameter, state or scalar";
  }
  copy(attr::sharding, "sharding");
  copy(attr::logicalType, "logical");
  int64_t buffer = program.addBuffer(role, argument.getType(), "arena", fields);
  program.bufferOf[argument] = buffer;
  return buffer;
}

} // namespace mlir::ppc
