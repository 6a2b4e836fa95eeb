// Builds the events of a step from its actions, and the edges that order them.
#include "ppc/Timing/StepEvents.h"
#include "CodeCommunication.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ppc {

using namespace ppcrt;

ArrayRef<uint32_t> StepEvents::getGroups(uint32_t activity) const { return groupSets[groupSetOf[activity]]; }

std::string StepEvents::describe(uint32_t activity) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  Operation *action = activities[activities[activity].action].op;
  auto microBatch = [&](std::optional<int64_t> number) {
    if (number)
      os << ", micro-batch " << *number;
  };
  if (activities[activity].op != action)
    os << activities[activity].op->getName() << " in the ";
  llvm::TypeSwitch<Operation *>(action)
      .Case([&](LoadOp load) { (os << "load", microBatch(load.getMicroBatch())); })
      .Case([&](RunOp run) { (os << "run of @" << run.getRoutine(), microBatch(run.getMicroBatch())); })
      .Case([&](SendOp send) { (os << "send of @" << send.getMessage(), microBatch(send.getMicroBatch())); })
      .Case([&](ReceiveOp receive) {
        (os << "receive of @" << receive.getMessage(), microBatch(receive.getMicroBatch()));
      })
      .Case([&](ExchangeOp exchange) {
        os << "exchange of @" << exchange.getSent() << ", micro-batch " << exchange.getSentMicroBatch() << ", and @"
           << exchange.getReceived() << ", micro-batch " << exchange.getReceivedMicroBatch();
      })
      .Case([&](CollectiveOp collective) {
        os << stringifyCollectiveKind(collective.getKind()) << " over @" << collective.getGroup();
        microBatch(collective.getMicroBatch());
      })
      .Case([&](CopyOp copy) {
        (os << "copy of @" << copy.getFrom() << " to @" << copy.getTo(), microBatch(copy.getMicroBatch()));
      })
      .Default([&](Operation *other) { os << other->getName(); });
  os << ", on device " << activities[activity].device;
  return text;
}

/// Fills a StepEvents.
class EventBuilder {
public:
  EventBuilder(ProgramOp program, const ProgramSymbols &symbols, bool isEvaluation)
      : program(program), symbols(symbols), isEvaluation(isEvaluation), groups(program),
        code(cast<ModuleOp>(program->getParentOp()), groups) {}

  FailureOr<StepEvents> run();

private:
  /// One side of a message.
  struct MessageEnd {
    FlatSymbolRefAttr message;
    int64_t microBatch;
    bool isSent;
    uint32_t activity;
  };

  LogicalResult addActions(DeviceOp device, Block &actions);
  LogicalResult addTokens(ActionOpInterface action, uint32_t self);
  LogicalResult addCommunication(DeviceOp device, Operation *action, uint32_t self);
  void addInside(const CodeCommunication &inside, uint32_t self, bool reaches);
  LogicalResult useGroup(uint32_t group, Operation *op, Operation *action, uint32_t device);
  void addMessageEnds(Operation *action, uint32_t self);
  LogicalResult joinMessages();
  LogicalResult joinCollectives();
  LogicalResult join(uint32_t group, int64_t device, ArrayRef<uint32_t> own, int64_t other);
  bool areAlike(uint32_t a, uint32_t b);
  void edge(Event before, Event after) { edges.push_back({before, after}); }
  uint32_t add(Operation *op, uint32_t action, uint32_t device, uint32_t stream, uint32_t place, uint32_t groupSet);
  void indexEdges();

  ProgramOp program;
  const ProgramSymbols &symbols;
  bool isEvaluation;
  ProgramGroups groups;
  CommunicationOfCode code;
  StepEvents events;
  std::vector<std::pair<Event, Event>> edges;
  DenseMap<Operation *, uint32_t> numbers; ///< by action of the device that is being added
  std::vector<MessageEnd> messageEnds;
  DenseMap<uint32_t, uint32_t> reachStreams; ///< streams of ppcrt.reach points, by the stream of the runs
  /// Activities that join devices, in order, by group and device.
  llvm::MapVector<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> sequences;
  std::map<std::vector<uint32_t>, uint32_t> groupSets;
};

uint32_t EventBuilder::add(Operation *op, uint32_t action, uint32_t device, uint32_t stream, uint32_t place,
                           uint32_t groupSet) {
  uint32_t self = events.activities.size();
  events.activities.push_back({op, action, device, stream, place});
  events.groupSetOf.push_back(groupSet);
  edge(beginOf(self), endOf(self));
  return self;
}

LogicalResult EventBuilder::addTokens(ActionOpInterface action, uint32_t self) {
  for (Value token : action.getAfter()) {
    Operation *giver = token.getDefiningOp();
    auto found = numbers.find(giver);
    if (found == numbers.end()) {
      InFlightDiagnostic error = action->emitOpError("waits for a token that never completes: it is of another step");
      error.attachNote(token.getLoc()) << "given here";
      return error;
    }
    unsigned number = cast<OpResult>(token).getResultNumber();
    if (number + 1 == giver->getNumResults()) {
      edge(endOf(found->second), beginOf(self));
      continue;
    }
    uint32_t reach = events.endOfUse(found->second, number);
    if (reach == found->second) {
      InFlightDiagnostic error =
          action->emitOpError("waits for a token that never completes: the code has no ppcrt.reach for it");
      error.attachNote(token.getLoc()) << "given here";
      return error;
    }
    edge(endOf(reach), beginOf(self));
  }
  return success();
}

