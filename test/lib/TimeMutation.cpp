// Timing mutations.
#include "TimeMutation.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ppc::test {

using namespace ppcrt;

ArrayRef<StringRef> timeMutationKinds() {
  static const StringRef kinds[] = {"wait",   "token",  "slot",  "place", "offset",
                                    "bucket", "stream", "group", "order", "early"};
  return kinds;
}

namespace {

class TimeMutation {
public:
  TimeMutation(ModuleOp module, Random &random)
      : module(module), random(random), builder(module.getContext()), program(findProgram(module)) {
    SmallVector<DeviceOp> devices = program.getDevices();
    device = devices[random() % devices.size()];
    bool inEvaluation = device.getEvaluate() && (random() % 8 == 0 || !device.getStep());
    actions = inEvaluation ? &device.getEvaluate().getBody().front() : &device.getStep().getBody().front();
  }

  std::optional<std::string> run(StringRef kind) {
    using Mutation = std::optional<std::string> (TimeMutation::*)();
    static const std::pair<StringRef, Mutation> mutations[] = {
        {"wait", &TimeMutation::dropToken},      {"token", &TimeMutation::changeToken},
        {"slot", &TimeMutation::changeSlots},    {"place", &TimeMutation::changePlaces},
        {"offset", &TimeMutation::changeOffset}, {"bucket", &TimeMutation::changeBucket},
        {"stream", &TimeMutation::changeStream}, {"group", &TimeMutation::changeGroup},
        {"order", &TimeMutation::changeOrder},   {"early", &TimeMutation::changeEarly}};
    for (auto [name, mutation] : mutations)
      if (name == kind)
        if (std::optional<std::string> what = (this->*mutation)())
          return "device " + std::to_string(device.getAt()) + ": " + *what;
    return std::nullopt;
  }

private:
  template <typename List> auto &pick(List &&list) { return list[random() % list.size()]; }
  static std::string describe(Operation *op) {
    std::string text;
    llvm::raw_string_ostream(text) << *op;
    return text;
  }
  template <typename Filter> SmallVector<Operation *> actionsWhere(Filter wanted) {
    SmallVector<Operation *> found;
    for (Operation &action : *actions)
      if (wanted(&action))
        found.push_back(&action);
    return found;
  }
  SmallVector<BufferOp> buffersWhere(function_ref<bool(BufferOp)> wanted) {
    SmallVector<BufferOp> found;
    for (auto buffer : device.getBody().front().getOps<BufferOp>())
      if (wanted(buffer))
        found.push_back(buffer);
    return found;
  }

  std::optional<std::string> dropToken();
  std::optional<std::string> changeToken();
  std::optional<std::string> changeSlots();
  std::optional<std::string> changePlaces();
  std::optional<std::string> changeMicroBatch();
  std::optional<std::string> changeOffset();
  std::optional<std::string> changeStride(BufferOp buffer);
  std::optional<std::string> changeBucket();
  std::optional<std::string> changeStream();
  std::optional<std::string> changeGroup();
  std::optional<std::string> changeOrder();
  std::optional<std::string> swapMessages();
  std::optional<std::string> changeEarly();
  std::optional<std::string> changeEarlyToken();
  std::optional<std::string> moveReach(func::FuncOp code);
  std::optional<std::string> moveEarlyBuffer(RoutineOp routine, func::FuncOp code);

