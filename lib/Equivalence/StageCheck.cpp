// Buffers, slots, messages and running sums of all stages, through the actions of one step.
#include "StageCheck.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::ppc {

using namespace ppcrt;

std::string StageCheck::describeBuffer(size_t stage, int64_t buffer) const {
  BufferOp op = stages[stage].buffers[buffer];
  return "buffer @" + op.getSymName().str() + " (" + op.describe() + ")";
}

StageCheck::Content *StageCheck::content(size_t stage, int64_t buffer, int64_t microBatch) {
  BufferOp op = stages[stage].buffers[buffer];
  FlatSymbolRefAttr shared = op.getSharesAttr();
  std::vector<Content> &slots =
      stages[stage].contents[shared ? stages[stage].bufferByName.lookup(shared.getAttr()) : buffer];
  return &slots[slots.size() == 1 ? 0 : op.slotOf(microBatch)];
}

LogicalResult StageCheck::read() {
  symbols = std::make_unique<ProgramSymbols>(program);
  if (int64_t(program.getMicroBatches()) != interface.microBatches)
    return program.emitOpError() << "has " << program.getMicroBatches() << " micro-batches, the logical program "
                                 << interface.microBatches;
  for (auto [index, device] : llvm::enumerate(program.getDevices())) {
    Stage &stage = stages.emplace_back();
    stage.device = device;
    if (!device.getStep())
      return error(index) << "has no step: run ppc-apply-schedule first";
    if (last == RoutineKind::Evaluate && !device.getEvaluate())
      return error(index) << "has no evaluation, which another device has";
    Block &actions =
        last == RoutineKind::Update ? device.getStep().getBody().front() : device.getEvaluate().getBody().front();
    stage.next = actions.begin();
    stage.end = actions.end();
    for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
      stage.bufferByName[buffer.getSymNameAttr()] = stage.buffers.size();
      stage.buffers.push_back(buffer);
      stage.contents.emplace_back(buffer.getSlotCount());
    }
    for (auto routine : device.getBody().front().getOps<RoutineOp>())
      if (failed(readFunction(index, routine)))
        return failure();
    if (failed(initialize(index)))
      return failure();
  }
  return success();
}

LogicalResult StageCheck::readFunction(size_t stage, RoutineOp routine) {
  Stage &self = stages[stage];
  Function &function = self.functions[routine.getSymNameAttr()];
  function.kind = routine.getKind();
  function.op =
      dyn_cast_or_null<func::FuncOp>(SymbolTable::lookupSymbolIn(program->getParentOp(), routine.getCodeAttr()));
  if (!function.op || function.op.isExternal() || !function.op.getBody().hasOneBlock())
    return error(stage) << "its " << stringifyRoutineKind(function.kind) << " is not a function with one block";
  for (auto [names, list, types] : {std::tuple(routine.getReads(), &function.arguments, function.op.getArgumentTypes()),
                                    std::tuple(routine.getWrites(), &function.results, function.op.getResultTypes())}) {
    if (names.size() != types.size())
      return error(stage) << "its " << stringifyRoutineKind(function.kind)
                          << " is called with other buffers than its code takes";
    for (auto [name, type] : llvm::zip_equal(names.getAsRange<FlatSymbolRefAttr>(), types)) {
      auto found = self.bufferByName.find(name.getAttr());
      if (found == self.bufferByName.end() || self.buffers[found->second].getTensorType() != type)
        return error(stage) << "its " << stringifyRoutineKind(function.kind) << " is bound to " << name
                            << ", which is not a buffer of type " << type;
      list->push_back(found->second);
    }
  }
  return success();
}

StageCheck::Function *StageCheck::functionOf(size_t stage, Operation *action) {
  auto run = dyn_cast<RunOp>(action);
  auto found = run ? stages[stage].functions.find(run.getRoutineAttr().getAttr()) : stages[stage].functions.end();
  return found == stages[stage].functions.end() ? nullptr : &found->second;
}

StageCheck::Function *StageCheck::functionOf(size_t stage, RoutineKind kind) {
  if (Function *own =
          kind == last && stages[stage].next != stages[stage].end ? functionOf(stage, &*stages[stage].next) : nullptr)
    return own;
  RoutineOp routine = stages[stage].device.routine(kind);
  return routine ? &stages[stage].functions[routine.getSymNameAttr()] : nullptr;
}

