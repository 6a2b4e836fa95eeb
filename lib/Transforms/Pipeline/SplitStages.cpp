// Splits a partitioned step into functions per stage and action. Values that cross functions become buffers, values
// that cross stages messages.
#include "StageProgram.h"
#include "ppc/Transforms/Pipeline/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "ppc/Transforms/Pipeline/Passes.h.inc"

namespace {

/// Splits the work of a copy of the model on its micro-batches.
class StepSplitter {
public:
  StepSplitter(StepSplit &split, int64_t copy, bool splitWeightGradient)
      : split(split), firstStage(copy * split.placement.stagesPerCopy()), splitWeightGradient(splitWeightGradient) {}

  /// Adds an accumulator of each result of the accumulate.
  LogicalResult run(MutableArrayRef<Accumulators> accumulators);

private:
  FailureOr<Site> siteOf(Operation *op);
  /// Clones the op to where it runs.
  LogicalResult cloneTo(Operation *op, Site site);
  /// Makes `value` of @step available at `site`.
  FailureOr<Value> materialize(Value value, Site site, Operation *user);
  /// The function of ops at `site`, added on first use.
  StageFunction &functionAt(Site site) {
    bool isOfStep = site.action == RoutineKind::Prepare;
    return split.holderOf(site.stage)
        .function(site.action, split.module, split.step.getLoc(), isOfStep ? 0 : split.placement.chunkOf(site.stage),
                  site.stage);
  }
  bool isSameDevice(Site a, Site b) const {
    return split.placement.deviceOf(a.stage) == split.placement.deviceOf(b.stage);
  }
  /// The buffer that holds `value`, computed by a micro-batch at `from`, on its own device.
  BufferOp ownBuffer(Value value, Site from);
  int64_t orderOf(Value value);
  /// The buffer on `to`'s device that receives `value`.
  BufferOp receivedBuffer(Value value, Site from, Site to);
  static bool isConstant(Operation *op);
  static bool isMadeAnywhere(Operation *op);
  FailureOr<Value> makeHere(Operation *op, Site site, Operation *user);
  bool isMadeElsewhere(Operation *op, Site site);
  LogicalResult cloneBody();
  LogicalResult writeYieldedConstant(Value value, YieldOp yield);
  LogicalResult addAccumulators(MutableArrayRef<Accumulators> accumulators);
  /// acc' = acc + v for each of `values`, where they are computed.
  void accumulate(ArrayRef<Value> values, Site site, BufferOp accumulator);
  /// Whether the op only sums the contributions of the slices of a sequence.
  bool addsSlices(Operation *op);
  /// Collects the contributions of the slices of a sequence to `value`.
  void collectSlices(Value value, SmallVectorImpl<Value> &parts);
  /// Another copy computes values of the same names, in buffers of its own.
  void forgetBuffers();
  FailureOr<BufferOp> inputBuffer(int64_t stage, BlockArgument argument);

