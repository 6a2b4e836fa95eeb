// Actions on every rank, their bytes and their meetings.
#include "TimedProgram.h"
#include "ppc/Interpreter/Collectives.h"
#include "ppc/Interpreter/RankGrid.h"

namespace mlir::ppc::test {

using namespace ppcrt;

TimedProgram::TimedProgram(ModuleOp module, bool isEvaluation)
    : module(module), program(findProgram(module)), grid(program.getGrid()), deviceGrid(program.getDeviceGrid()),
      isEvaluation(isEvaluation) {}

const TimedProgram::Communication &TimedProgram::communicationOf(func::FuncOp code) {
  auto [known, isNew] = communications.try_emplace(code);
  if (!isNew)
    return known->second;
  Communication found;
  code.walk([&](Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op))
      if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee())) {
        const Communication &inner = communicationOf(callee);
        found.meets |= inner.meets;
        found.betweenDevices |= inner.betweenDevices;
        found.ops.insert(inner.ops.begin(), inner.ops.end());
      }
    ArrayAttr axes = collectiveAxes(op);
    if (!axes)
      return;
    found.meets = true;
    found.betweenDevices |= llvm::is_contained(axisNames(axes), "pp");
    if (!isa<LocalSliceOp>(op) && llvm::none_of(found.ops, [&](Operation *other) {
          return collectiveAxes(other) == axes && other->getAttr("stages") == op->getAttr("stages");
        }))
      found.ops.insert(op);
  });
  return communications[code] = std::move(found);
}

/// Members of the group over `axes` that are on one of `stages`.
static SmallVector<int64_t> membersOver(GridAttr grid, int64_t rank, ArrayAttr axes,
                                        std::optional<ArrayRef<int64_t>> stages) {
  RankGrid ranks(grid);
  SmallVector<int64_t> members = ranks.group(rank, axisNames(axes));
  if (stages)
    llvm::erase_if(members,
                   [&](int64_t member) { return !llvm::is_contained(*stages, ranks.coordinate(member, "pp")); });
  return members;
}

std::string TimedProgram::read() {
  SmallVector<DeviceOp> devices = program.getDevices();
  layouts.resize(devices.size()); // which activities point into
  for (auto [device, layout] : llvm::zip_equal(devices, layouts)) {
    if (std::string error = layout.read(device); !error.empty())
      return error;
    for (auto routine : device.getBody().front().getOps<RoutineOp>())
      if (func::FuncOp code = codeOf(routine); code && communicationOf(code).betweenDevices)
        joined.insert(routine.getKind());
  }
  for (auto [index, device] : llvm::enumerate(devices))
    if (std::string error = readDevice(index, device); !error.empty())
      return error;
  return "";
}

std::string TimedProgram::readDevice(size_t device, DeviceOp op) {
  Operation *sequence = isEvaluation ? op.getEvaluate().getOperation() : op.getStep().getOperation();
  if (!sequence)
    return "a device has no " + std::string(isEvaluation ? "evaluation" : "step");
  for (int64_t local = 0; local < ranksOfDevice(); ++local) {
    DenseMap<Operation *, size_t> known;
    size_t inOrder = hostQueues.size();
    hostQueues.emplace_back();
    std::map<std::string, size_t> queueOf;
    for (auto [place, action] : llvm::enumerate(sequence->getRegion(0).front())) {
      Activity activity{&action, device, int64_t(device) * ranksOfDevice() + local, int64_t(place)};
      activity.stream = cast<ActionOpInterface>(action).getStreamAttr().getValue();
      if (!isa_and_nonnull<StreamOp>(SymbolTable::lookupSymbolIn(op, activity.stream)))
        return describe(activity) + ": no such stream";
      for (Value token : cast<ActionOpInterface>(action).getAfter()) {
        size_t giver = known.at(token.getDefiningOp()), entry = cast<OpResult>(token).getResultNumber();
        if (token == token.getDefiningOp()->getResults().back())
          activity.after.push_back(giver);
        else if (llvm::is_contained(activities[giver].reaches, entry))
          activity.since.push_back({giver, entry});
        else
          return describe(activity) + ": waits for a token that stands for nothing";
      }
      if (std::string error = readUses(activity); !error.empty())
        return describe(activity) + ": " + error;
      if (std::string error = ownConflict(activity); !error.empty())
        return describe(activity) + ": " + error;
      auto [queue, isNew] = queueOf.try_emplace(activity.stream.str(), queues.size());
      if (isNew)
        queues.emplace_back();
      queues[queue->second].push_back(activities.size());
      if (isa<SendOp>(action))
        hostQueues.push_back({activities.size()});
      else
        hostQueues[inOrder].push_back(activities.size());
      known[&action] = activities.size();
      activities.push_back(std::move(activity));
    }
  }
  return "";
}