/// Sets contents at the start of a step: parameters, states and scalars hold values, sums are zero.
LogicalResult StageCheck::initialize(size_t stage) {
  const RankAxes &axes = derivation.axes;
  for (auto [index, op] : llvm::enumerate(stages[stage].buffers)) {
    BufferOp buffer = op;
    Content &content = stages[stage].contents[index].front();
    content.isSet = content.isSum = buffer.isSum();
    if (!llvm::is_contained({BufferRole::Parameter, BufferRole::State, BufferRole::Scalar}, buffer.getRole()))
      continue;
    auto found = interface.inputs.find(buffer.describe());
    if (found == interface.inputs.end())
      return error(stage) << describeBuffer(stage, index)
                          << " is declared to hold a value that is not an argument of the logical program";
    ShardingAttr sharding = buffer.getShardingAttr();
    FailureOr<Relation> relation = axes.declared(found->second.term, found->second.type, sharding);
    if (failed(relation) ||
        (sharding ? sharding.localType(found->second.type, axes.grid) : found->second.type) != buffer.getTensorType())
      return error(stage) << describeBuffer(stage, index) << " is not a block of " << found->second.type
                          << " as it is declared";
    content.isSet = true;
    content.relation = *relation;
  }
  return success();
}

/// Inputs are read into their slots.
LogicalResult StageCheck::load(size_t stage, int64_t microBatch) {
  for (auto [index, op] : llvm::enumerate(stages[stage].buffers)) {
    BufferOp buffer = op;
    if (buffer.getRole() != BufferRole::Input)
      continue;
    auto found = interface.microBatch.find(buffer.describe());
    ShardingAttr sharding = buffer.getShardingAttr();
    if (found == interface.microBatch.end())
      return error(stage) << describeBuffer(stage, index) << " is not an input of the logical program's micro-batches";
    FailureOr<Relation> relation = derivation.axes.declared(found->second.term, found->second.type, sharding);
    RankedTensorType local =
        sharding ? sharding.localType(found->second.type, derivation.axes.grid) : found->second.type;
    if (failed(relation) || local != buffer.getTensorType())
      return error(stage) << describeBuffer(stage, index) << " is not a block of " << found->second.type
                          << " as it is declared";
    Content &content = *this->content(stage, index, microBatch);
    content = Content();
    content.isSet = true;
    content.relation = *relation;
    content.microBatch = microBatch;
  }
  return success();
}

LogicalResult StageCheck::followActions(bool isBehind) {
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t stage = 0; stage < stages.size(); ++stage)
      while (stages[stage].next != stages[stage].end) {
        // The last routines of all stages run together; actions after the update follow.
        if (Function *own = functionOf(stage, &*stages[stage].next); !isBehind && own && own->kind == last)
          break;
        FailureOr<bool> done = perform(stage);
        if (failed(done))
          return failure();
        if (!*done)
          break;
        ++stages[stage].next;
        ++report->actions;
        progress = true;
      }
  }
  if (!isBehind)
    return checkStandAtLast();
  for (auto [index, stage] : llvm::enumerate(stages))
    if (stage.next != stage.end)
      return stage.next->emitOpError() << "stage " << index << ": deadlocks";
  return success();
}

LogicalResult StageCheck::checkStandAtLast() {
  for (auto [index, stage] : llvm::enumerate(stages)) {
    if (stage.next == stage.end)
      return error(index) << "does not " << stringifyRoutineKind(last);
    Function *own = functionOf(index, &*stage.next);
    if (!own || own->kind != last)
      return stage.next->emitOpError() << "stage " << index << ": deadlocks";
    for (Operation &behind : llvm::make_range(std::next(stage.next), stage.end)) {
      Function *later = functionOf(index, &behind);
      bool ofUpdate = last == RoutineKind::Update && (isa<CopyOp>(behind) || (later && later->kind == last));
      if (!ofUpdate)
        return behind.emitOpError() << "stage " << index << ": comes after the "
                                    << (last == RoutineKind::Update ? "update" : "end of the evaluation");
    }
  }
  if (!messages.empty()) {
    StringAttr name = StringAttr::getFromOpaquePointer(messages.begin()->first.first);
    return symbols->message(name).emitOpError()
           << "of micro-batch " << messages.begin()->first.second << " is never received";
  }
  return success();
}

LogicalResult StageCheck::send(size_t stage, MessageOp message, int64_t microBatch, Operation *action) {
  BufferOp from = message ? symbols->sent(message) : BufferOp();
  if (!from || from->getParentOp() != stages[stage].device)
    return action->emitOpError() << "stage " << stage << ": sends a message that is not from its device";
  int64_t buffer = stages[stage].bufferByName.lookup(from.getSymNameAttr());
  const Content &memory = *content(stage, buffer, microBatch);
  if (!memory.isSet || memory.isSum)
    return action->emitOpError() << "stage " << stage << ": sends " << describeBuffer(stage, buffer)
                                 << " of micro-batch " << microBatch << ", which is empty at this point";
  if (!messages.insert({{message.getSymNameAttr().getAsOpaquePointer(), microBatch}, memory}).second)
    return action->emitOpError() << "stage " << stage << ": sends a message of micro-batch " << microBatch << " twice";
  return success();
}