  StepSplit &split;
  int64_t firstStage; ///< first stage of the copy
  bool splitWeightGradient;
  DenseMap<Operation *, Site> sites;
  DenseMap<std::pair<Value, int64_t>, Site> madeAgain; ///< site where a device recomputes a value of another one
  DenseMap<Operation *, int64_t> places;
  DenseMap<Operation *, size_t> messageTo; ///< by receiving buffer: its index in split.messages
};

FailureOr<Site> StepSplitter::siteOf(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>(attr::stage);
  auto part = op->getAttrOfType<PartAttr>(attr::part);
  if (!stage || !part)
    return op->emitOpError() << "has no " << (stage ? attr::part : attr::stage)
                             << ", so it belongs to no pipeline stage";
  if (stage.getInt() < 0 || stage.getInt() >= split.placement.stagesPerCopy())
    return op->emitOpError() << "is on stage " << stage.getInt() << " of a plan with "
                             << split.placement.stagesPerCopy() << " stages";
  RoutineKind action = part.getValue() == Part::Forward                                 ? RoutineKind::Forward
                       : part.getValue() == Part::WeightGradient && splitWeightGradient ? RoutineKind::WeightGradient
                                                                                        : RoutineKind::Backward;
  return Site{firstStage + stage.getInt(), action};
}

/// Index of the op that computes `value` in the region of the accumulate.
int64_t StepSplitter::orderOf(Value value) {
  if (places.empty())
    for (auto [place, op] : llvm::enumerate(split.accumulate.getBody().front()))
      places[&op] = int64_t(place);
  return places.lookup(value.getDefiningOp());
}

BufferOp StepSplitter::ownBuffer(Value value, Site from) {
  StageProgram &program = split.holderOf(from.stage);
  auto [it, isNew] = program.bufferOf.try_emplace(value);
  if (isNew) {
    bool isPrepared = from.action == RoutineKind::Prepare;
    BufferFields fields;
    if (!isPrepared)
      fields.order = orderOf(value);
    if (auto name = value.getLoc()->findInstanceOf<NameLoc>())
      fields.name = name.getName();
    BufferOp buffer = program.addBuffer(isPrepared ? BufferRole::Prepared : BufferRole::Saved, value.getType(), fields);
    program.bufferOf[value] = buffer;
    StageFunction &function = functionAt(from);
    function.addResult(buffer, function.mapping.lookup(value));
  }
  return program.bufferOf.lookup(value);
}

BufferOp StepSplitter::receivedBuffer(Value value, Site from, Site to) {
  StageProgram &program = split.holderOf(to.stage);
  if (auto it = program.bufferOf.find(value); it != program.bufferOf.end()) {
    StageMessage &message = split.messages[messageTo.at(it->second)];
    if (!message.used.precedes(to))
      message.used = to;
    return it->second;
  }
  BufferOp sent = ownBuffer(value, from);
  BufferOp received = program.addBuffer(BufferRole::Message, value.getType());
  program.bufferOf[value] = received;
  messageTo[received] = split.messages.size();
  split.messages.push_back({from, sent, to, received});
  return received;
}

FailureOr<BufferOp> StepSplitter::inputBuffer(int64_t stage, BlockArgument argument) {
  StageProgram &program = split.holderOf(stage);
  if (auto it = program.bufferOf.find(argument); it != program.bufferOf.end())
    return it->second;
  auto outer = dyn_cast<BlockArgument>(split.accumulate.getInputs()[argument.getArgNumber()]);
  auto name = outer ? split.step.getArgAttrOfType<StringAttr>(outer.getArgNumber(), attr::input) : StringAttr();
  if (!name)
    return split.accumulate.emitOpError() << "operand " << argument.getArgNumber() << " is not a ppc.input of the step";
  BufferFields fields;
  fields.name = name;
  fields.sharding = split.step.getArgAttrOfType<ShardingAttr>(outer.getArgNumber(), attr::sharding);
  BufferOp buffer = program.addBuffer(BufferRole::Input, argument.getType(), fields);
  program.bufferOf[argument] = buffer;
  return buffer;
}

FailureOr<Value> StepSplitter::materialize(Value value, Site site, Operation *user) {
  StageFunction &function = functionAt(site);
  if (Value mapped = function.mapping.lookupOrNull(value))
    return mapped;
  Value result;
  Operation *op = value.getDefiningOp();
  if (isConstant(op)) {
    if (isa<LocalSliceOp>(op) && failed(materialize(op->getOperand(0), site, user)))
      return failure();
    Operation *copy = function.builder.clone(*op, function.mapping);
    for (StringRef name : {attr::layer, attr::part, attr::stage})
      if (Attribute attribute = user->getAttr(name); attribute && (name == attr::layer || op->hasAttr(name)))
        copy->setAttr(name, attribute);
    result = copy->getResult(0);
  } else if (!op && value.getParentBlock() == &split.accumulate.getBody().front()) {
    FailureOr<BufferOp> buffer = inputBuffer(site.stage, cast<BlockArgument>(value));
    if (failed(buffer))
      return failure();
    result = function.argument(*buffer, value.getType());
  } else if (!op) {
    FailureOr<BufferOp> buffer = split.argumentBuffer(split.placement.deviceOf(site.stage), cast<BlockArgument>(value));
    if (failed(buffer))
      return failure();
    result = function.argument(*buffer, value.getType());
  } else if (auto found = sites.find(op); found != sites.end()) {
    Site from = found->second;
    auto known = madeAgain.find({value, split.placement.deviceOf(site.stage)});
    if (known != madeAgain.end() && known->second.precedes(site))
      from = known->second;
    if (isMadeAnywhere(op) && from.action != RoutineKind::Prepare && from.precedes(site) &&
        (!isSameDevice(from, site) || isMadeElsewhere(op, from)))
      return makeHere(op, site, user);
    if (from.action == RoutineKind::Prepare ? !isSameDevice(from, site) : !from.precedes(site)) {
      InFlightDiagnostic error = user->emitOpError()
                                 << "in " << site.str() << " needs a value that is not computed yet";
      error.attachNote(op->getLoc()) << "it is computed in " << from.str();
      return error;
    }
    BufferOp buffer = isSameDevice(from, site) ? ownBuffer(value, from) : receivedBuffer(value, from, site);
    result = function.argument(buffer, value.getType());
  } else {
    return user->emitOpError("uses a value that is computed outside of the micro-batches");
  }
  function.mapping.map(value, result);
  return result;
}

/// Whether `op` is a constant, or a rank's block of one: cloned wherever it is needed, and never saved.
bool StepSplitter::isConstant(Operation *op) {
  auto slice = dyn_cast_or_null<LocalSliceOp>(op);
  return isa_and_nonnull<ConstantOp>(slice ? slice.getX().getDefiningOp() : op);
}

/// Whether `op` is repeated where its result is used: for a gather the block is sent, instead of a gathered tensor
/// that is equal on all ranks of a stage; for a mask its operand is sent anyway.
bool StepSplitter::isMadeAnywhere(Operation *op) { return isa<AllGatherOp, MaskPaddingOp>(op); }

FailureOr<Value> StepSplitter::makeHere(Operation *op, Site site, Operation *user) {
  FailureOr<Value> operand = materialize(op->getOperand(0), site, user);
  if (failed(operand))
    return failure();
  StageFunction &function = functionAt(site);
  Operation *copy = function.builder.clone(*op, function.mapping);
  for (StringRef name : {attr::layer, attr::part, attr::stage})
    if (Attribute attribute = user->getAttr(name))
      copy->setAttr(name, attribute);
  function.mapping.map(op->getResult(0), copy->getResult(0));
  madeAgain.try_emplace({op->getResult(0), split.placement.deviceOf(site.stage)}, site);
  return copy->getResult(0);
}

/// Whether `op` is only repeated where its result is used: no op on its own stage uses the result, except ops that
/// are repeated elsewhere themselves. Between two stages of one device, too, the block is saved.
bool StepSplitter::isMadeElsewhere(Operation *op, Site site) {
  return isMadeAnywhere(op) && !op->use_empty() && llvm::none_of(op->getUsers(), [&](Operation *user) {
           auto stage = user->getAttrOfType<IntegerAttr>(attr::stage);
           if (!stage)
             return true;
           Site at{firstStage + stage.getInt(), site.action};
           return at.stage == site.stage && !isMadeElsewhere(user, at);
         });
}

LogicalResult StepSplitter::cloneTo(Operation *op, Site site) {
  sites[op] = site;
  if (isMadeElsewhere(op, site))
    return success();
  StageFunction &function = functionAt(site);
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
    if (failed(site) || (!isa<ConstantOp>(op) && failed(cloneTo(&op, {site->stage, RoutineKind::Prepare}))))
      return failure();
  }
  for (Operation &op : split.accumulate.getBody().front().without_terminator()) {
    if (isConstant(&op))
      continue;
    FailureOr<Site> site = siteOf(&op);
    if (failed(site) || (!addsSlices(&op) && failed(cloneTo(&op, *site))))
      return failure();
  }
  return success();
}

