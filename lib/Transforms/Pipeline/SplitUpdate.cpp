// The update at the end of a step, on every stage for what it holds. All stages' functions are built together, op by op
// in the order of @step, so that collectives between stages stand in one order everywhere. What the loss needs of it is
// built once more, as a function of its own that evaluates.
#include "StageProgram.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::ppc {
namespace {

class UpdateSplitter {
public:
  UpdateSplitter(StepSplit &split, ArrayRef<Accumulators> accumulators, RoutineKind action)
      : split(split), accumulators(accumulators), action(action), all(split.deviceCount(), true) {
    for (BlockArgument argument : split.step.getArguments()) {
      unsigned number = argument.getArgNumber();
      if (Attribute name = split.step.getArgAttr(number, attr::parameter))
        arguments[{StringAttr::get(name.getContext(), "parameter"), name}] = argument;
      else if (Attribute state = split.step.getArgAttr(number, attr::state))
        arguments[{state, split.step.getArgAttr(number, attr::of)}] = argument;
    }
  }

  LogicalResult run();

  /// The buffers of the loss by stage; those of Update are Evaluate's too.
  DenseMap<int64_t, BufferOp> lossBuffers;
  /// Number of the all-reduce between stages that is being built: the same on every stage, and different for each, so
  /// that nothing merges two of them on one stage only (two zeros, say).
  int64_t channel = 0;

private:
  using Stages = llvm::SmallBitVector;

  StageFunction &function(int64_t stage) {
    return split.devices[stage]->function(action, split.module, split.step.getLoc());
  }
  /// The stages on which `value` can be had without communication.
  FailureOr<Stages> available(Value value);
  /// `value` on a stage where it is available.
  FailureOr<Value> materialize(Value value, int64_t stage);
  /// A result of the accumulate of which each copy of the model has a sum of its own micro-batches.
  LogicalResult beginCopies(OpResult value);
  /// Sums the values of the copies of the model, if not done yet.
  LogicalResult sumOverCopies(Value value);
  /// Whether `op` is computed separately on each copy's sum: a sum, or an op whose result is smaller. Else the
  /// operands are summed first.
  FailureOr<bool> passesCopies(Operation *op);
  /// A sum of values of several stages: each stage sums its own, an all-reduce over the stages does the rest.
  LogicalResult sumAcrossStages(SumOp sum, ArrayRef<Stages> sites);
  /// Makes a scalar available on all stages.
  LogicalResult broadcastScalar(Value value);
  /// Makes a value of the stages `from` available on those of `to` as well: an all-reduce in which all but the first
  /// of `from` contribute zero.
  LogicalResult broadcast(Value value, const Stages &from, const Stages &to);
  /// Brings a gradient to the stages that hold its parameter and have no part of it: a stage may read a parameter by
  /// ops through which no gradient goes, or that have been folded into ops of another stage.
  LogicalResult bringGradient(AdamwOp op);
  LogicalResult split1(Operation *op);
  LogicalResult addResults();
  /// Whether `op` is computed by the functions that are built.
  bool isWanted(Operation *op) const { return action == RoutineKind::Update || needed.contains(op); }
  void findNeeded();
  /// The buffer for the gradient `value` of a parameter on `stage`: the accumulator that it is computed from where
  /// there is one of its type, else a new one.
  BufferOp gradientBuffer(Value value, int64_t stage, const BufferFields &fields);

  Value allReduce(StageFunction &function, Value value, const Stages &stages);
  static Value zero(StageFunction &function, Type type);

