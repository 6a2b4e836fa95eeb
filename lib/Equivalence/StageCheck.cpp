// Buffers, slots, messages and running sums of all stages, through the actions of one step.
#include "StageCheck.h"

namespace mlir::ppc {

static int64_t number(DictionaryAttr fields, StringRef key) {
  auto value = fields.getAs<IntegerAttr>(key);
  return value ? value.getInt() : -1;
}
static StringRef text(DictionaryAttr fields, StringRef key) {
  auto value = fields.getAs<StringAttr>(key);
  return value ? value.getValue() : StringRef();
}
static bool isInSlot(DictionaryAttr buffer) { return text(buffer, "space") == "slot"; }
static bool isSum(DictionaryAttr buffer) { return text(buffer, "role") == "accumulator" || text(buffer, "role") == "gradient"; }

/// The name of what a buffer holds at the start or the end of a step, as in StepInterface.
static std::string nameOf(DictionaryAttr buffer) {
  StringRef role = text(buffer, "role"), name = text(buffer, "name");
  if (role == "state")
    return (text(buffer, "state") + " of " + name).str();
  if (role == "gradient")
    return ("gradient of " + name).str();
  return role == "metric" ? name.str() : name.empty() ? role.str() : (role + " " + name).str();
}

std::string StageCheck::describeBuffer(size_t stage, int64_t buffer) const {
  return "buffer " + std::to_string(buffer) + " (" + nameOf(stages[stage].buffers[buffer]) + ")";
}

StageCheck::Content *StageCheck::content(size_t stage, int64_t buffer, int64_t microBatch) {
  Stage &self = stages[stage];
  if (buffer < 0 || buffer >= int64_t(self.buffers.size()))
    return nullptr;
  if (!isInSlot(self.buffers[buffer]))
    return &self.arena[buffer];
  return &self.slots[microBatch % self.slots.size()][buffer];
}

LogicalResult StageCheck::read() {
  for (auto [index, fields] : llvm::enumerate(module->getAttrOfType<ArrayAttr>("ppc.stages").getAsRange<DictionaryAttr>())) {
    Stage &stage = stages.emplace_back();
    auto buffers = fields.getAs<ArrayAttr>("buffers"), actions = fields.getAs<ArrayAttr>("actions");
    auto functions = fields.getAs<DictionaryAttr>("functions");
    if (!buffers || !actions || !functions || number(fields, "slots") < 1)
      return error(index) << "has no buffers, functions, slots or actions: run ppc-apply-schedule first";
    stage.buffers = llvm::to_vector(buffers.getAsRange<DictionaryAttr>());
    stage.actions = llvm::to_vector(actions.getAsRange<DictionaryAttr>());
    stage.arena.resize(stage.buffers.size());
    stage.slots.assign(number(fields, "slots"), std::vector<Content>(stage.buffers.size()));
    for (NamedAttribute entry : functions)
      if (failed(readFunction(index, entry.getName(), cast<DictionaryAttr>(entry.getValue()))))
        return failure();
    if (failed(initialize(index)))
      return failure();
  }
  return success();
}

LogicalResult StageCheck::readFunction(size_t stage, StringRef action, DictionaryAttr entry) {
  Function &function = stages[stage].functions[action.str()];
  function.op = module.lookupSymbol<func::FuncOp>(text(entry, "entry"));
  if (!function.op || function.op.isExternal() || !function.op.getBody().hasOneBlock())
    return error(stage) << "its " << action << " is no function with one block";
  auto buffer = [](IntegerAttr index) { return index ? index.getInt() : -1; };
  for (unsigned i = 0; i < function.op.getNumArguments(); ++i)
    function.arguments.push_back(buffer(function.op.getArgAttrOfType<IntegerAttr>(i, "ppc.buffer")));
  for (unsigned i = 0; i < function.op.getNumResults(); ++i)
    function.results.push_back(buffer(function.op.getResultAttrOfType<IntegerAttr>(i, "ppc.buffer")));
  SmallVector<int64_t> called(function.arguments); // what the runtime calls it with
  for (int64_t result : function.results)
    if (!llvm::is_contained(function.arguments, result))
      called.push_back(result);
  auto bound = entry.getAs<DenseI64ArrayAttr>("buffers");
  if (!bound || bound.asArrayRef() != ArrayRef(called))
    return error(stage) << "its " << action << " is called with other buffers than its arguments and results are bound to";
  for (auto [list, types] : {std::pair(&function.arguments, function.op.getArgumentTypes()),
                             std::pair(&function.results, function.op.getResultTypes())})
    for (auto [index, type] : llvm::zip_equal(*list, types)) {
      if (index < 0 || index >= int64_t(stages[stage].buffers.size()))
        return error(stage) << "its " << action << " is bound to a buffer that does not exist";
      auto bufferType = stages[stage].buffers[index].getAs<TypeAttr>("type");
      if (!bufferType || bufferType.getValue() != type)
        return error(stage) << "its " << action << " is bound to buffer " << index << " of another type";
    }
  return success();
}

/// Parameters, states and scalars are there at the start of a step, sums are zero.
LogicalResult StageCheck::initialize(size_t stage) {
  const RankAxes &axes = derivation.axes;
  for (auto [index, buffer] : llvm::enumerate(stages[stage].buffers)) {
    Content &content = stages[stage].arena[index];
    StringRef role = text(buffer, "role");
    content.isSet = content.isSum = isSum(buffer);
    if (role != "parameter" && role != "state" && role != "scalar")
      continue;
    auto found = interface.inputs.find(nameOf(buffer));
    if (found == interface.inputs.end())
      return error(stage) << "buffer " << index << " is to hold " << nameOf(buffer) << ", which the logical program does not take";
    auto sharding = buffer.getAs<ShardingAttr>("sharding");
    FailureOr<Relation> relation = axes.declared(found->second.term, found->second.type, sharding);
    auto type = buffer.getAs<TypeAttr>("type");
    if (failed(relation) || !type || (sharding ? sharding.localType(found->second.type, axes.grid) : found->second.type) != type.getValue())
      return error(stage) << describeBuffer(stage, index) << " is no block of " << found->second.type << " as it is declared";
    content.isSet = true;
    content.relation = *relation;
  }
  return success();
}

/// Inputs are read, everything else of the slot is gone.
LogicalResult StageCheck::beginMicroBatch(size_t stage, int64_t microBatch) {
  if (!stages[stage].begun.insert(microBatch).second)
    return success();
  if (microBatch < 0 || microBatch >= interface.microBatches)
    return error(stage) << "works on micro-batch " << microBatch << " of " << interface.microBatches;
  for (auto [index, buffer] : llvm::enumerate(stages[stage].buffers)) {
    if (!isInSlot(buffer))
      continue;
    Content &content = *this->content(stage, index, microBatch);
    content = Content();
    if (text(buffer, "role") != "input")
      continue;
    auto found = interface.microBatch.find(nameOf(buffer));
    auto sharding = buffer.getAs<ShardingAttr>("sharding");
    if (found == interface.microBatch.end())
      return error(stage) << describeBuffer(stage, index) << " is no input of the logical program's micro-batches";
    FailureOr<Relation> relation = derivation.axes.declared(found->second.term, found->second.type, sharding);
    RankedTensorType local = sharding ? sharding.localType(found->second.type, derivation.axes.grid) : found->second.type;
    if (failed(relation) || local != buffer.getAs<TypeAttr>("type").getValue())
      return error(stage) << describeBuffer(stage, index) << " is no block of " << found->second.type << " as it is declared";
    content.isSet = true;
    content.relation = *relation;
    content.microBatch = microBatch;
  }
  return success();
}

LogicalResult StageCheck::prepare() {
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    auto function = stages[stage].functions.find("prepare");
    if (function == stages[stage].functions.end())
      continue;
    for (ArrayRef<int64_t> list : {ArrayRef(function->second.arguments), ArrayRef(function->second.results)})
      for (int64_t buffer : list)
        if (isInSlot(stages[stage].buffers[buffer]))
          return error(stage) << "its prepare uses " << describeBuffer(stage, buffer) << ", which belongs to a micro-batch";
    if (failed(call(stage, function->second, -1)))
      return failure();
  }
  return success();
}

