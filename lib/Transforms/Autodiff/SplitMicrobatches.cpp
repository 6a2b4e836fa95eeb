// Micro-batching: cut the batch dimension of everything in time, as the partitioner cuts it over devices, and sum. The
// sharding rules say which dimensions follow the batch and which results become partial sums.
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "ppc/Transforms/Autodiff/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SPLITMICROBATCHESPASS
#include "ppc/Transforms/Autodiff/Passes.h.inc"

namespace {

bool isUpdate(Operation *op) {
  auto part = op->getAttrOfType<PartAttr>(attr::part);
  return part && part.getValue() == Part::Update;
}

/// What products read of a parameter is the same for all micro-batches: made once, before them.
bool isPreparation(Operation *op) {
  auto argument = isa<ConvertOp>(op) ? dyn_cast<BlockArgument>(op->getOperand(0)) : BlockArgument();
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), attr::parameter);
}

/// Which dimensions are batch dimensions, and which values are sums over micro-batches.
class BatchAnalysis {
public:
  BatchAnalysis(func::FuncOp function, int64_t count) : function(function), count(count) {
    for (Operation &op : function.front().without_terminator())
      if (!isUpdate(&op) && !isPreparation(&op))
        body.push_back(&op);
  }

  LogicalResult run();

  SmallVector<Operation *> body; ///< ops of one micro-batch, in order
  SmallVector<BlockArgument> inputs;
  llvm::SetVector<Value> yielded; ///< what is used after the micro-batches: by ops of part update and as results
  RankedTensorType sliceType(Value value) const {
    RankedTensorType type = tensorType(value);
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, cut] : llvm::enumerate(batchDims.lookup(value)))
      if (cut)
        shape[dim] /= count;
    return withShape(type, shape);
  }

private:
  bool isBatch(Value value, unsigned dim) const {
    auto it = batchDims.find(value);
    return it != batchDims.end() && it->second[dim];
  }
  bool mark(Value value, unsigned dim);
  LogicalResult markInputs();
  void propagate();
  LogicalResult findSums(Operation *op);
  LogicalResult findYielded();

  func::FuncOp function;
  int64_t count;
  DenseMap<Value, SmallVector<bool>> batchDims;
  DenseMap<Operation *, ShardingRule> rules;
  DenseMap<Operation *, SmallVector<bool>> batchFactors;
  DenseSet<Value> sums;
};

bool BatchAnalysis::mark(Value value, unsigned dim) {
  SmallVector<bool> &dims = batchDims[value];
  dims.resize(tensorType(value).getRank());
  bool isNew = !dims[dim];
  dims[dim] = true;
  return isNew;
}

LogicalResult BatchAnalysis::markInputs() {
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr::input);
    if (!name)
      continue;
    auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attr::dims);
    RankedTensorType type = tensorType(argument);
    if (!dims || dims.empty() || type.getRank() == 0 || dims[0] != StringAttr::get(function.getContext(), "batch"))
      return function.emitOpError() << "input " << name << " needs ppc.dims that start with \"batch\"";
    if (type.getDimSize(0) % count)
      return function.emitOpError() << "batch of " << type.getDimSize(0) << " in input " << name
                                    << " is not divisible by " << count << " micro-batches";
    mark(argument, 0);
    inputs.push_back(argument);
  }
  if (inputs.empty())
    return function.emitOpError("has no argument with ppc.input: there is no batch to split");
  return success();
}