bool TimedProgram::isForHosts() const {
  return llvm::all_of(activities,
                      [](const Activity &own) { return isa<LoadOp, RunOp, SendOp, ReceiveOp>(own.action); });
}

std::string TimedProgram::readUses(Activity &activity) {
  Operation *op = activity.action;
  if (auto load = dyn_cast<LoadOp>(op)) {
    for (const BufferPlace &place : layouts[activity.device].all())
      if (BufferOp(place.buffer).getRole() == BufferRole::Input)
        if (std::string error = use(activity, BufferOp(place.buffer).getSymNameAttr(), load.getMicroBatch(), Write);
            !error.empty())
          return error;
    return "";
  }
  if (auto run = dyn_cast<RunOp>(op))
    return readRun(activity, run);
  if (auto send = dyn_cast<SendOp>(op))
    return readMessage(activity, send.getMessageAttr(), send.getMicroBatch(), true);
  if (auto receive = dyn_cast<ReceiveOp>(op))
    return readMessage(activity, receive.getMessageAttr(), receive.getMicroBatch(), false);
  if (auto exchange = dyn_cast<ExchangeOp>(op)) {
    std::string error = readMessage(activity, exchange.getSentAttr(), exchange.getSentMicroBatch(), true);
    return error.empty() ? readMessage(activity, exchange.getReceivedAttr(), exchange.getReceivedMicroBatch(), false)
                         : error;
  }
  if (auto collective = dyn_cast<CollectiveOp>(op))
    return readCollective(activity, collective);
  if (auto copy = dyn_cast<CopyOp>(op)) {
    std::string error = use(activity, copy.getFromAttr(), copy.getMicroBatch(), Read);
    if (error.empty())
      error = use(activity, copy.getToAttr(), copy.getMicroBatch(), Write);
    const ByteUse &from = activity.uses.front(), &to = activity.uses.back();
    return !error.empty() || from.place->elements == to.place->elements ? error : "copies to a buffer of another size";
  }
  auto check = cast<CheckFiniteOp>(op);
  for (Attribute name : check.getBuffers())
    if (std::string error = use(activity, name, check.getMicroBatch(), Read); !error.empty())
      return error;
  return "";
}