  StepSplit &split;
  ArrayRef<Accumulators> accumulators; ///< by result of the accumulate
  RoutineKind action;                  ///< Update or Evaluate
  DenseSet<Operation *> needed;        ///< for Evaluate: ops after the accumulate that the loss depends on
  DenseSet<Value> neededSums;          ///< and results of the accumulate that it depends on
  Stages all;
  DenseMap<Value, Stages> sitesOf; ///< stages that have the results of ops that have been split
  DenseSet<Value> unsummed;        ///< values that are separate sums of the copies of the model on these stages
  /// Arguments of @step by kind ("parameter" or the name of a state) and name of the parameter.
  DenseMap<std::pair<Attribute, Attribute>, BlockArgument> arguments;
};

FailureOr<llvm::SmallBitVector> UpdateSplitter::available(Value value) {
  if (auto it = sitesOf.find(value); it != sitesOf.end())
    return it->second;
  Stages stages(split.deviceCount());
  if (value.getDefiningOp() == split.accumulate) {
    for (auto [device, buffer] : accumulators[cast<OpResult>(value).getResultNumber()])
      stages.set(device);
    return stages;
  }
  if (value.getDefiningOp<ConstantOp>())
    return all;
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return emitError(value.getLoc(), "is not computed before it is used in the update");
  unsigned number = argument.getArgNumber();
  if (split.step.getArgAttr(number, attr::scalar))
    return all;
  // Parameters are where micro-batches use them, states where their parameter is.
  if (auto of = split.step.getArgAttrOfType<StringAttr>(number, attr::of))
    argument = arguments.lookup({StringAttr::get(of.getContext(), "parameter"), of});
  for (int64_t stage = 0; stage < split.deviceCount(); ++stage)
    if (split.devices[stage]->bufferOf.contains(argument))
      stages.set(stage);
  return stages;
}

FailureOr<Value> UpdateSplitter::materialize(Value value, int64_t stage) {
  StageFunction &update = function(stage);
  if (Value mapped = update.mapping.lookupOrNull(value))
    return mapped;
  Value result;
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    result = update.builder.clone(*constant)->getResult(0);
  } else if (value.getDefiningOp() == split.accumulate) {
    for (auto [device, buffer] : accumulators[cast<OpResult>(value).getResultNumber()])
      if (device == stage)
        result = update.argument(buffer, value.getType());
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    FailureOr<BufferOp> buffer = split.argumentBuffer(stage, argument);
    if (failed(buffer))
      return failure();
    result = update.argument(*buffer, value.getType());
  } else {
    return emitError(value.getLoc()) << "is not available on stage " << stage << " in the update";
  }
  update.mapping.map(value, result);
  return result;
}

Value UpdateSplitter::zero(StageFunction &function, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto value = DenseElementsAttr::get(tensor, function.builder.getFloatAttr(tensor.getElementType(), 0.0));
  return ConstantOp::create(function.builder, function.function.getLoc(), tensor, value);
}

Value UpdateSplitter::allReduce(StageFunction &function, Value value, const Stages &stages) {
  DenseI64ArrayAttr only;
  if (!stages.all()) {
    SmallVector<int64_t> members;
    for (unsigned stage : stages.set_bits())
      members.push_back(stage);
    only = function.builder.getDenseI64ArrayAttr(members);
  }
  auto reduced = AllReduceOp::create(function.builder, value.getLoc(), value.getType(), value,
                                     function.builder.getStrArrayAttr({"pp"}),
                                     CombinerAttr::get(value.getContext(), Combiner::Sum), only);
  reduced->setAttr("ppc.channel", function.builder.getI64IntegerAttr(channel));
  return reduced;
}

// Whether an optimizer takes `value`, perhaps after collectives, as the gradient of a parameter.
static bool isGradient(Value value) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses()) {
      if (auto adamw = dyn_cast<AdamwOp>(use.getOwner()))
        return use.get() == adamw.getGradient();
      if (!isa<SquaredNormOp>(use.getOwner()))
        worklist.append(use.getOwner()->result_begin(), use.getOwner()->result_end());
    }
  return false;
}

