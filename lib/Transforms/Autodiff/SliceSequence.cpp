// Sequences in slices: each op with a loop over the sequence becomes one op for each slice of it. The sharding rules
// determine these loops, and how the other results of the slices combine.
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Transforms/Autodiff/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SLICESEQUENCEPASS
#include "ppc/Transforms/Autodiff/Passes.h.inc"

namespace {

/// A value with a dimension along the sequence.
struct Sequence {
  int64_t dim = 0;
  SmallVector<Value> slices; ///< slices of computed values; inputs are sliced for each user
};

class SequenceSlicer {
public:
  SequenceSlicer(func::FuncOp function, int64_t count) : function(function), count(count), builder(function) {}
  LogicalResult run();

private:
  LogicalResult findInputs();
  /// Slices `op` if an operand has a dimension along the sequence.
  LogicalResult visit(Operation *op);
  LogicalResult slice(Operation *op, const ShardingRule &rule, unsigned loop);
  LogicalResult sliceAttention(AttentionOp op);
  bool walksPositions(AttentionOp op);
  /// The slices of keys, or values, along the sequence; empty if they are not along it.
  FailureOr<SmallVector<Value>> keyParts(Value value, AttentionOp op);
  /// The keys, or values, that the queries of one slice see.
  Value keysOf(Value value, ArrayRef<Value> parts, AttentionOp op, int64_t number);
  /// Slices of `value` along `dim`, for `user`.
  FailureOr<SmallVector<Value>> slicesOf(Value value, int64_t dim, Operation *user);
  /// A copy of `op` for one slice, with other operands. Types of results are unchanged.
  Operation *copy(Operation *op, ValueRange operands, int64_t number);
  /// Records the results of `op`, slice by slice.
  void keep(Value value, int64_t dim, ArrayRef<Operation *> copies);
  void label(Operation *op, Operation *like, int64_t number);
  /// Labels ops outside of slices that read results of slices with the last slice that they read.
  void labelRest();
  /// Checks that no slice reads results of a later one.
  LogicalResult checkOrder();
  RankedTensorType sliceType(Value value, int64_t dim) const {
    SmallVector<int64_t> shape(tensorType(value).getShape());
    shape[dim] /= count;
    return withShape(tensorType(value), shape);
  }
  static InFlightDiagnostic refuse(Operation *op) { return op->emitOpError("cannot run in slices of the sequence: "); }

  func::FuncOp function;
  int64_t count;
  OpBuilder builder;
  DenseMap<Value, Sequence> sequences;
  DenseSet<Operation *> replaced;
};

LogicalResult SequenceSlicer::findInputs() {
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr::input);
    auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attr::dims);
    if (!name || !dims)
      continue;
    for (auto [dim, dimension] : llvm::enumerate(axisNames(dims))) {
      if (dimension != "sequence")
        continue;
      if (int64_t length = tensorType(argument).getDimSize(dim); length % count)
        return function.emitOpError() << "input " << name << " has sequences of " << length
                                      << " tokens, which cannot be split into " << count
                                      << " slices: use sequences that " << count << " divides, or another schedule";
      sequences[argument].dim = int64_t(dim);
    }
  }
  if (sequences.empty())
    return function.emitOpError(
        "has no ppc.input with a dimension \"sequence\" in ppc.dims: there is nothing to slice");
  return success();
}

void SequenceSlicer::label(Operation *op, Operation *like, int64_t number) {
  op->setAttr(attr::slice, builder.getI64IntegerAttr(number));
  if (Attribute layer = like->getAttr(attr::layer))
    op->setAttr(attr::layer, layer);
}

Operation *SequenceSlicer::copy(Operation *op, ValueRange operands, int64_t number) {
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  Operation *result = builder.cloneWithoutRegions(*op, mapping);
  label(result, op, number);
  return result;
}

void SequenceSlicer::keep(Value value, int64_t dim, ArrayRef<Operation *> copies) {
  unsigned number = cast<OpResult>(value).getResultNumber();
  Sequence &sequence = sequences[value];
  sequence.dim = dim;
  for (Operation *own : copies) {
    own->getResult(number).setType(sliceType(value, dim));
    sequence.slices.push_back(own->getResult(number));
  }
}

/// The dimension of `tensor` that `loop` walks, if one does; -2 where it walks it together with other loops.
static int64_t dimensionOf(const TensorFactors &tensor, unsigned loop) {
  for (auto [dim, factors] : llvm::enumerate(tensor))
    if (llvm::is_contained(factors, loop))
      return factors.size() == 1 ? int64_t(dim) : -2;
  return -1;
}

