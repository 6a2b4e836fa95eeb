// Cuts a partitioned step into functions per stage and action. Values that cross functions become buffers, values that
// cross stages messages.
#include "StageProgram.h"
#include "ppc/Transforms/Pipeline/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "ppc/Transforms/Pipeline/Passes.h.inc"

namespace {

/// Where an op of a micro-batch runs.
struct Site {
  int64_t stage;
  Action action;
  bool operator==(const Site &other) const { return stage == other.stage && action == other.action; }
  /// Whether every schedule has done the work here before that of the same micro-batch at `user`: forwards go up the
  /// stages, backwards down, and a weight gradient runs some time after its own stage's backward.
  bool precedes(const Site &user) const {
    if (action == Action::Prepare)
      return stage == user.stage;
    if (action == Action::WeightGradient)
      return *this == user;
    if (action == Action::Forward)
      return user.action != Action::Forward || stage <= user.stage;
    return user.action != Action::Forward && stage >= user.stage;
  }
  std::string str() const { return (toString(action) + " of stage " + Twine(stage)).str(); }
};

class StepSplitter {
public:
  StepSplitter(StepSplit &split, bool splitWeightGradient) : split(split), splitWeightGradient(splitWeightGradient) {}

  LogicalResult run();

private:
  FailureOr<Site> siteOf(Operation *op);
  /// Clones the op to where it runs.
  LogicalResult cloneTo(Operation *op, Site site);
  /// Makes `value` of @step available at `site`.
  FailureOr<Value> materialize(Value value, Site site, Operation *user);
  /// The buffer in which `value`, made by a micro-batch at `from`, lies on its own stage.
  int64_t ownBuffer(Value value, Site from);
  int64_t orderOf(Value value);
  /// The buffer on `to`'s stage that receives `value`.
  int64_t receivedBuffer(Value value, Site from, Site to);
  LogicalResult cloneBody();
  LogicalResult addAccumulators();
  LogicalResult inputBuffer(int64_t stage, BlockArgument argument, int64_t &buffer);

  StepSplit &split;
  bool splitWeightGradient;
  DenseMap<Operation *, Site> sites;
  DenseMap<Operation *, int64_t> places;
  /// Stage and buffer of each result of the accumulate.
  SmallVector<std::pair<int64_t, int64_t>> accumulators;
  unsigned tags = 0;
};

FailureOr<Site> StepSplitter::siteOf(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>(attr::stage);
  auto part = op->getAttrOfType<PartAttr>(attr::part);
  if (!stage || !part)
    return op->emitOpError() << "has no " << (stage ? attr::part : attr::stage) << ", so it has no place in the pipeline";
  if (stage.getInt() < 0 || stage.getInt() >= split.stageCount())
    return op->emitOpError() << "is on stage " << stage.getInt() << " of a plan with " << split.stageCount() << " stages";
  Action action = part.getValue() == Part::Forward                                  ? Action::Forward
                  : part.getValue() == Part::WeightGradient && splitWeightGradient ? Action::WeightGradient
                                                                                   : Action::Backward;
  return Site{stage.getInt(), action};
}

/// The place of the op that makes `value` in the body of the step.
int64_t StepSplitter::orderOf(Value value) {
  if (places.empty())
    for (auto [place, op] : llvm::enumerate(split.accumulate.getBody().front()))
      places[&op] = int64_t(place);
  return places.lookup(value.getDefiningOp());
}

int64_t StepSplitter::ownBuffer(Value value, Site from) {
  StageProgram &program = *split.stages[from.stage];
  auto [it, isNew] = program.bufferOf.try_emplace(value, 0);
  if (isNew) {
    Builder builder(value.getContext());
    bool isPrepared = from.action == Action::Prepare;
    SmallVector<NamedAttribute> fields;
    if (!isPrepared)
      fields.push_back(builder.getNamedAttr("order", builder.getI64IntegerAttr(orderOf(value))));
    if (auto name = value.getLoc()->findInstanceOf<NameLoc>())
      fields.push_back(builder.getNamedAttr("name", name.getName()));
    it->second = program.addBuffer(isPrepared ? "prepared" : "saved", value.getType(), isPrepared ? "arena" : "slot", fields);
    StageFunction &function = *program.findFunction(from.action);
    function.addResult(it->second, function.mapping.lookup(value));
  }
  return program.bufferOf.lookup(value);
}

int64_t StepSplitter::receivedBuffer(Value value, Site from, Site to) {
  StageProgram &program = *split.stages[to.stage];
  if (auto it = program.bufferOf.find(value); it != program.bufferOf.end()) {
    program.useReceived(to.action, it->second);
    return it->second;
  }
  int64_t sent = ownBuffer(value, from);
  int64_t received = program.addBuffer("message", value.getType(), "slot");
  program.bufferOf[value] = received;
  split.stages[from.stage]->addSend(from.action, sent, to.stage, tags);
  program.addReceive(to.action, received, from.stage, tags);
  ++tags;
  return received;
}

LogicalResult StepSplitter::inputBuffer(int64_t stage, BlockArgument argument, int64_t &buffer) {
  StageProgram &program = *split.stages[stage];
  if (auto it = program.bufferOf.find(argument); it != program.bufferOf.end()) {
    buffer = it->second;
    return success();
  }
  auto outer = dyn_cast<BlockArgument>(split.accumulate.getInputs()[argument.getArgNumber()]);
  auto name = outer ? split.step.getArgAttrOfType<StringAttr>(outer.getArgNumber(), attr::input) : StringAttr();
  if (!name)
    return split.accumulate.emitOpError() << "operand " << argument.getArgNumber() << " is no ppc.input of the step";
  Builder builder(split.step.getContext());
  SmallVector<NamedAttribute> fields = {builder.getNamedAttr("name", name)};
  if (Attribute sharding = split.step.getArgAttr(outer.getArgNumber(), attr::sharding))
    fields.push_back(builder.getNamedAttr("sharding", sharding));
  buffer = program.addBuffer("input", argument.getType(), "slot", fields);
  program.bufferOf[argument] = buffer;
  return success();
}

FailureOr<Value> StepSplitter::materialize(Value value, Site site, Operation *user) {
  StageProgram &program = *split.stages[site.stage];
  StageFunction &function = *program.findFunction(site.action);
  if (Value mapped = function.mapping.lookupOrNull(value))
    return mapped;
  Value result;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op)) {
    Operation *copy = function.builder.clone(*constant);
    if (Attribute layer = user->getAttr(attr::layer))
      copy->setAttr(attr::layer, layer);
    result = copy->getResult(0);
  } else if (!op && value.getParentBlock() == &split.accumulate.getBody().front()) {
    int64_t buffer;
    if (failed(inputBuffer(site.stage, cast<BlockArgument>(value), buffer)))
      return failure();
    result = function.argument(buffer, value.getType());
  } else if (!op) {
    FailureOr<int64_t> buffer = split.argumentBuffer(site.stage, cast<BlockArgument>(value));
    if (failed(buffer))
      return failure();
    result = function.argument(*buffer, value.getType());
  } else if (auto found = sites.find(op); found != sites.end()) {
    Site from = found->second;
    if (!from.precedes(site)) {
      InFlightDiagnostic error = user->emitOpError() << "in " << site.str() << " needs a value that is not there yet";
      error.attachNote(op->getLoc()) << "it is computed in " << from.str();
      return error;
    }
    int64_t buffer = from.stage == site.stage ? ownBuffer(value, from) : receivedBuffer(value, from, site);
    result = function.argument(buffer, value.getType());
  } else {
    return user->emitOpError("uses a value that is computed outside of the micro-batches");
  }
  function.mapping.map(value, result);
  return result;
}