LogicalResult UpdateSplitter::sumOverCopies(Value value) {
  if (!unsummed.erase(value))
    return success();
  // As in a sum over stages: a scalar that is not a gradient, the loss, is needed everywhere.
  bool everywhere = tensorType(value).getRank() == 0 && !isGradient(value);
  Stages holders = sitesOf.lookup(value), involved = everywhere ? all : holders;
  for (unsigned stage : involved.set_bits()) {
    StageFunction &update = function(stage);
    Value local = holders.test(stage) ? update.mapping.lookup(value) : zero(update, value.getType());
    update.mapping.map(value, allReduce(update, local, involved));
  }
  ++channel;
  sitesOf[value] = involved;
  return success();
}

FailureOr<bool> UpdateSplitter::passesCopies(Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return unsummed.contains(operand); }))
    return false;
  bool isLinear = isa<ReduceScatterOp, SumOp, LocalSliceOp>(op);
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    isLinear = reduce.getCombiner() == Combiner::Sum;
  Stages first = sitesOf.lookup(op->getOperand(0));
  if (isLinear && llvm::all_of(op->getOperands(), [&](Value operand) {
        return unsummed.contains(operand) && sitesOf.lookup(operand) == first;
      }))
    return true;
  for (Value operand : op->getOperands())
    if (failed(sumOverCopies(operand)))
      return failure();
  return false;
}

LogicalResult UpdateSplitter::beginCopies(OpResult value) {
  const Accumulators &sums = accumulators[value.getResultNumber()];
  Stages stages(split.deviceCount());
  for (auto [device, buffer] : sums) {
    stages.set(device);
    StageFunction &update = function(device);
    update.mapping.map(value, update.argument(buffer, value.getType()));
  }
  if (stages.count() < sums.size())
    return split.accumulate.emitOpError("has copies on one pipeline rank");
  sitesOf[value] = stages;
  unsummed.insert(value);
  return success();
}

LogicalResult UpdateSplitter::sumAcrossStages(SumOp sum, ArrayRef<Stages> sites) {
  // A norm is needed everywhere. A scalar parameter's gradient is not, and an all-reduce must not be dead on any stage.
  bool everywhere = sum.getType().getRank() == 0 && !isGradient(sum);
  SmallVector<SmallVector<Value>> own(split.deviceCount());
  Stages involved(split.deviceCount(), everywhere);
  for (auto [operand, stages] : llvm::zip(sum.getInputs(), sites)) {
    if (stages.none())
      return sum.emitOpError("has an operand that no stage can compute");
    int64_t owner = stages.find_first(); // the first stage that has it adds it, once
    involved.set(owner);
    FailureOr<Value> value = materialize(operand, owner);
    if (failed(value))
      return failure();
    own[owner].push_back(*value);
  }
  for (unsigned stage : involved.set_bits()) {
    StageFunction &update = function(stage);
    Value local = own[stage].empty() ? zero(update, sum.getType())
                  : own[stage].size() == 1
                      ? own[stage].front()
                      : SumOp::create(update.builder, sum.getLoc(), sum.getType(), own[stage]).getResult();
    update.mapping.map(sum.getResult(), allReduce(update, local, involved));
  }
  ++channel;
  sitesOf[sum] = involved;
  return success();
}

LogicalResult UpdateSplitter::broadcastScalar(Value value) {
  FailureOr<Stages> stages = available(value);
  if (failed(stages))
    return failure();
  if (stages->all())
    return success();
  if (stages->none() || tensorType(value).getRank() != 0)
    return emitError(value.getLoc()) << "is needed on stages that cannot compute it";
  return broadcast(value, *stages, all);
}

LogicalResult UpdateSplitter::broadcast(Value value, const Stages &from, const Stages &to) {
  unsigned owner = from.find_first();
  Stages involved = from;
  involved |= to;
  for (unsigned stage : involved.set_bits()) {
    StageFunction &update = function(stage);
    Value local = zero(update, value.getType());
    if (stage == owner) {
      FailureOr<Value> own = materialize(value, stage);
      if (failed(own))
        return failure();
      local = *own;
    }
    update.mapping.map(value, allReduce(update, local, involved));
  }
  ++channel;
  sitesOf[value] = involved;
  return success();
}