FailureOr<SmallVector<Value>> SequenceSlicer::slicesOf(Value value, int64_t dim, Operation *user) {
  auto known = sequences.find(value);
  if (known != sequences.end() && known->second.dim != dim)
    return failure();
  if (known != sequences.end() && !known->second.slices.empty())
    return known->second.slices;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op);
      op && !constant) { // independent of the inputs, but as long as the sequence
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    const TensorFactors &factors = rule.results[cast<OpResult>(value).getResultNumber()];
    if (factors[dim].size() != 1 || failed(slice(op, rule, factors[dim].front())))
      return failure();
    return sequences[value].slices;
  }
  SmallVector<Value> parts;
  RankedTensorType type = sliceType(value, dim);
  for (int64_t number = 0; number < count; ++number) {
    auto split = SplitOp::create(builder, user->getLoc(), SmallVector<Type>(count, type), value, uint64_t(dim));
    label(split, user, number);
    parts.push_back(split.getParts()[number]);
  }
  return parts;
}

LogicalResult SequenceSlicer::slice(Operation *op, const ShardingRule &rule, unsigned loop) {
  const Factor &factor = rule.factors[loop];
  if (factor.needsReplication)
    return refuse(op) << "its loop '" << factor.name << "' walks the sequence as a whole";
  SmallVector<SmallVector<Value>> operands(count, op->getOperands());
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    int64_t dim = dimensionOf(rule.operands[number], loop);
    if (dim == -1)
      continue;
    FailureOr<SmallVector<Value>> parts = failure();
    if (dim >= 0)
      parts = slicesOf(operand, dim, op);
    if (failed(parts))
      return refuse(op) << "operand " << number << " does not lie along the sequence as a dimension of its own";
    for (int64_t i = 0; i < count; ++i)
      operands[i][number] = (*parts)[i];
  }
  SmallVector<Operation *> copies;
  for (int64_t i = 0; i < count; ++i) {
    copies.push_back(copy(op, operands[i], i));
    if (factor.positional &&
        !cast<ShardingRuleOpInterface>(copies.back()).setFactorStart(loop, i * (factor.size / count)))
      return refuse(op) << "it depends on the position in the sequence, along its loop '" << factor.name << "'";
  }
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    int64_t dim = dimensionOf(rule.results[number], loop);
    if (dim == -2)
      return refuse(op) << "result " << number << " does not lie along the sequence as a dimension of its own";
    if (dim >= 0) {
      keep(result, dim, copies);
      continue;
    }
    if (factor.combiner != Combiner::Sum)
      return refuse(op) << "it combines values over the sequence other than by a sum";
    Value sum = copies[0]->getResult(number);
    for (int64_t i = 1; i < count; ++i) {
      sum = AddOp::create(builder, op->getLoc(), sum, copies[i]->getResult(number));
      label(sum.getDefiningOp(), op, i);
    }
    result.replaceUsesWithIf(sum, [&](OpOperand &use) { return use.getOwner() != op; });
  }
  replaced.insert(op);
  return success();
}

static RankedTensorType withLength(Value value, int64_t length) {
  SmallVector<int64_t> shape(tensorType(value).getShape());
  shape[1] = length;
  return withShape(tensorType(value), shape);
}

FailureOr<SmallVector<Value>> SequenceSlicer::keyParts(Value value, AttentionOp op) {
  if (!sequences.contains(value)) // values that do not depend on an input are complete from the first slice on
    return SmallVector<Value>();
  if (!op.getCausal() || tensorType(value).getDimSize(1) != tensorType(op.getQ()).getDimSize(1))
    return failure();
  return slicesOf(value, 1, op);
}

Value SequenceSlicer::keysOf(Value value, ArrayRef<Value> parts, AttentionOp op, int64_t number) {
  const int64_t length = tensorType(value).getDimSize(1), queries = tensorType(op.getQ()).getDimSize(1);
  const int64_t end = op.getCausal() ? (number + 1) * (queries / count) + length - queries : length;
  if (parts.empty() && end == length)
    return value;
  if (parts.empty()) {
    Type types[] = {withLength(value, end), withLength(value, length - end)};
    auto split = SplitOp::create(builder, op.getLoc(), types, value, uint64_t(1));
    label(split, op, number);
    return split.getParts().front();
  }
  if (number == 0)
    return parts.front();
  auto concat =
      ConcatOp::create(builder, op.getLoc(), withLength(value, end), parts.take_front(number + 1), uint64_t(1));
  label(concat, op, number);
  return concat;
}