bool StepSplitter::addsSlices(Operation *op) {
  auto stageOf = [&](Value operand) -> std::optional<int64_t> {
    Operation *made = operand.getDefiningOp();
    auto stage =
        made && made->getParentOp() == split.accumulate ? made->getAttrOfType<IntegerAttr>(attr::stage) : IntegerAttr();
    return stage ? std::optional(firstStage + stage.getInt()) : std::nullopt;
  };
  if (!isa<AddOp>(op) || split.placement.sliceCount() == 1)
    return false;
  std::optional<int64_t> first = stageOf(op->getOperand(0)), second = stageOf(op->getOperand(1));
  return first && second && first != second && split.placement.deviceOf(*first) == split.placement.deviceOf(*second) &&
         !op->use_empty() &&
         llvm::all_of(op->getUsers(), [&](Operation *user) { return isa<YieldOp>(user) || addsSlices(user); });
}

void StepSplitter::collectSlices(Value value, SmallVectorImpl<Value> &parts) {
  Operation *op = value.getDefiningOp();
  if (!op || !addsSlices(op))
    return parts.push_back(value);
  for (Value operand : op->getOperands())
    collectSlices(operand, parts);
}

// The gradient of a term of the loss is equal in each micro-batch. Its own stage yields it, else the last one.
LogicalResult StepSplitter::writeYieldedConstant(Value value, YieldOp yield) {
  Operation *op = value.getDefiningOp();
  if (sites.contains(op))
    return success();
  if (!isConstant(op))
    return yield.emitOpError("yields a value that no micro-batch computes");
  auto stage = op->getAttrOfType<IntegerAttr>(attr::stage);
  Site site{firstStage + (stage ? stage.getInt() : split.placement.stagesPerCopy() - 1), RoutineKind::Backward};
  sites[op] = site;
  return failure(failed(materialize(value, site, op)));
}