  ModuleOp module;
  Random &random;
  Builder builder;
  ProgramOp program;
  DeviceOp device;          ///< the mutated one
  Block *actions = nullptr; ///< actions of its step or evaluation
};

std::optional<std::string> TimeMutation::dropToken() {
  auto waiting = actionsWhere([](Operation *action) { return action->getNumOperands(); });
  if (waiting.empty())
    return std::nullopt;
  Operation *action = pick(waiting);
  unsigned number = random() % action->getNumOperands();
  std::string what = "does not wait for token " + std::to_string(number) + " in " + describe(action);
  action->eraseOperand(number);
  return what;
}

/// Waits for an action earlier in the list, instead or besides.
std::optional<std::string> TimeMutation::changeToken() {
  bool adds = random() % 4 == 0;
  auto waiting = actionsWhere([&](Operation *action) { return adds || action->getNumOperands(); });
  if (waiting.empty())
    return std::nullopt;
  Operation *action = pick(waiting);
  SmallVector<Value> others;
  for (Operation *before = &actions->front(); before != action; before = before->getNextNode())
    for (Value token : before->getResults())
      if (!llvm::is_contained(action->getOperands(), token))
        others.push_back(token);
  if (others.empty())
    return std::nullopt;
  Value other = pick(others);
  std::string what = "waits for " + describe(other.getDefiningOp()) + " in " + describe(action);
  if (adds)
    action->insertOperands(action->getNumOperands(), other);
  else
    action->setOperand(random() % action->getNumOperands(), other);
  return what;
}

std::optional<std::string> TimeMutation::changeMicroBatch() {
  SmallVector<std::pair<Operation *, StringRef>> places;
  for (Operation &action : *actions)
    for (StringRef key : {"micro_batch", "sent_micro_batch", "received_micro_batch"})
      if (action.getAttrOfType<IntegerAttr>(key))
        places.push_back({&action, key});
  int64_t count = program.getMicroBatches();
  if (places.empty() || count < 2)
    return std::nullopt;
  auto [action, key] = pick(places);
  std::string what = "another micro-batch in " + describe(action);
  int64_t own = action->getAttrOfType<IntegerAttr>(key).getInt();
  action->setAttr(key, builder.getI64IntegerAttr((own + 1 + int64_t(random() % (count - 1))) % count));
  return what;
}

/// Slots of a buffer, or of all of the device, one less or one more.
std::optional<std::string> TimeMutation::changeSlots() {
  if (random() % 3 == 0)
    return changeMicroBatch();
  auto slotted = buffersWhere([](BufferOp buffer) { return buffer.hasSlots() && !buffer.getPlaces(); });
  bool isMore = random() % 4 == 0, ofAll = random() % 3 == 0;
  llvm::erase_if(slotted, [&](BufferOp buffer) { return !isMore && buffer.getSlotCount() < 2; });
  if (slotted.empty())
    return std::nullopt;
  if (!ofAll)
    slotted = {pick(slotted)};
  std::string what = std::string(isMore ? "one slot more: " : "one slot less: ") + describe(slotted.front()) +
                     (ofAll ? " and all others" : "");
  for (BufferOp buffer : slotted)
    buffer.setSlots(buffer.getSlotCount() + (isMore ? 1 : -1));
  return what;
}

/// Gives a micro-batch of a buffer another slot, swaps the slots of two, or takes all slots from another buffer.
std::optional<std::string> TimeMutation::changePlaces() {
  auto placed = buffersWhere([](BufferOp buffer) { return buffer.getPlaces() && buffer.getSlotCount() > 1; });
  if (placed.empty())
    return std::nullopt;
  BufferOp buffer = pick(placed);
  SmallVector<int64_t> places(*buffer.getPlaces());
  size_t first = random() % places.size(), second = random() % places.size();
  std::string what;
  switch (random() % 3) {
  case 0:
    std::swap(places[first], places[second]);
    what = "exchanged slots of micro-batches " + std::to_string(first) + " and " + std::to_string(second);
    break;
  case 1:
    places[first] = (places[first] + 1 + random() % (buffer.getSlotCount() - 1)) % buffer.getSlotCount();
    what = "another slot of micro-batch " + std::to_string(first);
    break;
  default: {
    BufferOp other = pick(placed);
    if (other.getSlotCount() != buffer.getSlotCount())
      return std::nullopt;
    places.assign(other.getPlaces()->begin(), other.getPlaces()->end());
    what = "the slots of " + describe(other);
  }
  }
  if (ArrayRef(places) == *buffer.getPlaces())
    return std::nullopt;
  what += " in " + describe(buffer);
  buffer.setPlaces(places);
  return what;
}

std::optional<std::string> TimeMutation::changeStride(BufferOp buffer) {
  if (!buffer.getStride() || buffer.getSlotCount() < 2)
    return std::nullopt;
  int64_t size = buffer.getType().getNumElements() * llvm::divideCeil(buffer.getType().getElementTypeBitWidth(), 8);
  int64_t old = *buffer.getStride(), stride = random() % 2 ? size : old + 64 * int64_t(1 + random() % 4);
  if (stride == old)
    return std::nullopt;
  std::string what = "stride " + std::to_string(stride) + " of " + describe(buffer);
  buffer.setStride(stride);
  return what;
}

/// A buffer moves onto another one, or a little up or down, or its slots come closer or farther.
std::optional<std::string> TimeMutation::changeOffset() {
  auto placed = buffersWhere([](BufferOp buffer) { return buffer.getOffset().has_value(); });
  if (placed.size() < 2)
    return std::nullopt;
  BufferOp buffer = pick(placed), other = pick(placed);
  if (random() % 4 == 0)
    return changeStride(buffer);
  int64_t old = *buffer.getOffset(), offset = *other.getOffset();
  if (random() % 3 == 0) // by less than a buffer
    offset = std::max<int64_t>(0, old + (random() % 2 ? 64 : -64) * int64_t(1 + random() % 2));
  if (offset == old)
    return std::nullopt;
  std::string what = "offset " + std::to_string(offset) + " of " + describe(buffer);
  buffer.setOffset(offset);
  return what;
}

std::optional<std::string> TimeMutation::changeBucket() {
  auto collectives = actionsWhere([](Operation *action) { return isa<CollectiveOp>(action); });
  if (collectives.empty())
    return std::nullopt;
  auto op = cast<CollectiveOp>(pick(collectives));
  std::string was = describe(op);
  SmallVector<Attribute> reads(op.getReads().getValue()), writes(op.getWrites().getValue());
  size_t place = random() % reads.size();
  auto finish = [&](const std::string &what) {
    op.setReadsAttr(builder.getArrayAttr(reads));
    op.setWritesAttr(builder.getArrayAttr(writes));
    return what + was;
  };
  switch (random() % 5) {
  case 0: // left out
    if (reads.size() < 2)
      return std::nullopt;
    reads.erase(reads.begin() + place);
    writes.erase(writes.begin() + place);
    return finish("one buffer less in ");
  case 1: { // results exchanged
    size_t other = random() % writes.size();
    if (other == place)
      return std::nullopt;
    std::swap(writes[place], writes[other]);
    return finish("two results exchanged in ");
  }
  case 2: // combined otherwise
    if (!op.getReduction())
      return std::nullopt;
    op.setReduction(*op.getReduction() == ReductionKind::Sum ? ReductionKind::Max : ReductionKind::Sum);
    return finish("combines otherwise in ");
  default: { // another buffer
    bool inPlace = reads[place] == writes[place], ofResult = !inPlace && random() % 2;
    BufferOp own = device.buffer(cast<FlatSymbolRefAttr>(ofResult ? writes[place] : reads[place]).getAttr());
    auto others = buffersWhere(
        [&](BufferOp buffer) { return buffer != own && buffer.getType() == own.getType() && !buffer.hasSlots(); });
    if (others.empty())
      return std::nullopt;
    auto name = FlatSymbolRefAttr::get(pick(others).getSymNameAttr());
    if (!ofResult)
      reads[place] = name;
    if (inPlace || ofResult)
      writes[place] = name;
    return finish("works on " + ("@" + name.getValue()).str() + " in ");
  }
  }
}

std::optional<std::string> TimeMutation::changeStream() {
  auto all = actionsWhere([](Operation *) { return true; });
  SmallVector<StreamOp> streams(device.getBody().front().getOps<StreamOp>());
  if (all.empty())
    return std::nullopt;
  Operation *action = pick(all);
  StringAttr stream = pick(streams).getSymNameAttr();
  if (stream == cast<ActionOpInterface>(action).getStreamAttr().getAttr())
    return std::nullopt;
  std::string what = "on @" + stream.str() + " is " + describe(action);
  action->setAttr("stream", FlatSymbolRefAttr::get(stream));
  return what;
}

/// A collective over another group: one of the module's, or one over other axes or pairs of ranks.
std::optional<std::string> TimeMutation::changeGroup() {
  auto collectives = actionsWhere([](Operation *action) { return isa<CollectiveOp>(action); });
  if (collectives.empty())
    return std::nullopt;
  auto op = cast<CollectiveOp>(pick(collectives));
  std::string was = describe(op);
  GridAttr grid = program.getGrid();
  OpBuilder at = OpBuilder::atBlockBegin(module.getBody());
  GroupOp group;
  if (random() % 3 == 0) {
    SmallVector<Attribute> pairs; // the first with the last, ...
    for (int64_t rank = 0, count = grid.deviceCount(); rank < count / 2; ++rank)
      pairs.push_back(builder.getDenseI64ArrayAttr({rank, count - 1 - rank}));
    group = GroupOp::create(at, op.getLoc(), builder.getStringAttr("other_group"), nullptr, nullptr,
                            builder.getArrayAttr(pairs));
  } else {
    StringAttr axis = pick(grid.getNames());
    group = GroupOp::create(at, op.getLoc(), builder.getStringAttr("other_group"), builder.getArrayAttr({axis}),
                            nullptr, nullptr);
  }
  op.setGroupAttr(FlatSymbolRefAttr::get(group.getSymNameAttr()));
  return "over " + describe(group) + " is " + was;
}

/// Two sends, or two receives, change messages and micro-batches.
std::optional<std::string> TimeMutation::swapMessages() {
  bool ofSends = random() % 2;
  auto ends = actionsWhere([&](Operation *action) { return ofSends ? isa<SendOp>(action) : isa<ReceiveOp>(action); });
  if (ends.size() < 2)
    return std::nullopt;
  Operation *first = pick(ends), *second = pick(ends);
  if (first == second)
    return std::nullopt;
  std::string what = "exchanged messages: " + describe(first) + " and " + describe(second);
  for (StringRef key : {"message", "micro_batch"}) {
    Attribute own = first->getAttr(key);
    first->setAttr(key, second->getAttr(key));
    second->setAttr(key, own);
  }
  return what;
}

/// Swaps two actions in the list, or moves one up; a token's producer stays before its consumers.
std::optional<std::string> TimeMutation::changeOrder() {
  if (random() % 4 == 0)
    return swapMessages();
  auto all = actionsWhere([](Operation *) { return true; });
  if (all.size() < 2)
    return std::nullopt;
  size_t last = 1 + random() % (all.size() - 1);
  Operation *action = all[last];
  size_t earliest = 0;
  for (size_t i = 0; i < last; ++i)
    if (llvm::is_contained(action->getUsers(), all[i]) ||
        llvm::any_of(action->getOperands(), [&](Value token) { return token.getDefiningOp() == all[i]; }))
      earliest = i + 1;
  if (earliest == last)
    return std::nullopt;
  size_t to = earliest + random() % (last - earliest);
  std::string what = "before " + describe(all[to]) + " comes " + describe(action);
  action->moveBefore(all[to]);
  return what;
}

/// Waits for another completion event of the same run.
std::optional<std::string> TimeMutation::changeEarlyToken() {
  auto isEarly = [](Value token) { return token != token.getDefiningOp()->getResults().back(); };
  auto waiting = actionsWhere([&](Operation *action) { return llvm::any_of(action->getOperands(), isEarly); });
  if (waiting.empty())
    return std::nullopt;
  Operation *action = pick(waiting);
  size_t number = llvm::find_if(action->getOperands(), isEarly) - action->operand_begin();
  auto old = cast<OpResult>(action->getOperand(number));
  Value other = old.getOwner()->getResult(random() % (old.getOwner()->getNumResults() - 1));
  if (other == old)
    return std::nullopt;
  std::string what = "another completion event in " + describe(action);
  action->setOperand(number, other);
  return what;
}

/// The code says earlier, or later, that it has finished with buffers, or two say what the other one does.
std::optional<std::string> TimeMutation::moveReach(func::FuncOp code) {
  SmallVector<ReachOp> reaches(code.getOps<ReachOp>());
  if (reaches.empty())
    return std::nullopt;
  ReachOp reach = pick(reaches), other = pick(reaches);
  std::string what = "in @" + code.getSymName().str() + " ";
  if (random() % 3 == 0) {
    if (reach == other)
      return std::nullopt;
    uint64_t entry = reach.getEntry();
    what += "exchanged entries: " + describe(reach) + " and " + describe(other);
    reach.setEntry(other.getEntry());
    other.setEntry(entry);
    return what;
  }
  SmallVector<Operation *> ops;
  for (Operation &op : code.front())
    ops.push_back(&op);
  Operation *to = pick(ops);
  if (to == reach || to == reach->getNextNode())
    return std::nullopt;
  what += "before " + describe(to) + " comes " + describe(reach);
  if (to->isBeforeInBlock(reach)) // values that are not there yet are left out
    reach.getValuesMutable().assign(llvm::filter_to_vector(reach.getValues(), [&](Value value) {
      return !value.getDefiningOp() || value.getDefiningOp()->isBeforeInBlock(to);
    }));
  reach->moveBefore(to);
  return what;
}

/// An entry covers one buffer more, one that another entry had where there is one.
std::optional<std::string> TimeMutation::moveEarlyBuffer(RoutineOp routine, func::FuncOp code) {
  SmallVector<SmallVector<Attribute>> entries;
  for (Attribute entry : routine.getEarlyAttr())
    entries.emplace_back(cast<ArrayAttr>(entry).getValue());
  size_t written = random() % routine.getWrites().size(), entry = random() % entries.size();
  Attribute buffer = routine.getWrites()[written];
  Value value = code.front().getTerminator()->getOperand(written);
  if (llvm::is_contained(entries[entry], buffer))
    return std::nullopt;
  for (SmallVector<Attribute> &others : entries)
    llvm::erase(others, buffer);
  entries[entry].push_back(buffer);
  for (auto reach : code.getOps<ReachOp>()) {
    SmallVector<Value> values(reach.getValues());
    llvm::erase(values, value);
    bool isMade = !value.getDefiningOp() || value.getDefiningOp()->isBeforeInBlock(reach);
    if (reach.getEntry() == entry && isMade)
      values.push_back(value);
    reach.getValuesMutable().assign(values);
  }
  routine.setEarlyAttr(builder.getArrayAttr(
      llvm::map_to_vector(entries, [&](ArrayRef<Attribute> list) -> Attribute { return builder.getArrayAttr(list); })));
  return describe(routine) + " covers more";
}

std::optional<std::string> TimeMutation::changeEarly() {
  if (random() % 3 == 0)
    return changeEarlyToken();
  SmallVector<RoutineOp> routines;
  for (auto routine : device.getBody().front().getOps<RoutineOp>())
    if (routine.getEarly())
      routines.push_back(routine);
  if (routines.empty())
    return std::nullopt;
  RoutineOp routine = pick(routines);
  auto code = module.lookupSymbol<func::FuncOp>(routine.getCode());
  return random() % 2 ? moveReach(code) : moveEarlyBuffer(routine, code);
}

} // namespace

std::optional<std::string> mutateTime(ModuleOp module, StringRef kind, Random &random) {
  return TimeMutation(module, random).run(kind);
}

} // namespace mlir::ppc::test