// Marks spread from any dimension to all dimensions that the same factor walks, until nothing changes.
void BatchAnalysis::propagate() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : body) {
      ShardingRule &rule = rules[op];
      SmallVector<bool> &factors = batchFactors[op];
      auto visitTensors = [](ValueRange values, ArrayRef<TensorFactors> tensors, auto &&visit) {
        for (auto [value, tensor] : llvm::zip(values, tensors))
          for (auto [dim, dimFactors] : llvm::enumerate(tensor))
            if (!dimFactors.empty())
              visit(value, dim, dimFactors.front()); // the major-most factor is what a block cuts
      };
      auto forEachDim = [&](auto &&visit) {
        visitTensors(op->getOperands(), rule.operands, visit);
        visitTensors(op->getResults(), rule.results, visit);
      };
      forEachDim([&](Value value, unsigned dim, unsigned factor) {
        factors[factor] = factors[factor] || isBatch(value, dim);
      });
      forEachDim([&](Value value, unsigned dim, unsigned factor) {
        if (factors[factor])
          changed |= mark(value, dim);
      });
    }
  }
}

LogicalResult BatchAnalysis::findSums(Operation *op) {
  ShardingRule &rule = rules[op];
  for (auto [factor, cut] : llvm::zip(rule.factors, batchFactors[op]))
    if (cut && factor.needsReplication)
      return op->emitOpError() << "mixes the samples of a batch along its loop '" << factor.name
                               << "' and cannot run per micro-batch";
  auto isSumOperand = [&](unsigned number) { return sums.contains(op->getOperand(number)); };
  unsigned sumOperands = llvm::count_if(llvm::seq<unsigned>(op->getNumOperands()), isSumOperand);
  if (sumOperands) {
    bool linear = llvm::all_of(llvm::seq<unsigned>(op->getNumOperands()), [&](unsigned number) {
      return !isSumOperand(number) || llvm::is_contained(rule.linearOperands, number);
    });
    bool flows = rule.linearity == Linearity::Joint  ? linear && sumOperands == rule.linearOperands.size()
                 : rule.linearity == Linearity::Each ? linear && sumOperands == 1
                                                     : false;
    if (!flows)
      return op->emitOpError("is not linear in a value that sums over the batch, so it cannot run per micro-batch");
  }
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results)) {
    bool reduces = false;
    for (auto [number, factor] : llvm::enumerate(rule.factors))
      if (batchFactors[op][number] && !ShardingRule::contains(tensor, number)) {
        if (factor.combiner != Combiner::Sum)
          return op->emitOpError() << "combines the samples of a batch by " << stringifyCombiner(factor.combiner)
                                   << " and cannot run per micro-batch";
        reduces = true;
      }
    if (sumOperands && (reduces || llvm::is_contained(batchDims.lookup(result), true)))
      return op->emitOpError("mixes samples of a batch with a sum over the batch, so it cannot run per micro-batch");
    if (reduces || sumOperands)
      sums.insert(result);
  }
  return success();
}

LogicalResult BatchAnalysis::run() {
  for (Operation *op : body) {
    auto interface = dyn_cast<ShardingRuleOpInterface>(op);
    if (!interface)
      return op->emitOpError("has no sharding rule, so it cannot run per micro-batch");
    rules[op] = interface.getShardingRule();
    if (rules[op].isNone() && !isa<ConstantOp>(op))
      return op->emitOpError() << "has no sharding rule, so it cannot run per micro-batch: " << rules[op].noneReason;
    batchFactors[op].resize(rules[op].factors.size());
  }
  if (failed(markInputs()))
    return failure();
  propagate();
  for (BlockArgument argument : function.getArguments())
    if (!llvm::is_contained(inputs, argument) && batchDims.contains(argument))
      return function.emitOpError() << "argument " << argument.getArgNumber()
                                    << " would be cut along the batch but is no input";
  for (Operation *op : body) {
    if (failed(findSums(op)))
      return failure();
    auto constant = dyn_cast<ConstantOp>(op);
    if (constant && !isa<SplatElementsAttr>(constant.getValue()) && sliceType(constant) != constant.getType())
      return op->emitOpError(
          "has different elements along the batch, so it cannot run per micro-batch: make it an input");
  }
  return findYielded();
}

