// Conversion of ops to plain data.
#include "StepProgramReader.h"

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ppc {

namespace {

class StepReader {
public:
  explicit StepReader(ppcrt::ProgramOp program)
      : program(program), module(program->getParentOfType<ModuleOp>()), symbols(program), functions(module) {}

  FailureOr<StepProgram> read();

private:
  LogicalResult readGroups();
  LogicalResult readMessages();
  LogicalResult readDevice(ppcrt::DeviceOp device);
  LogicalResult readAction(ppcrt::DeviceOp device, Operation &op, StepDevice &to);
  LogicalResult readCollective(ppcrt::DeviceOp device, ppcrt::CollectiveOp collective, StepAction &action);
  LogicalResult readCode(FlatSymbolRefAttr name, Operation *user, StepRoutine &routine, unsigned depth = 0);
  /// The communication of the op; std::nullopt if it is not communication.
  FailureOr<std::optional<GroupCall>> callOf(Operation *op);
  FailureOr<GroupCall> groupCall(Operation *op, FlatSymbolRefAttr group, ppcrt::CollectiveKind kind, Type in, Type out);

  ppcrt::ProgramOp program;
  ModuleOp module;
  ppcrt::ProgramSymbols symbols;
  SymbolTable functions;
  DenseMap<Attribute, int32_t> groupNumbers, messageNumbers;
  DenseMap<Attribute, int32_t> routineNumbers, streamNumbers; // numbers on the device that is being read
  DenseMap<Operation *, int32_t> actionNumbers;
  DenseMap<Value, int32_t> started; // by token: index of the started segment
  StepProgram result;
};

double bytesOf(Type type) {
  auto shaped = cast<ShapedType>(type);
  return double(shaped.getNumElements()) * shaped.getElementTypeBitWidth() / 8;
}

} // namespace

LogicalResult StepReader::readGroups() {
  DenseMap<Attribute, int32_t> axes;
  GridAttr grid = program.getGrid();
  for (auto [name, size] : llvm::zip(grid.getNames(), grid.getSizes())) {
    axes[name] = int32_t(result.axes.size());
    result.axes.emplace_back(name.str(), size);
  }
  for (auto group : module.getOps<ppcrt::GroupOp>()) {
    if (!group.getAxesAttr())
      return group.emitOpError("lists ranks: groups over axes are simulated");
    groupNumbers[group.getSymNameAttr()] = int32_t(result.groups.size());
    StepGroup &read = result.groups.emplace_back();
    for (Attribute name : group.getAxesAttr()) {
      auto axis = axes.find(name);
      if (axis == axes.end())
        return group.emitOpError() << "is over " << name << ", which the program's mesh does not have";
      read.axes.push_back(axis->second);
    }
    if (DenseI64ArrayAttr stages = group.getStagesAttr())
      read.stages.assign(stages.asArrayRef().begin(), stages.asArrayRef().end());
  }
  return success();
}

LogicalResult StepReader::readMessages() {
  for (auto message : program.getBody().front().getOps<ppcrt::MessageOp>()) {
    ppcrt::DeviceOp sender = symbols.device(message.getSender()), receiver = symbols.device(message.getReceiver());
    ppcrt::BufferOp buffer = symbols.sent(message);
    if (!sender || !receiver || !buffer)
      return message.emitOpError("has ends that are not in the program");
    messageNumbers[message.getSymNameAttr()] = int32_t(result.messages.size());
    result.messages.push_back({int32_t(sender.getAt()), int32_t(receiver.getAt()), Bytes(double(buffer.getBytes()))});
  }
  return success();
}

FailureOr<GroupCall> StepReader::groupCall(Operation *op, FlatSymbolRefAttr group, ppcrt::CollectiveKind kind, Type in,
                                           Type out) {
  auto number = groupNumbers.find(group.getAttr());
  if (number == groupNumbers.end())
    return op->emitOpError() << "is of group " << group << ", which the module does not have";
  GroupCall call;
  call.group = number->second;
  switch (kind) {
  case ppcrt::CollectiveKind::AllReduce:
    call.kind = GroupCallKind::AllReduce;
    call.block = Bytes(bytesOf(out));
    return call;
  case ppcrt::CollectiveKind::AllGather:
    call.kind = GroupCallKind::AllGather;
    call.block = Bytes(bytesOf(in));
    return call;
  case ppcrt::CollectiveKind::ReduceScatter:
    call.kind = GroupCallKind::ReduceScatter;
    call.block = Bytes(bytesOf(out));
    return call;
  case ppcrt::CollectiveKind::AllToAll: {
    int64_t members = 1;
    const StepGroup &known = result.groups[call.group];
    for (int32_t axis : known.axes)
      members *= axis == 0 && !known.stages.empty() ? int64_t(known.stages.size()) : result.axes[axis].second;
    call.kind = GroupCallKind::AllToAll;
    call.block = Bytes(bytesOf(in) / double(members));
    return call;
  }
  case ppcrt::CollectiveKind::Permute:
    call.kind = GroupCallKind::Permute;
    call.block = Bytes(bytesOf(in));
    return call;
  case ppcrt::CollectiveKind::RaggedAllToAll:
    break;
  }
  return op->emitOpError("is not simulated: how much it moves is known at run time");
}

FailureOr<std::optional<GroupCall>> StepReader::callOf(Operation *op) {
  auto wrap = [&](FlatSymbolRefAttr group, ppcrt::CollectiveKind kind, Type in,
                  Type out) -> FailureOr<std::optional<GroupCall>> {
    FailureOr<GroupCall> call = groupCall(op, group, kind, in, out);
    if (failed(call))
      return failure();
    return std::optional<GroupCall>(*call);
  };
  using Result = FailureOr<std::optional<GroupCall>>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](ppcrt::AllReduceOp one) -> Result {
        return wrap(one.getGroupAttr(), ppcrt::CollectiveKind::AllReduce, {}, one.getOut().getType());
      })
      .Case([&](ppcrt::AllGatherOp one) -> Result {
        return wrap(one.getGroupAttr(), ppcrt::CollectiveKind::AllGather, one.getX().getType(), {});
      })
      .Case([&](ppcrt::ReduceScatterOp one) -> Result {
        return wrap(one.getGroupAttr(), ppcrt::CollectiveKind::ReduceScatter, {}, one.getOut().getType());
      })
      .Case([&](ppcrt::AllToAllOp one) -> Result {
        return wrap(one.getGroupAttr(), ppcrt::CollectiveKind::AllToAll, one.getX().getType(), {});
      })
      .Case([&](ppcrt::PermuteOp one) -> Result {
        return wrap(one.getGroupAttr(), ppcrt::CollectiveKind::Permute, one.getX().getType(), {});
      })
      .Case([&](ppcrt::RaggedAllToAllOp one) -> Result {
        return wrap(one.getGroupAttr(), ppcrt::CollectiveKind::RaggedAllToAll, {}, {});
      })
      .Case([&](ppcrt::StartOp one) -> Result {
        return wrap(one.getGroupAttr(), one.getKind(), one.getIns().empty() ? Type() : one.getIns()[0].getType(),
                    one.getOuts()[0].getType());
      })
      .Default(Result(std::nullopt));
}