/// Slice i asks the keys that its queries see: of keys along the sequence those of all slices up to its own, in whose
/// order they lie.
LogicalResult SequenceSlicer::sliceAttention(AttentionOp op) {
  auto lies = [&](Value value) { return sequences.contains(value); };
  if (!op.getCausal() && (lies(op.getK()) || lies(op.getV()) || op.getSlopes()))
    return refuse(op) << "a slice would read positions after it: only causal attention can be split into slices";
  if (op.getQueries() || (op.getSlopes() && lies(op.getSlopes())))
    return refuse(op) << "queries are one block of a sequence, or the sequence gives slopes";
  auto queries = slicesOf(op.getQ(), 1, op);
  auto keys = keyParts(op.getK(), op), values = keyParts(op.getV(), op);
  if (failed(queries) || failed(keys) || failed(values))
    return refuse(op) << "queries, keys and values are not all split along their positions, or there are not as many "
                         "keys along the sequence as queries";
  SmallVector<Operation *> copies;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> operands = {(*queries)[i], keysOf(op.getK(), *keys, op, i), keysOf(op.getV(), *values, op, i)};
    if (op.getSlopes())
      operands.push_back(op.getSlopes());
    copies.push_back(copy(op, operands, i));
  }
  keep(op.getOut(), 1, copies);
  keep(op.getLse(), 1, copies);
  replaced.insert(op);
  return success();
}

/// Whether the sequence is the dimension of queries or keys, and not a batch or heads.
bool SequenceSlicer::walksPositions(AttentionOp op) {
  return llvm::any_of(ValueRange{op.getQ(), op.getK(), op.getV()}, [&](Value operand) {
    auto known = sequences.find(operand);
    return known != sequences.end() && known->second.dim == 1;
  });
}

LogicalResult SequenceSlicer::visit(Operation *op) {
  auto isAlong = [&](Value operand) { return sequences.contains(operand); };
  if (llvm::none_of(op->getOperands(), isAlong) || replaced.contains(op))
    return success();
  builder.setInsertionPoint(op);
  if (auto attention = dyn_cast<AttentionOp>(op); attention && walksPositions(attention))
    return sliceAttention(attention);
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  ShardingRule rule = sharded ? sharded.getShardingRule() : ShardingRule::none("it has no sharding rule");
  if (rule.isNone())
    return refuse(op) << rule.noneReason;
  std::optional<unsigned> loop;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    auto known = sequences.find(operand);
    if (known == sequences.end())
      continue;
    const auto &factors = rule.operands[number][known->second.dim];
    if (factors.size() != 1 || (loop && *loop != factors.front()))
      return refuse(op) << "operand " << number << " does not lie along the sequence as a dimension of its own";
    loop = factors.front();
  }
  return slice(op, rule, *loop);
}

void SequenceSlicer::labelRest() {
  for (Operation &op : function.front().without_terminator()) {
    int64_t latest = 0;
    for (Value operand : op.getOperands())
      if (Operation *made = operand.getDefiningOp())
        if (auto own = made->getAttrOfType<IntegerAttr>(attr::slice))
          latest = std::max(latest, own.getInt());
    if (latest > 0 && !op.hasAttr(attr::slice))
      op.setAttr(attr::slice, builder.getI64IntegerAttr(latest));
  }
}

LogicalResult SequenceSlicer::checkOrder() {
  auto sliceOf = [](Operation *op) {
    auto own = op ? op->getAttrOfType<IntegerAttr>(attr::slice) : IntegerAttr();
    return own ? own.getInt() : 0;
  };
  for (Operation &op : function.front().without_terminator())
    for (Value operand : op.getOperands())
      if (int64_t made = sliceOf(operand.getDefiningOp()); made > sliceOf(&op) && !replaced.contains(&op))
        return refuse(&op) << "slice " << sliceOf(&op) << " would read what slice " << made << " computes after it";
  return success();
}

LogicalResult SequenceSlicer::run() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("must have one block, the loss, to be split into slices of its sequences");
  if (failed(findInputs()))
    return failure();
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(visit(op)))
      return failure();
  for (Value result : function.front().getTerminator()->getOperands())
    if (sequences.contains(result))
      return function.emitOpError("returns a value that lies along the sequence, expected a loss");
  labelRest();
  if (failed(checkOrder()))
    return failure();
  for (Operation *op : llvm::reverse(ops)) // ops sliced on demand may precede the ops that demanded it
    if (replaced.contains(op) && op->use_empty())
      op->erase();
  return success();
}

struct SliceSequencePass : impl::SliceSequencePassBase<SliceSequencePass> {
  using SliceSequencePassBase::SliceSequencePassBase;

  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan);
    int64_t slices = count  ? int64_t(count)
                     : plan ? defaultSlices(plan.getSchedule().getValue(), plan.getPipelineDevices())
                            : 1;
    if (slices < 1) {
      getOperation().emitError() << "count is " << slices << ", expected at least 1";
      return signalPassFailure();
    }
    if (slices == 1)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(SequenceSlicer(function, slices).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace mlir::ppc