FailureOr<bool> StageCheck::receive(size_t stage, MessageOp message, int64_t microBatch, Operation *action) {
  BufferOp to = message ? symbols->received(message) : BufferOp();
  if (!to || to->getParentOp() != stages[stage].device)
    return action->emitOpError() << "stage " << stage << ": receives a message that is not to its device", failure();
  auto found = messages.find({message.getSymNameAttr().getAsOpaquePointer(), microBatch});
  if (found == messages.end())
    return false;
  *content(stage, stages[stage].bufferByName.lookup(to.getSymNameAttr()), microBatch) = std::move(found->second);
  messages.erase(found);
  return true;
}

FailureOr<bool> StageCheck::perform(size_t stage) {
  Operation *action = &*stages[stage].next;
  auto checked = [&](int64_t microBatch) -> LogicalResult {
    if (microBatch < 0 || microBatch >= interface.microBatches)
      return action->emitOpError() << "stage " << stage << ": works on micro-batch " << microBatch << " of "
                                   << interface.microBatches;
    return success();
  };
  if (auto load = dyn_cast<LoadOp>(action)) {
    if (failed(checked(load.getMicroBatch())) || failed(this->load(stage, load.getMicroBatch())))
      return failure();
    return true;
  }
  if (auto send = dyn_cast<SendOp>(action)) {
    if (failed(checked(send.getMicroBatch())) ||
        failed(this->send(stage, symbols->message(send.getMessageAttr().getAttr()), send.getMicroBatch(), action)))
      return failure();
    return true;
  }
  if (auto receive = dyn_cast<ReceiveOp>(action)) {
    if (failed(checked(receive.getMicroBatch())))
      return failure();
    return this->receive(stage, symbols->message(receive.getMessageAttr().getAttr()), receive.getMicroBatch(), action);
  }
  auto run = dyn_cast<RunOp>(action);
  if (!run)
    return transfer(stage, action);
  Function *function = functionOf(stage, action);
  if (!function || function->kind == RoutineKind::Evaluate ||
      (function->kind == RoutineKind::Update && function->kind != last))
    return action->emitOpError() << "stage " << stage << ": runs a routine that does not belong to a step", failure();
  if (isOfStep(function->kind) == run.getMicroBatch().has_value())
    return action->emitOpError() << "stage " << stage << ": "
                                 << (run.getMicroBatch() ? "gives a micro-batch to a routine of the whole step"
                                                         : "gives no micro-batch to a routine that needs one"),
           failure();
  if (run.getMicroBatch() && failed(checked(*run.getMicroBatch())))
    return failure();
  if (failed(call(stage, *function, run.getMicroBatch().value_or(-1))))
    return failure();
  return true;
}

FailureOr<Known> StageCheck::argument(size_t stage, Function &function, unsigned number, int64_t microBatch) {
  int64_t buffer = function.arguments[number];
  Content &memory = *content(stage, buffer, microBatch);
  auto fail = [&] {
    return function.op.emitOpError() << "stage " << stage << ": reads " << describeBuffer(stage, buffer)
                                     << (microBatch < 0 ? std::string()
                                                        : " for micro-batch " + std::to_string(microBatch));
  };
  if (!memory.isSet)
    return fail() << ", which is empty at this point", failure();
  if (memory.isSum) {
    Known known;
    known.accumulator = buffer;
    return known;
  }
  if (memory.microBatch >= 0 && memory.microBatch != microBatch)
    return fail() << ", which holds the value of micro-batch " << memory.microBatch << ": "
                  << describe(memory.relation, derivation.terms),
           failure();
  RankedTensorType type = tensorType(function.op.getArgument(number));
  const Term &term = derivation.terms[memory.relation.term];
  bool fits = term.element == type.getElementType() && term.shape.size() == size_t(type.getRank());
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    if (int64_t extent = extentOf(memory.relation, dim, derivation.terms); extent != kAnyExtent)
      fits = derivation.axes.localSize(extent, memory.relation.cuts[dim].axes) == type.getDimSize(dim);
  if (!fits)
    return fail() << " as " << type << ", but it holds " << describe(memory.relation, derivation.terms), failure();
  return Known(memory.relation);
}