LogicalResult EventBuilder::useGroup(uint32_t group, Operation *op, Operation *action, uint32_t device) {
  if (!groups.members(group, device).empty())
    return success();
  InFlightDiagnostic error = op->emitOpError() << "communicates over " << groups.describe(group)
                                               << ", a group that not all ranks of device " << device << " are in";
  if (Operation *declaration = groups.declaration(op))
    error.attachNote(declaration->getLoc()) << "the group";
  if (op != action)
    error.attachNote(action->getLoc()) << "in code that is run here";
  return error;
}

/// Records the groups of the action, and the communication between devices in its code.
LogicalResult EventBuilder::addCommunication(DeviceOp device, Operation *action, uint32_t self) {
  uint32_t number = device.getAt();
  std::vector<uint32_t> used;
  if (auto collective = dyn_cast<CollectiveOp>(action)) {
    std::optional<uint32_t> group = groups.of(action);
    if (!group)
      return action->emitOpError() << "is of group " << collective.getGroupAttr() << ", which the module does not have";
    if (failed(useGroup(*group, action, action, number)))
      return failure();
    used.push_back(*group);
    if (groups.isBetweenDevices(*group))
      sequences[{*group, number}].push_back(self);
  } else if (auto run = dyn_cast<RunOp>(action)) {
    RoutineOp routine = symbols.routine(device, run.getRoutineAttr().getAttr());
    if (!routine)
      return run.emitOpError() << "runs " << run.getRoutineAttr() << ", which is not a routine of its device";
    const CodeCommunication &inside = code.of(routine.getCodeAttr().getAttr());
    for (auto [group, op] : llvm::zip_equal(inside.groups, inside.used))
      if (failed(useGroup(group, op, action, number)))
        return failure();
    used = inside.groups;
    addInside(inside, self, /*reaches=*/run.getNumResults() > 1);
  }
  auto [set, isNew] = groupSets.try_emplace(used, events.groupSets.size());
  if (isNew)
    events.groupSets.push_back(used);
  events.groupSetOf[self] = set->second;
  return success();
}

/// Adds the activities in the code of a run, in its order.
void EventBuilder::addInside(const CodeCommunication &inside, uint32_t self, bool reaches) {
  Event at = beginOf(self);
  const Activity own = events.activities[self];
  for (Operation *op : inside.ordered) {
    auto reach = dyn_cast<ReachOp>(op);
    if (reach && !reaches)
      continue; // no action can wait for it
    uint32_t inner;
    if (reach) {
      auto [stream, isNew] = reachStreams.try_emplace(own.stream, events.streams.size());
      if (isNew)
        events.streams.emplace_back();
      std::vector<uint32_t> &onStream = events.streams[stream->second];
      inner = add(op, self, own.device, stream->second, onStream.size(), 0);
      onStream.push_back(inner);
      events.reached[{self, uint32_t(reach.getEntry())}] = inner;
    } else {
      inner = add(op, self, own.device, own.stream, own.place, 0);
      sequences[{*groups.of(op), own.device}].push_back(inner);
    }
    edge(at, beginOf(inner));
    at = endOf(inner);
  }
  if (at != beginOf(self))
    edge(at, endOf(self));
}

void EventBuilder::addMessageEnds(Operation *action, uint32_t self) {
  if (auto send = dyn_cast<SendOp>(action))
    messageEnds.push_back({send.getMessageAttr(), int64_t(send.getMicroBatch()), true, self});
  else if (auto receive = dyn_cast<ReceiveOp>(action))
    messageEnds.push_back({receive.getMessageAttr(), int64_t(receive.getMicroBatch()), false, self});
  else if (auto exchange = dyn_cast<ExchangeOp>(action)) {
    messageEnds.push_back({exchange.getSentAttr(), int64_t(exchange.getSentMicroBatch()), true, self});
    messageEnds.push_back({exchange.getReceivedAttr(), int64_t(exchange.getReceivedMicroBatch()), false, self});
  }
}

LogicalResult EventBuilder::addActions(DeviceOp device, Block &actions) {
  numbers.clear();
  uint32_t number = device.getAt();
  DenseMap<Attribute, uint32_t> streams; // by stream attribute of this device
  for (Operation &op : actions) {
    auto action = cast<ActionOpInterface>(op);
    auto [stream, isNew] = streams.try_emplace(action.getStreamAttr(), events.streams.size());
    if (isNew)
      events.streams.emplace_back();
    size_t place = events.streams[stream->second].size();
    uint32_t self = add(&op, events.activities.size(), number, stream->second, place, 0);
    if (place)
      edge(endOf(events.streams[stream->second].back()), beginOf(self));
    events.streams[stream->second].push_back(self);
    if (failed(addTokens(action, self)))
      return failure();
    numbers[&op] = self;
    addMessageEnds(&op, self);
    if (failed(addCommunication(device, &op, self)))
      return failure();
  }
  return success();
}