// Only sums over the batch can be had from micro-batches.
LogicalResult BatchAnalysis::findYielded() {
  DenseSet<Operation *> inside(body.begin(), body.end());
  for (auto [number, value] : llvm::enumerate(function.front().getTerminator()->getOperands()))
    if (Operation *op = value.getDefiningOp(); !op || (inside.contains(op) && !sums.contains(value)))
      return function.emitOpError() << "result " << number
                                    << " is no sum over the batch: write a mean as a sum times a constant";
  for (Operation *op : body)
    for (Value result : op->getResults()) {
      if (llvm::all_of(result.getUsers(), [&](Operation *user) { return inside.contains(user); }))
        continue;
      if (!sums.contains(result))
        return op->emitOpError("is used in the update, but is no sum over the batch");
      yielded.insert(result);
    }
  return success();
}

/// Moves the analysed ops into an accumulate op.
void rewrite(func::FuncOp function, BatchAnalysis &analysis, int64_t count) {
  DenseSet<Operation *> inside(analysis.body.begin(), analysis.body.end());
  llvm::SetVector<Value> &yielded = analysis.yielded;
  Operation *first = &function.front().front();
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (isPreparation(&op) && &op != first)
      op.moveBefore(first);
    else if (isPreparation(&op))
      first = first->getNextNode();
  OpBuilder builder(first);
  auto accumulate = AccumulateOp::create(builder, function.getLoc(), TypeRange(ValueRange(yielded.getArrayRef())),
                                         ValueRange(SmallVector<Value>(analysis.inputs.begin(), analysis.inputs.end())),
                                         builder.getI64IntegerAttr(count));
  Block *block = builder.createBlock(&accumulate.getBody());
  for (Value result : yielded)
    result.replaceUsesWithIf(accumulate.getSums()[std::distance(yielded.begin(), llvm::find(yielded, result))],
                             [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
  for (Operation *op : analysis.body) {
    op->moveBefore(block, block->end());
    for (Value result : op->getResults())
      result.setType(analysis.sliceType(result));
    if (auto constant = dyn_cast<ConstantOp>(op))
      if (constant.getValue().getType() != constant.getType())
        constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).resizeSplat(constant.getType()));
  }
  for (BlockArgument input : analysis.inputs) {
    BlockArgument slice = block->addArgument(analysis.sliceType(input), input.getLoc());
    input.replaceUsesWithIf(slice, [&](OpOperand &use) { return inside.contains(use.getOwner()); });
  }
  builder.setInsertionPointToEnd(block);
  YieldOp::create(builder, function.getLoc(), yielded.getArrayRef());
}

/// Parameters that are added to the same values have one gradient (biases of parallel branches). Each gets a copy, and
/// so a sum of its own: the update reduces gradients between ranks in place.
void separateResults(func::FuncOp function) {
  DenseSet<Value> seen;
  for (OpOperand &result : function.front().getTerminator()->getOpOperands()) {
    Operation *op = result.get().getDefiningOp();
    if (seen.insert(result.get()).second || !op || isUpdate(op))
      continue;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto copy = SumOp::create(builder, op->getLoc(), result.get().getType(), result.get());
    copy->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    result.set(copy);
  }
}

struct SplitMicrobatchesPass : impl::SplitMicrobatchesPassBase<SplitMicrobatchesPass> {
  using SplitMicrobatchesPassBase::SplitMicrobatchesPassBase;

  void runOnOperation() override {
    int64_t microBatches = count;
    if (auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan); plan && microBatches == 0)
      microBatches = plan.getMicroBatches();
    if (microBatches < 0) {
      getOperation().emitError() << "count is " << microBatches << ", expected at least 1 micro-batch";
      return signalPassFailure();
    }
    microBatches = std::max<int64_t>(microBatches, 1);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !llvm::hasSingleElement(function.getBody())) {
        function.emitOpError("must have one block, the step, to be split into micro-batches");
        return signalPassFailure();
      }
      separateResults(function);
      BatchAnalysis analysis(function, microBatches);
      if (failed(analysis.run()))
        return signalPassFailure();
      rewrite(function, analysis, microBatches);
    }
  }
};

} // namespace
} // namespace mlir::ppc