// Each stage that holds the parameter updates it, for all read it in the next step.
LogicalResult UpdateSplitter::bringGradient(AdamwOp op) {
  FailureOr<Stages> holders = available(op.getParameter()), makers = available(op.getGradient());
  if (failed(holders) || failed(makers))
    return failure();
  if (makers->any() && holders->test(*makers) && failed(broadcast(op.getGradient(), *makers, *holders)))
    return failure();
  for (Value operand : op->getOperands()) {
    FailureOr<Stages> stages = tensorType(operand).getRank() == 0 ? available(operand) : holders;
    if (failed(stages) || (holders->test(*stages) && failed(broadcastScalar(operand))))
      return failure();
  }
  return success();
}

LogicalResult UpdateSplitter::split1(Operation *op) {
  FailureOr<bool> isOfCopies = passesCopies(op);
  if (failed(isOfCopies))
    return failure();
  if (auto adamw = dyn_cast<AdamwOp>(op); adamw && failed(bringGradient(adamw)))
    return failure();
  if (*isOfCopies)
    unsummed.insert_range(op->getResults());
  SmallVector<Stages> sites;
  Stages common = all;
  auto gather = [&]() -> LogicalResult {
    sites.clear();
    common = all;
    for (Value operand : op->getOperands()) {
      FailureOr<Stages> stages = available(operand);
      if (failed(stages))
        return failure();
      sites.push_back(*stages);
      common &= *stages;
    }
    return success();
  };
  if (failed(gather()))
    return failure();
  if (auto sum = dyn_cast<SumOp>(op))
    if (common.none() || (sum.getType().getRank() == 0 && !common.all()))
      return sumAcrossStages(sum, sites);
  if (common.none()) {
    for (Value operand : op->getOperands())
      if (tensorType(operand).getRank() == 0 && failed(broadcastScalar(operand)))
        return failure();
    if (failed(gather()))
      return failure();
    if (common.none())
      return op->emitOpError("needs values of different pipeline stages");
  }
  for (unsigned stage : common.set_bits()) {
    for (Value operand : op->getOperands())
      if (failed(materialize(operand, stage)))
        return failure();
    StageFunction &update = function(stage);
    update.builder.clone(*op, update.mapping);
  }
  for (Value result : op->getResults())
    sitesOf[result] = common;
  return success();
}

BufferOp UpdateSplitter::gradientBuffer(Value value, int64_t stage, const BufferFields &fields) {
  StageProgram &program = *split.devices[stage];
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    Operation *op = current.getDefiningOp();
    if (!op || !seen.insert(current).second)
      continue;
    if (op != split.accumulate) {
      worklist.append(op->operand_begin(), op->operand_end());
      continue;
    }
    for (auto [owner, buffer] : accumulators[cast<OpResult>(current).getResultNumber()])
      if (owner == stage && current.getType() == value.getType() && buffer.getRole() == BufferRole::Accumulator) {
        program.setRole(buffer, BufferRole::Gradient, fields);
        return buffer;
      }
  }
  return program.addBuffer(BufferRole::Gradient, value.getType(), fields);
}