std::string TimedProgram::readRun(Activity &activity, RunOp run) {
  activity.routine = dyn_cast_or_null<RoutineOp>(
      SymbolTable::lookupSymbolIn(program.getDevices()[activity.device], run.getRoutineAttr().getAttr()));
  activity.code = activity.routine ? codeOf(activity.routine) : func::FuncOp();
  if (!activity.code)
    return "no such routine";
  RoutineKind kind = activity.routine.getKind();
  for (Attribute name : activity.routine.getReads())
    if (std::string error = use(activity, name, run.getMicroBatch(), Read); !error.empty())
      return error;
  for (Attribute name : activity.routine.getWrites())
    if (std::string error = use(activity, name, run.getMicroBatch(), Write); !error.empty())
      return error;
  // An update may reduce sums of micro-batches where they lie.
  for (size_t read : activity.reads)
    if (kind == RoutineKind::Update && !activity.uses[read].writes &&
        BufferOp(activity.uses[read].place->buffer).getRole() == BufferRole::Accumulator) {
      activity.uses[read].writes = true;
      activity.destroyed.push_back(read);
    }
  if (FlatSymbolRefAttr scratch = activity.routine.getScratchAttr())
    if (std::string error = use(activity, scratch, run.getMicroBatch(), Destroy); !error.empty())
      return error;
  if (run.getNumResults() > 1)
    if (std::string error = readReaches(activity); !error.empty())
      return error;
  const Communication &communication = communicationOf(activity.code);
  for (Operation *op : communication.ops) {
    auto reduce = dyn_cast<ppc::AllReduceOp>(op);
    SmallVector<int64_t> members =
        membersOver(grid, activity.rank, collectiveAxes(op), reduce ? reduce.getStages() : std::nullopt);
    if (members.size() > 1)
      activity.groups.push_back(numberOf(members));
  }
  size_t local = activity.rank % ranksOfDevice();
  // The updates after the first may belong to one device.
  int64_t number = joined.count(kind) ? count(nullptr, {activity.rank, int64_t(kind)}) : 0;
  if (joined.count(kind) && (number == 0 || communication.betweenDevices))
    meet(activity, Rendezvous::Routine, nullptr, {int64_t(kind), number}, activity.rank, rankCount());
  else if (communication.meets)
    meet(activity, Rendezvous::Routine, activity.action, {}, local, ranksOfDevice());
  else
    meet(activity, Rendezvous::Routine, activity.action, {activity.rank}, 0, 1);
  return "";
}

std::string TimedProgram::readReaches(Activity &activity) {
  Block &block = activity.code.front();
  RoutineOp routine = activity.routine;
  DenseMap<Operation *, size_t> order;
  for (Operation &op : block)
    order[&op] = order.size();
  auto isUsedAfter = [&](Value value, Operation *reach) {
    Operation *made = value.getDefiningOp();
    return (made && order.at(made) > order.at(reach)) || llvm::any_of(value.getUsers(), [&](Operation *user) {
             return order.at(block.findAncestorOpInBlock(*user)) > order.at(reach) && !isa<func::ReturnOp>(user);
           });
  };
  for (auto reach : block.getOps<ReachOp>()) {
    size_t entry = reach.getEntry();
    if (!routine.getEarly() || entry >= routine.getEarly()->size() || llvm::is_contained(activity.reaches, entry))
      return "reaches what it cannot";
    for (Attribute name : cast<ArrayAttr>((*routine.getEarly())[entry])) {
      bool isFinished = true;
      size_t buffer = activity.uses.size();
      for (auto [i, read] : llvm::enumerate(routine.getReads()))
        if (read == name) {
          buffer = activity.reads[i];
          isFinished &= !isUsedAfter(block.getArgument(i), reach);
        }
      for (auto [i, written] : llvm::enumerate(routine.getWrites()))
        if (written == name) {
          buffer = activity.writes[i];
          isFinished &= !isUsedAfter(block.getTerminator()->getOperand(i), reach);
        }
      if (buffer == activity.uses.size())
        return "finishes with what it does not use";
      if (isFinished)
        activity.uses[buffer].early = activity.reaches.size();
    }
    activity.reaches.push_back(entry);
  }
  bool all = activity.reaches.size() + 1 == activity.action->getNumResults();
  return all ? "" : "gives another number of tokens than its code reaches";
}

std::string TimedProgram::readMessage(Activity &activity, FlatSymbolRefAttr name, int64_t microBatch, bool isSent) {
  auto message = dyn_cast_or_null<MessageOp>(SymbolTable::lookupSymbolIn(program, name.getAttr()));
  DeviceOp device = program.getDevices()[activity.device];
  if (!message || (isSent ? message.getSender() : message.getReceiver()) != device.getSymNameAttr())
    return "no such message " + std::string(isSent ? "from" : "to") + " its device";
  SymbolRefAttr end = isSent ? message.getFrom() : message.getTo();
  if (std::string error = use(activity, end.getLeafReference(), microBatch, isSent ? Read : Write); !error.empty())
    return error;
  // The ranks of two devices that have the same other coordinates.
  int64_t local = activity.rank % ranksOfDevice();
  int64_t number = count(message.getOperation(), {activity.rank, microBatch, isSent});
  meet(activity, Rendezvous::Message, message.getOperation(), {local, microBatch, number}, isSent ? 0 : 1, 2);
  return "";
}