LogicalResult EventBuilder::joinMessages() {
  DenseMap<std::pair<Attribute, int64_t>, uint32_t> sent, received;
  for (const MessageEnd &end : messageEnds)
    (end.isSent ? sent : received).try_emplace({end.message, end.microBatch}, end.activity);
  for (const MessageEnd &end : messageEnds) {
    auto &others = end.isSent ? received : sent;
    auto other = others.find({end.message, end.microBatch});
    if (other != others.end()) {
      edge(beginOf(other->second), endOf(end.activity));
      continue;
    }
    InFlightDiagnostic error = events.activities[end.activity].op->emitOpError()
                               << (end.isSent ? "sends " : "waits for ") << end.message << " of micro-batch "
                               << end.microBatch << ", which no device " << (end.isSent ? "receives" : "sends");
    if (MessageOp message = symbols.message(end.message.getAttr()))
      error.attachNote(message.getLoc()) << "the message";
    return error;
  }
  return success();
}

bool EventBuilder::areAlike(uint32_t a, uint32_t b) {
  Operation *one = events.activities[a].op, *other = events.activities[b].op;
  if (one->getName() != other->getName())
    return false;
  auto collective = dyn_cast<CollectiveOp>(one);
  if (!collective)
    return one->getOperandTypes() == other->getOperandTypes() && one->getResultTypes() == other->getResultTypes() &&
           one->getPropertiesAsAttribute() == other->getPropertiesAsAttribute() &&
           one->getAttr("ppc.channel") == other->getAttr("ppc.channel");
  auto types = [&](CollectiveOp op) {
    auto device = op->getParentOfType<DeviceOp>();
    SmallVector<Type> result;
    for (ArrayAttr names : {op.getReads(), op.getWrites()})
      for (auto name : names.getAsRange<FlatSymbolRefAttr>())
        if (BufferOp buffer = symbols.buffer(device, name.getAttr()))
          result.push_back(buffer.getBufferType());
    return result;
  };
  auto peer = cast<CollectiveOp>(other);
  return collective.getKind() == peer.getKind() && collective.getReduction() == peer.getReduction() &&
         types(collective) == types(peer);
}

LogicalResult EventBuilder::join(uint32_t group, int64_t device, ArrayRef<uint32_t> own, int64_t other) {
  auto found = sequences.find({group, uint32_t(other)});
  ArrayRef<uint32_t> others = found == sequences.end() ? ArrayRef<uint32_t>() : ArrayRef(found->second);
  bool keepsPlaces = groups.keepsPlaces(group, device, other);
  for (auto [place, activity] : llvm::enumerate(own)) {
    bool isThere = place < others.size();
    if (isThere && areAlike(activity, others[place])) {
      (keepsPlaces ? edges : events.waitsAcross).push_back({beginOf(activity), endOf(others[place])});
      continue;
    }
    InFlightDiagnostic error = events.activities[activity].op->emitOpError()
                               << "is number " << place << " over " << groups.describe(group) << " on device " << device
                               << ", where device " << other << (isThere ? " does something else" : " does nothing");
    if (isThere)
      error.attachNote(events.activities[others[place]].op->getLoc()) << "its own";
    return error;
  }
  return success();
}

/// The i-th of each member is one collective.
LogicalResult EventBuilder::joinCollectives() {
  for (auto &[key, own] : sequences)
    for (int64_t other : groups.members(key.first, key.second))
      if (other != key.second && failed(join(key.first, key.second, own, other)))
        return failure();
  return success();
}

void EventBuilder::indexEdges() {
  events.firstLater.assign(events.getEventCount() + 1, 0);
  for (auto [before, after] : edges)
    ++events.firstLater[before + 1];
  for (size_t event = 0; event < events.getEventCount(); ++event)
    events.firstLater[event + 1] += events.firstLater[event];
  std::vector<uint32_t> next(events.firstLater.begin(), events.firstLater.end() - 1);
  events.later.resize(edges.size());
  for (auto [before, after] : edges)
    events.later[next[before]++] = after;
}

FailureOr<StepEvents> EventBuilder::run() {
  events.groupSets.emplace_back();
  groupSets[{}] = 0;
  for (DeviceOp device : program.getDevices()) {
    events.firstStreams.push_back(events.streams.size());
    Region *actions = isEvaluation ? (device.getEvaluate() ? &device.getEvaluate().getBody() : nullptr)
                                   : (device.getStep() ? &device.getStep().getBody() : nullptr);
    if (actions && failed(addActions(device, actions->front())))
      return failure();
  }
  events.firstStreams.push_back(events.streams.size());
  if (failed(joinMessages()) || failed(joinCollectives()))
    return failure();
  events.groupCount = groups.size();
  indexEdges();
  return std::move(events);
}

FailureOr<StepEvents> StepEvents::build(ProgramOp program, const ProgramSymbols &symbols, bool isEvaluation) {
  return EventBuilder(program, symbols, isEvaluation).run();
}

} // namespace mlir::ppc