// Results are stored in the buffers that they update; metrics in buffers of their own.
LogicalResult UpdateSplitter::addResults() {
  func::FuncOp step = split.step;
  Builder attrs(step.getContext());
  auto argumentOf = [&](StringRef kind, StringAttr name) {
    return arguments.lookup({attrs.getStringAttr(kind), name});
  };
  for (auto [number, value] : llvm::enumerate(step.front().getTerminator()->getOperands())) {
    auto kind = step.getResultAttrOfType<StringAttr>(number, attr::result);
    auto name = step.getResultAttrOfType<StringAttr>(number, attr::of);
    if (!kind)
      return step.emitOpError() << "result " << number << " has no ppc.result";
    if (action == RoutineKind::Evaluate && kind != "loss")
      continue;
    if (failed(sumOverCopies(value)))
      return failure();
    bool isMetric = kind == "loss" || kind == "grad_norm";
    if (isMetric && failed(broadcastScalar(value)))
      return failure();
    FailureOr<Stages> stages = available(value);
    if (failed(stages))
      return failure();
    if (BlockArgument parameter = kind == "gradient" ? argumentOf("parameter", name) : BlockArgument()) {
      FailureOr<Stages> holders = available(parameter); // a scalar's gradient may be on all stages
      if (failed(holders))
        return failure();
      *stages &= *holders;
    }
    for (unsigned stage : stages->set_bits()) {
      StageProgram &program = *split.devices[stage];
      FailureOr<Value> local = materialize(value, stage);
      if (failed(local))
        return failure();
      BufferOp buffer;
      if (action == RoutineKind::Evaluate) {
        buffer = lossBuffers.lookup(stage);
      } else if (isMetric) {
        buffer = program.addBuffer(BufferRole::Metric, value.getType(), {/*name=*/kind});
        if (kind == "loss")
          lossBuffers[stage] = buffer;
      } else if (kind == "gradient") {
        BufferFields fields{name};
        fields.sharding = step.getResultAttrOfType<ShardingAttr>(number, attr::sharding);
        if (auto logical = step.getResultAttrOfType<TypeAttr>(number, attr::logicalType))
          fields.logical = cast<RankedTensorType>(logical.getValue());
        buffer = gradientBuffer(value, stage, fields);
      } else {
        BlockArgument argument = argumentOf(kind, name);
        if (!argument)
          return step.emitOpError() << "result " << number << " updates " << kind << " of " << name
                                    << ", which is not an argument";
        FailureOr<BufferOp> own = split.argumentBuffer(stage, argument);
        if (failed(own))
          return failure();
        buffer = *own;
      }
      function(stage).addResult(buffer, *local);
    }
  }
  return success();
}

void UpdateSplitter::findNeeded() {
  SmallVector<Value> worklist;
  for (auto [number, value] : llvm::enumerate(split.step.front().getTerminator()->getOperands()))
    if (auto kind = split.step.getResultAttrOfType<StringAttr>(number, attr::result); kind && kind == "loss")
      worklist.push_back(value);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op == split.accumulate)
      neededSums.insert(value);
    else if (op && needed.insert(op).second)
      worklist.append(op->operand_begin(), op->operand_end());
  }
}

LogicalResult UpdateSplitter::run() {
  if (action == RoutineKind::Evaluate)
    findNeeded();
  for (int64_t stage = 0; stage < split.deviceCount(); ++stage)
    function(stage);
  for (OpResult sum : split.accumulate->getResults())
    if (accumulators[sum.getResultNumber()].size() > 1 && (action == RoutineKind::Update || neededSums.contains(sum)) &&
        failed(beginCopies(sum)))
      return failure();
  for (Operation &op : split.step.front().without_terminator()) {
    if (!split.accumulate->isBeforeInBlock(&op) || isa<ConstantOp>(op) ||
        !isWanted(&op)) // ops before the accumulate have a function of their own
      continue;
    if (failed(split1(&op)))
      return failure();
  }
  return addResults();
}

} // namespace

LogicalResult splitUpdate(StepSplit &split, ArrayRef<Accumulators> accumulators) {
  UpdateSplitter update(split, accumulators, RoutineKind::Update), evaluate(split, accumulators, RoutineKind::Evaluate);
  if (failed(update.run()))
    return failure();
  if (update.lossBuffers.empty())
    return success();
  evaluate.lossBuffers = update.lossBuffers;
  evaluate.channel = update.channel;
  return evaluate.run();
}

} // namespace mlir::ppc