LogicalResult StageCheck::store(size_t stage, Function &function, unsigned number, const Known &known,
                                int64_t microBatch) {
  int64_t buffer = function.results[number];
  Content &memory = *content(stage, buffer, microBatch);
  auto fail = [&] {
    return function.op.emitOpError() << "stage " << stage << ": writes to " << describeBuffer(stage, buffer) << " ";
  };
  if (known.accumulator < 0) {
    if (memory.isSum && microBatch >= 0)
      return fail() << "the value of one micro-batch, which drops what the others added";
    memory = Content();
    memory.isSet = true;
    memory.relation = known.relation;
    memory.microBatch = microBatch;
    return success();
  }
  if (known.accumulator != buffer)
    return fail() << "the running sum of " << describeBuffer(stage, known.accumulator);
  for (const Relation &added : known.added) {
    auto entry = llvm::find_if(memory.added, [&](auto &known) { return known.first == added; });
    if (entry == memory.added.end())
      entry = memory.added.insert(memory.added.end(), {added, {}});
    entry->second.push_back(microBatch);
  }
  return success();
}

LogicalResult StageCheck::call(size_t stage, Function &function, int64_t microBatch) {
  std::vector<Known> arguments;
  for (unsigned i = 0; i < function.arguments.size(); ++i) {
    FailureOr<Known> known = argument(stage, function, i, microBatch);
    if (failed(known))
      return failure();
    arguments.push_back(std::move(*known));
  }
  // Micro-batches are alike: the outcome of one holds for the next with the same arguments.
  auto outcome = llvm::find_if(function.outcomes, [&](const Outcome &known) { return known.arguments == arguments; });
  if (outcome == function.outcomes.end()) {
    FunctionWalk walk(derivation, function.op, "stage " + std::to_string(stage) + ": ");
    for (auto [value, known] : llvm::zip_equal(function.op.getArguments(), arguments))
      walk.define(value, known);
    if (failed(walk.run()))
      return failure();
    if (walk.waitsAt())
      return walk.error(walk.waitsAt()) << "reduces over stages in the work of one micro-batch";
    report->localOps += walk.opCount;
    outcome = function.outcomes.insert(function.outcomes.end(), Outcome{std::move(arguments), walk.results()});
  }
  for (auto [index, known] : llvm::enumerate(outcome->results))
    if (failed(store(stage, function, index, known, microBatch)))
      return failure();
  return success();
}

/// Whether any number of local values of `x` sum to zero: all ranks of a stage add equally often, so that over the
/// ranks for which it is partial the sum stays a sum of zeros. A partial maximum of zero does not imply this.
static bool staysZero(const Relation &x, const TermTable &terms) {
  return terms.isZero(x.term) && llvm::all_of(x.pending, [](auto &entry) { return entry.second == Combiner::Sum; });
}

/// Every addend must have come equally often from every micro-batch, but zero.
LogicalResult StageCheck::completeSums(size_t stage) {
  for (size_t buffer = 0; buffer < stages[stage].buffers.size(); ++buffer)
    if (failed(completeSum(stage, buffer)))
      return failure();
  return success();
}

LogicalResult StageCheck::completeSum(size_t stage, int64_t buffer) {
  TermTable &terms = derivation.terms;
  Content &memory = stages[stage].contents[buffer].front();
  if (!memory.isSum)
    return success();
  SmallVector<Relation> sums;
  for (auto &[relation, microBatches] : memory.added) {
    SmallVector<int64_t> sorted(microBatches);
    llvm::sort(sorted);
    SmallVector<int64_t> some(sorted);
    some.erase(llvm::unique(some), some.end());
    // Slices of a sequence may each add an equal value.
    int64_t times = int64_t(sorted.size() / some.size());
    bool isEven = llvm::all_of(some, [&](int64_t number) { return llvm::count(sorted, number) == times; });
    bool isWhole = isEven && llvm::equal(some, llvm::seq<int64_t>(interface.microBatches));
    bool isPart = isEven && program.getCopies() > 1;
    if (staysZero(relation, terms)) {
      sums.push_back(relation);
      continue;
    }
    if (!isWhole && !isPart) {
      InFlightDiagnostic diagnostic = error(stage) << describeBuffer(stage, buffer) << " adds up micro-batches ";
      llvm::interleaveComma(sorted, diagnostic);
      return diagnostic << " of " << describe(relation, terms) << ", expected each of " << interface.microBatches
                        << " equally often";
    }
    sums.push_back(relation);
    TermId sum = isWhole ? terms.accumulated(relation.term, interface.microBatches)
                         : terms.accumulated(relation.term, some, interface.microBatches);
    sums.back().term = terms.scaled(sum, double(times));
  }
  memory.isSum = false;
  memory.isSet = !sums.empty();
  if (sums.empty())
    return success();
  Derived sum = derivation.sumOf(std::move(sums));
  if (sum.failed())
    return error(stage) << describeBuffer(stage, buffer) << " " << sum.error;
  memory.relation = sum.results.front();
  return success();
}

} // namespace mlir::ppc