LogicalResult StageCheck::followActions() {
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t stage = 0; stage < stages.size(); ++stage)
      while (stages[stage].next < stages[stage].actions.size()) {
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
  for (auto [index, stage] : llvm::enumerate(stages))
    if (stage.next < stage.actions.size())
      return error(index) << "waits for ever at its action " << stage.next << ", " << stage.actions[stage.next];
  if (!messages.empty()) {
    auto [from, to, tag, microBatch] = messages.begin()->first;
    return error(from) << "message " << tag << " of micro-batch " << microBatch << " to stage " << to << " is never received";
  }
  return success();
}

FailureOr<bool> StageCheck::perform(size_t stage) {
  DictionaryAttr action = stages[stage].actions[stages[stage].next];
  int64_t microBatch = number(action, "micro_batch");
  StringRef what = text(action, "do");
  if (failed(beginMicroBatch(stage, microBatch)))
    return failure();
  if (what != "send" && what != "receive") {
    auto function = stages[stage].functions.find(what.str());
    if (function == stages[stage].functions.end() || what == "update" || what == "prepare" ||
        what == "evaluate")
      return error(stage) << "is to do " << what << ", which it has no function for", failure();
    if (failed(call(stage, function->second, microBatch)))
      return failure();
    return true;
  }
  int64_t peer = number(action, "stage"), tag = number(action, "tag"), buffer = number(action, "buffer");
  Content *memory = content(stage, buffer, microBatch);
  if (!memory || peer < 0 || peer >= int64_t(stages.size()))
    return error(stage) << "has a message with a buffer or stage that does not exist: " << action, failure();
  if (what == "send") {
    if (!memory->isSet || memory->isSum)
      return error(stage) << "sends " << describeBuffer(stage, buffer) << " of micro-batch " << microBatch << ", in which nothing is yet",
             failure();
    if (!messages.insert({{stage, peer, tag, microBatch}, *memory}).second)
      return error(stage) << "sends message " << tag << " of micro-batch " << microBatch << " twice", failure();
    return true;
  }
  auto message = messages.find({peer, stage, tag, microBatch});
  if (message == messages.end())
    return false;
  *memory = std::move(message->second);
  messages.erase(message);
  return true;
}