// acc' = acc + v, in place, where v is the value that the micro-batch yields.
LogicalResult StepSplitter::addAccumulators(MutableArrayRef<Accumulators> accumulators) {
  auto yield = cast<YieldOp>(split.accumulate.getBody().front().getTerminator());
  for (auto [number, value] : llvm::enumerate(yield.getValues())) {
    SmallVector<Value> parts;
    collectSlices(value, parts);
    for (Value part : parts)
      if (failed(writeYieldedConstant(part, yield)))
        return failure();
    int64_t device = split.placement.deviceOf(sites.lookup(parts.front().getDefiningOp()).stage);
    BufferOp buffer = split.devices[device]->addBuffer(BufferRole::Accumulator, value.getType());
    llvm::MapVector<int64_t, SmallVector<Value>>
        ofStages; // by stage: parts of one layer, whose slices are on one device
    for (Value part : parts)
      ofStages[sites.lookup(part.getDefiningOp()).stage].push_back(part);
    for (auto &[stage, own] : ofStages)
      accumulate(own, sites.lookup(own.front().getDefiningOp()), buffer);
    accumulators[number].push_back({device, buffer});
  }
  return success();
}

void StepSplitter::accumulate(ArrayRef<Value> values, Site site, BufferOp accumulator) {
  StageFunction &function = functionAt(site);
  Value sum = function.argument(accumulator, values.front().getType());
  for (Value value : values) {
    // Right after the value, so that it need not be saved.
    Value local = function.mapping.lookup(value);
    OpBuilder builder(local.getContext());
    builder.setInsertionPointAfter(local.getDefiningOp());
    if (Operation *before = sum.getDefiningOp(); before && !before->isBeforeInBlock(local.getDefiningOp()))
      builder.setInsertionPointAfter(before);
    sum = AddOp::create(builder, local.getLoc(), sum, local);
    for (StringRef name : {attr::layer, attr::part, attr::stage})
      if (Attribute attribute = value.getDefiningOp()->getAttr(name))
        sum.getDefiningOp()->setAttr(name, attribute);
  }
  function.addResult(accumulator, sum);
}

void StepSplitter::forgetBuffers() {
  for (auto &device : split.devices)
    for (auto it = device->bufferOf.begin(), end = device->bufferOf.end(); it != end; ++it)
      if (Operation *op = it->first.getDefiningOp(); op && op->getParentOp() == split.accumulate)
        device->bufferOf.erase(it);
}

LogicalResult StepSplitter::run(MutableArrayRef<Accumulators> accumulators) {
  if (failed(cloneBody()) || failed(addAccumulators(accumulators)))
    return failure();
  forgetBuffers();
  return success();
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
    llvm::Expected<PipelinePlacement> placement = PipelinePlacement::of(getOperation(), plan);
    if (!placement) {
      module.emitError() << llvm::toString(placement.takeError());
      return signalPassFailure();
    }
    StepSplit split{step,
                    accumulates.front(),
                    makeProgram(plan, placement->copyCount()),
                    std::move(*placement),
                    {},
                    OpBuilder(step),
                    {}};
    for (ppcrt::DeviceOp device : split.program.getDevices())
      split.devices.push_back(std::make_unique<StageProgram>(device));
    SmallVector<Accumulators> sums(split.accumulate.getNumResults());
    for (int64_t copy = 0; copy < split.placement.copyCount(); ++copy)
      if (failed(StepSplitter(split, copy, splitWeightGradient || split.placement.splitsBackward()).run(sums)))
        return signalPassFailure();
    if (failed(splitUpdate(split, sums)))
      return signalPassFailure();
    split.finish();
    step.erase();
  }

  /// The devices of the plan, with nothing on them.
  ppcrt::ProgramOp makeProgram(PlanAttr plan, int64_t copies) {
    auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
    Location loc = getOperation().getLoc();
    SmallVector<StringAttr> names = {builder.getStringAttr("pp")};
    SmallVector<int64_t> sizes = {plan.getPipelineDevices()};
    SmallVector<AxisRole> roles = {AxisRole::Stage};
    llvm::append_range(roles, plan.getGrid().getRoles());
    llvm::append_range(names, plan.getGrid().getNames());
    llvm::append_range(sizes, plan.getGrid().getSizes());
    auto program = ppcrt::ProgramOp::create(builder, loc, "train", GridAttr::get(&getContext(), names, sizes, roles),
                                            plan.getMicroBatches(), copies);
    builder.setInsertionPointToEnd(&program.getBody().emplaceBlock());
    for (int64_t device = 0; device < sizes.front(); ++device)
      ppcrt::DeviceOp::create(builder, loc, "device" + std::to_string(device), device, IntegerAttr())
          .getBody()
          .emplaceBlock();
    return program;
  }
};

} // namespace
} // namespace mlir::ppc