LogicalResult StepSplitter::cloneTo(Operation *op, Site site) {
  sites[op] = site;
  StageFunction &function = split.stages[site.stage]->function(site.action, split.module, split.step.getLoc());
  for (Value operand : op->getOperands())
    if (failed(materialize(operand, site, op)))
      return failure();
  function.builder.clone(*op, function.mapping);
  return success();
}

LogicalResult StepSplitter::cloneBody() {
  for (Operation &op : split.step.front()) {
    if (&op == split.accumulate)
      break;
    FailureOr<Site> site = isa<ConstantOp>(op) ? Site{} : siteOf(&op);
    if (failed(site) || (!isa<ConstantOp>(op) && failed(cloneTo(&op, {site->stage, Action::Prepare}))))
      return failure();
  }
  for (Operation &op : split.accumulate.getBody().front().without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    FailureOr<Site> site = siteOf(&op);
    if (failed(site) || failed(cloneTo(&op, *site)))
      return failure();
  }
  return success();
}

// acc' = acc + v, in place, where v is what the micro-batch yields.
LogicalResult StepSplitter::addAccumulators() {
  auto yield = cast<YieldOp>(split.accumulate.getBody().front().getTerminator());
  Builder attrs(split.step.getContext());
  for (Value value : yield.getValues()) {
    Operation *op = value.getDefiningOp();
    auto found = sites.find(op);
    if (found == sites.end())
      return yield.emitOpError("yields a value that no micro-batch computes");
    Site site = found->second;
    StageProgram &program = *split.stages[site.stage];
    StageFunction &function = *program.findFunction(site.action);
    int64_t buffer = program.addBuffer("accumulator", value.getType(), "arena");
    Value argument = function.argument(buffer, value.getType());
    // Right after the value, so that it need not be kept.
    Value local = function.mapping.lookup(value);
    OpBuilder builder(local.getContext());
    builder.setInsertionPointAfter(local.getDefiningOp());
    auto sum = AddOp::create(builder, local.getLoc(), argument, local);
    for (StringRef name : {attr::layer, attr::part, attr::stage})
      if (Attribute attribute = op->getAttr(name))
        sum->setAttr(name, attribute);
    function.addResult(buffer, sum);
    accumulators.push_back({site.stage, buffer});
  }
  return success();
}

LogicalResult StepSplitter::run() {
  if (failed(cloneBody()) || failed(addAccumulators()))
    return failure();
  return splitUpdate(split, accumulators);
}

struct SplitStagesPass : impl::SplitStagesPassBase<SplitStagesPass> {
  using SplitStagesPassBase::SplitStagesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
    auto step = module.lookupSymbol<func::FuncOp>("step");
    if (!plan || !step) {
      module.emitError() << "expected a module with " << (plan ? "a function @step" : "a ppc.plan");
      return signalPassFailure();
    }
    auto accumulates = llvm::to_vector(step.getOps<AccumulateOp>());
    if (accumulates.size() != 1) {
      step.emitOpError() << "expected one ppc.accumulate, found " << accumulates.size();
      return signalPassFailure();
    }
    StepSplit split{step, accumulates.front(), {}, OpBuilder(step)};
    for (size_t stage = 0; stage < plan.getStages().size(); ++stage)
      split.stages.push_back(std::make_unique<StageProgram>(&getContext(), stage));
    StepSplitter splitter(split, splitWeightGradient);
    if (failed(splitter.run()))
      return signalPassFailure();
    SmallVector<Attribute> stages;
    for (auto &stage : split.stages)
      stages.push_back(stage->finish());
    module->setAttr("ppc.stages", ArrayAttr::get(&getContext(), stages));
    step.erase();
  }
};

} // namespace
} // namespace mlir::ppc