SmallVector<int64_t> TimedProgram::membersOf(GroupOp group, int64_t rank) const {
  if (auto sets = group.getRanks()) {
    for (auto set : sets->getAsRange<DenseI64ArrayAttr>())
      if (llvm::is_contained(set.asArrayRef(), rank))
        return SmallVector<int64_t>(set.asArrayRef());
    return {};
  }
  SmallVector<int64_t> members = membersOver(grid, rank, *group.getAxes(), group.getStages());
  return llvm::is_contained(members, rank) ? members : SmallVector<int64_t>();
}

std::string TimedProgram::readCollective(Activity &activity, CollectiveOp op) {
  if (op.getKind() == CollectiveKind::RaggedAllToAll)
    return "ragged all-to-alls are not executed";
  auto group = module.lookupSymbol<GroupOp>(op.getGroup());
  SmallVector<int64_t> members = group ? membersOf(group, activity.rank) : SmallVector<int64_t>();
  if (members.empty())
    return "is in no set of its group";
  for (auto [names, access] : {std::pair(op.getReads(), Read), std::pair(op.getWrites(), Write)})
    for (Attribute name : names)
      if (std::string error = use(activity, name, op.getMicroBatch(), access); !error.empty())
        return error;
  if (members.size() > 1)
    activity.groups.push_back(numberOf(members));
  size_t place = llvm::find(members, activity.rank) - members.begin();
  meet(activity, Rendezvous::Collective, group.getOperation(),
       {members.front(), count(group.getOperation(), {activity.rank})}, place, members.size());
  return "";
}

std::string TimedProgram::use(Activity &activity, Attribute name, std::optional<int64_t> microBatch, Access access) {
  StringRef symbol =
      isa<StringAttr>(name) ? cast<StringAttr>(name).getValue() : cast<FlatSymbolRefAttr>(name).getValue();
  const BufferPlace *place = layouts[activity.device].find(symbol);
  if (!place)
    return "no such buffer @" + symbol.str();
  if (microBatch.value_or(0) >= int64_t(program.getMicroBatches()))
    return "no such micro-batch";
  if (place->slots > 1 && !microBatch)
    return "no micro-batch says which slot of @" + symbol.str();
  int64_t slot = place->slotOf(microBatch.value_or(0));
  auto known = llvm::find_if(activity.uses, [&](const ByteUse &use) { return use.place == place && use.slot == slot; });
  size_t number = known - activity.uses.begin();
  if (known == activity.uses.end())
    activity.uses.push_back({place, slot, false, false});
  (access == Read ? activity.uses[number].reads : activity.uses[number].writes) = true;
  if (access != Destroy)
    (access == Read ? activity.reads : activity.writes).push_back(number);
  return "";
}

std::string TimedProgram::ownConflict(const Activity &activity) const {
  for (const ByteUse &a : activity.uses)
    for (const ByteUse &b : activity.uses)
      if (&a < &b && (a.writes || b.writes) && a.overlaps(b))
        return "uses @" + BufferOp(a.place->buffer).getSymName().str() + " and @" +
               BufferOp(b.place->buffer).getSymName().str() + ", which share bytes, and writes one of them";
  return "";
}

void TimedProgram::meet(Activity &activity, Rendezvous::Kind kind, const void *what, ArrayRef<int64_t> key,
                        size_t place, size_t members) {
  auto [found, isNew] = meetingByKey.try_emplace({what, std::vector<int64_t>(key.begin(), key.end())}, meetings.size());
  if (isNew)
    meetings.push_back({kind, SmallVector<std::optional<size_t>>(members)});
  meetings[found->second].members[place] = activities.size();
  activity.meetings.push_back(found->second);
}

std::string describe(const Activity &activity) {
  std::string text = "rank " + std::to_string(activity.rank) + " (device " + std::to_string(activity.device) + "): ";
  llvm::raw_string_ostream(text) << *activity.action;
  return text;
}

} // namespace mlir::ppc::test