LogicalResult StepReader::readCode(FlatSymbolRefAttr name, Operation *user, StepRoutine &routine, unsigned depth) {
  auto function = functions.lookup<func::FuncOp>(name.getAttr());
  if (!function || depth > 64)
    return user->emitOpError() << "runs " << name << ", which is not a function of the module or calls itself";
  WalkResult walked = function.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    if (auto call = dyn_cast<ppcrt::CallOp>(op))
      return readCode(call.getCalleeAttr(), op, routine, depth + 1);
    if (auto call = dyn_cast<func::CallOp>(op))
      return functions.lookup<func::FuncOp>(call.getCalleeAttr().getAttr()).isDeclaration()
                 ? success()
                 : readCode(call.getCalleeAttr(), op, routine, depth + 1);
    PieceEnd end;
    FailureOr<std::optional<GroupCall>> communicates = callOf(op);
    if (failed(communicates))
      return WalkResult::interrupt();
    if (*communicates) {
      end.kind = isa<ppcrt::StartOp>(op) ? PieceEnd::Kind::Start : PieceEnd::Kind::Call;
      end.call = **communicates;
      if (auto start = dyn_cast<ppcrt::StartOp>(op))
        started[start.getToken()] = int32_t(routine.ends.size());
    } else if (auto wait = dyn_cast<ppcrt::WaitOp>(op)) {
      end.kind = PieceEnd::Kind::Wait;
      end.number = started.lookup(wait.getToken());
    } else if (auto reach = dyn_cast<ppcrt::ReachOp>(op)) {
      end.kind = PieceEnd::Kind::Reach;
      end.number = int32_t(reach.getEntry());
    } else {
      return WalkResult::advance();
    }
    if (op->getParentOp() != function)
      return op->emitOpError("is in a loop or a branch: how often it happens is not simulated");
    routine.ends.push_back(end);
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult StepReader::readCollective(ppcrt::DeviceOp device, ppcrt::CollectiveOp collective, StepAction &action) {
  action.kind = StepAction::Kind::Collective;
  for (auto [read, written] : llvm::zip_equal(collective.getReads().getAsRange<FlatSymbolRefAttr>(),
                                              collective.getWrites().getAsRange<FlatSymbolRefAttr>())) {
    ppcrt::BufferOp in = symbols.buffer(device, read.getAttr()), out = symbols.buffer(device, written.getAttr());
    if (!in || !out)
      return collective.emitOpError("is of buffers that the device does not have");
    FailureOr<GroupCall> call =
        groupCall(collective, collective.getGroupAttr(), collective.getKind(), in.getBufferType(), out.getBufferType());
    if (failed(call))
      return failure();
    action.calls.push_back(*call);
  }
  return success();
}

LogicalResult StepReader::readAction(ppcrt::DeviceOp device, Operation &op, StepDevice &to) {
  auto issued = cast<ppcrt::ActionOpInterface>(op);
  StepAction action;
  action.stream = streamNumbers.try_emplace(issued.getStreamAttr(), int32_t(streamNumbers.size())).first->second;
  for (Value token : issued.getAfter()) {
    Operation *giver = token.getDefiningOp();
    auto number = actionNumbers.find(giver);
    if (number == actionNumbers.end())
      return op.emitOpError("waits for a token that is completed later, or never");
    unsigned place = cast<OpResult>(token).getResultNumber();
    bool isEarly = place + 1 < giver->getNumResults();
    const StepAction &before = to.actions[number->second];
    if (isEarly && llvm::none_of(to.routines[before.number].ends, [&](const PieceEnd &end) {
          return end.kind == PieceEnd::Kind::Reach && end.number == int32_t(place);
        }))
      return op.emitOpError("waits for a token that the code does not give");
    action.after.push_back({number->second, isEarly ? int32_t(place) : -1});
  }
  LogicalResult known =
      llvm::TypeSwitch<Operation *, LogicalResult>(&op)
          .Case([&](ppcrt::LoadOp) { return success(); })
          .Case([&](ppcrt::RunOp run) {
            action.kind = StepAction::Kind::Run;
            auto routine = routineNumbers.find(run.getRoutineAttr().getAttr());
            action.number = routine == routineNumbers.end() ? 0 : routine->second;
            return routine == routineNumbers.end() ? run.emitOpError("runs no routine of its device") : success();
          })
          .Case([&](ppcrt::SendOp send) {
            action.kind = StepAction::Kind::Send;
            action.number = messageNumbers.lookup(send.getMessageAttr().getAttr());
            action.microBatch = send.getMicroBatch();
            return success();
          })
          .Case([&](ppcrt::ReceiveOp receive) {
            action.kind = StepAction::Kind::Receive;
            action.number = messageNumbers.lookup(receive.getMessageAttr().getAttr());
            action.microBatch = receive.getMicroBatch();
            return success();
          })
          .Case([&](ppcrt::CollectiveOp collective) { return readCollective(device, collective, action); })
          .Case([&](ppcrt::CopyOp) { // between memories that are not emulated
            action.kind = StepAction::Kind::Collective;
            return success();
          })
          .Default([](Operation *other) {
            return other->emitOpError("is not simulated: programs load, run, send, receive and reduce");
          });
  actionNumbers[&op] = int32_t(to.actions.size());
  to.actions.push_back(std::move(action));
  return known;
}

LogicalResult StepReader::readDevice(ppcrt::DeviceOp device) {
  StepDevice &read = result.devices.emplace_back();
  routineNumbers.clear();
  streamNumbers.clear();
  for (auto routine : device.getBody().front().getOps<ppcrt::RoutineOp>()) {
    routineNumbers[routine.getSymNameAttr()] = int32_t(read.routines.size());
    read.routines.push_back({routine.getCode().str(), {}});
    if (failed(readCode(routine.getCodeAttr(), routine, read.routines.back())))
      return failure();
  }
  if (!device.getStep())
    return device.emitOpError("has no step");
  for (Operation &action : device.getStep().getBody().front())
    if (failed(readAction(device, action, read)))
      return failure();
  read.streams = int32_t(streamNumbers.size());
  return success();
}

FailureOr<StepProgram> StepReader::read() {
  if (failed(readGroups()) || failed(readMessages()))
    return failure();
  for (ppcrt::DeviceOp device : program.getDevices())
    if (failed(readDevice(device)))
      return failure();
  return std::move(result);
}

FailureOr<StepProgram> readStepProgram(ppcrt::ProgramOp program) { return StepReader(program).read(); }

} // namespace mlir::ppc