FailureOr<Known> StageCheck::argument(size_t stage, Function &function, unsigned number, int64_t microBatch) {
  int64_t buffer = function.arguments[number];
  Content &memory = *content(stage, buffer, microBatch);
  auto fail = [&] {
    return function.op.emitOpError() << "stage " << stage << ": reads " << describeBuffer(stage, buffer)
                                     << (microBatch < 0 ? std::string() : " for micro-batch " + std::to_string(microBatch));
  };
  if (!memory.isSet)
    return fail() << ", in which nothing is yet", failure();
  if (memory.isSum) {
    Known known;
    known.accumulator = buffer;
    return known;
  }
  if (memory.microBatch >= 0 && memory.microBatch != microBatch)
    return fail() << ", which holds that of micro-batch " << memory.microBatch << ": " << describe(memory.relation, derivation.terms), failure();
  RankedTensorType type = tensorType(function.op.getArgument(number));
  const Term &term = derivation.terms[memory.relation.term];
  bool fits = term.element == type.getElementType() && term.shape.size() == size_t(type.getRank());
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = term.shape[dim] == kAnyExtent || derivation.axes.localSize(term.shape[dim], memory.relation.cuts[dim].axes) == type.getDimSize(dim);
  if (!fits)
    return fail() << " as " << type << ", but it holds " << describe(memory.relation, derivation.terms), failure();
  return Known(memory.relation);
}

LogicalResult StageCheck::store(size_t stage, Function &function, unsigned number, const Known &known, int64_t microBatch) {
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
  // Micro-batches are alike: what was found for one holds for the next with the same arguments.
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

/// Every addend must have come once from every micro-batch.
LogicalResult StageCheck::completeSums(size_t stage) {
  TermTable &terms = derivation.terms;
  for (auto [index, memory] : llvm::enumerate(stages[stage].arena)) {
    if (!memory.isSum)
      continue;
    Relation sum;
    SmallVector<Addend> addends;
    for (auto &[relation, microBatches] : memory.added) {
      SmallVector<int64_t> sorted(microBatches);
      llvm::sort(sorted);
      if (!llvm::equal(sorted, llvm::seq<int64_t>(interface.microBatches))) {
        InFlightDiagnostic diagnostic = error(stage) << describeBuffer(stage, index) << " adds up micro-batches ";
        llvm::interleaveComma(sorted, diagnostic);
        return diagnostic << " of " << describe(relation, terms) << ", expected each of " << interface.microBatches << " once";
      }
      if (addends.empty())
        sum = relation;
      else if (sum.cuts != relation.cuts || sum.pending != relation.pending)
        return error(stage) << describeBuffer(stage, index) << " adds up values that lie differently: " << describe(sum, terms) << "; "
                            << describe(relation, terms);
      addends.push_back({terms.accumulated(relation.term, interface.microBatches), 1});
    }
    memory.isSum = false;
    memory.isSet = !addends.empty();
    if (addends.empty())
      continue;
    const Term term = terms[sum.term];
    sum.term = terms.combination(addends, term.shape, term.element);
    memory.relation = sum;
  }
  return success();
}

} // namespace mlir::ppc
