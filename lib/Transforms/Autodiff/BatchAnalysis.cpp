// Finds the loops over samples, and the effect of splitting them, by the sharding rules.
#include "BatchAnalysis.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ppc {

bool isUpdate(Operation *op) {
  auto part = op->getAttrOfType<PartAttr>(attr::part);
  return part && part.getValue() == Part::Update;
}

bool isPreparation(Operation *op) {
  auto argument = isa<ConvertOp>(op) ? dyn_cast<BlockArgument>(op->getOperand(0)) : BlockArgument();
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), attr::parameter);
}

static constexpr StringRef kOneMicroBatch = ": it takes all samples in one micro-batch";

/// `type` with `size` elements along `dim`.
static RankedTensorType withDimSize(RankedTensorType type, unsigned dim, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return withShape(type, shape);
}

/// The dimension of `tensor` that `loop` walks alone.
static std::optional<unsigned> ownDimensionOf(const TensorFactors &tensor, unsigned loop) {
  for (auto [dim, factors] : llvm::enumerate(tensor))
    if (factors.size() == 1 && factors.front() == loop)
      return unsigned(dim);
  return std::nullopt;
}

static ShardingRule batchRuleOf(Operation *op) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  return interface ? interface.getShardingRule() : ShardingRule::none("");
}

BatchAnalysis::BatchAnalysis(func::FuncOp function, int64_t count) : function(function), count(count) {
  for (Operation &op : function.front().without_terminator())
    if (!isUpdate(&op) && !isPreparation(&op))
      body.push_back(&op);
}

RankedTensorType BatchAnalysis::partType(Value value) const {
  RankedTensorType type = tensorType(value);
  auto dim = batchDims.find(value);
  return dim == batchDims.end() ? type : withDimSize(type, dim->second, type.getDimSize(dim->second) / count);
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
    batchDims[argument] = 0;
    inputs.push_back(argument);
  }
  if (inputs.empty())
    return function.emitOpError("has no argument with ppc.input: there is no batch to split");
  return success();
}

FailureOr<std::optional<unsigned>> BatchAnalysis::batchLoop(Operation *op, const ShardingRule &rule) {
  std::optional<unsigned> loop;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    auto along = batchDims.find(operand);
    if (along == batchDims.end())
      continue;
    const auto &factors = rule.operands[number][along->second];
    if (factors.size() != 1)
      return op->emitOpError() << "takes dimension " << along->second << " of operand " << number
                               << ", the samples of a batch, apart or together with other dimensions, and cannot run "
                                  "per micro-batch"
                               << kOneMicroBatch;
    if (loop && *loop != factors.front())
      return op->emitOpError() << "pairs the samples of a batch with each other, along its loops '"
                               << rule.factors[*loop].name << "' and '" << rule.factors[factors.front()].name
                               << "', and cannot run per micro-batch" << kOneMicroBatch;
    loop = factors.front();
  }
  if (!loop)
    return loop;
  const Factor &factor = rule.factors[*loop];
  if (factor.needsReplication)
    return op->emitOpError() << "mixes the samples of a batch along its loop '" << factor.name
                             << "' and cannot run per micro-batch" << kOneMicroBatch;
  if (factor.positional)
    return op->emitOpError() << "depends on the number of a sample in the batch, along its loop '" << factor.name
                             << "', and cannot run per micro-batch" << kOneMicroBatch;
  return loop;
}

LogicalResult BatchAnalysis::visit(Operation *op) {
  auto isSum = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return sums.contains(operand); });
  bool hasSums = llvm::is_contained(isSum, true);
  if (!hasSums && llvm::none_of(op->getOperands(), [&](Value operand) { return isAlongBatch(operand); }))
    return success();
  if (!isa<ShardingRuleOpInterface>(op))
    return op->emitOpError("has no sharding rule, so it cannot run per micro-batch");
  ShardingRule rule = batchRuleOf(op);
  if (rule.isNone())
    return op->emitOpError() << "has no sharding rule, so it cannot run per micro-batch: " << rule.noneReason;
  FailureOr<std::optional<unsigned>> loop = batchLoop(op, rule);
  if (failed(loop))
    return failure();
  if (hasSums && *loop)
    return op->emitOpError("mixes samples of a batch with a sum over the batch, so it cannot run per micro-batch")
           << kOneMicroBatch;
  if (hasSums)
    return visitSums(op, rule, isSum);
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<unsigned> dim = ownDimensionOf(rule.operands[operand.getOperandNumber()], **loop);
    if (!dim || isAlongBatch(operand.get()))
      continue;
    if (failed(checkParts(operand.get(), *dim, op)))
      return failure();
    parts.push_back({&operand, *dim});
  }
  const Factor &factor = rule.factors[**loop];
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results)) {
    if (std::optional<unsigned> dim = ownDimensionOf(tensor, **loop)) {
      batchDims[result] = *dim;
      continue;
    }
    if (factor.combiner != Combiner::Sum)
      return op->emitOpError() << "combines the samples of a batch by " << stringifyCombiner(factor.combiner)
                               << " and cannot run per micro-batch" << kOneMicroBatch;
    sums.insert(result);
  }
  return success();
}

LogicalResult BatchAnalysis::visitSums(Operation *op, const ShardingRule &rule, ArrayRef<bool> isSum) {
  auto isLinear = [&](unsigned number) { return llvm::is_contained(rule.linearOperands, number); };
  auto numbers = llvm::seq<unsigned>(op->getNumOperands());
  bool flows = llvm::all_of(numbers, [&](unsigned number) { return !isSum[number] || isLinear(number); });
  // Rounding counts as the identity, as it does where gradients are built.
  if (isa<ConvertOp>(op))
    flows = true;
  else if (rule.linearity == Linearity::Each)
    flows &= llvm::count(isSum, true) == 1;
  else if (rule.linearity != Linearity::Joint)
    flows = false;
  if (!flows)
    return op->emitOpError("is not linear in a value that sums over the batch, so it cannot run per micro-batch")
           << kOneMicroBatch;
  if (rule.linearity == Linearity::Joint)
    for (OpOperand &operand : op->getOpOperands())
      if (!isSum[operand.getOperandNumber()])
        divided.push_back(&operand);
  for (Value result : op->getResults())
    sums.insert(result);
  return success();
}

/// Whether `elements` are the same in each of `count` parts along `dim`.
static bool isRepeated(DenseElementsAttr elements, unsigned dim, int64_t count) {
  if (elements.isSplat())
    return true;
  ArrayRef<int64_t> shape = cast<ShapedType>(elements.getType()).getShape();
  int64_t run = 1; // elements of a part that lie together
  for (int64_t size : shape.drop_front(dim))
    run *= size;
  run /= count;
  auto values = elements.getValues<Attribute>();
  for (int64_t i = 0, end = elements.getNumElements(); i < end; ++i)
    if (i / run % count > 0 && values[i] != values[i - run])
      return false;
  return true;
}

LogicalResult BatchAnalysis::checkParts(Value value, unsigned dim, Operation *user) {
  if (!checked.insert({value, dim}).second)
    return success();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr::parameter);
    InFlightDiagnostic error = user->emitOpError()
                               << "would split dimension " << dim << " of argument " << argument.getArgNumber();
    if (name)
      error << ", parameter " << name << ",";
    return error << " along the batch, but the argument is not an input" << kOneMicroBatch;
  }
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (elements && isRepeated(elements, dim, count))
      return success();
    return op->emitOpError(
        "has different elements along the batch, so it cannot run per micro-batch: make it an input");
  }
  ShardingRule rule = batchRuleOf(op);
  auto refuse = [&](const Twine &why) {
    InFlightDiagnostic error = user->emitOpError() << "needs a part of a value for each micro-batch" << kOneMicroBatch;
    error.attachNote(op->getLoc()) << "which " << op->getName() << " cannot compute: " << why;
    return error;
  };
  if (isPreparation(op))
    return checkParts(op->getOperand(0), dim, user);
  if (sums.contains(value))
    return user->emitOpError("mixes samples of a batch with a sum over the batch, so it cannot run per micro-batch")
           << kOneMicroBatch;
  if (rule.isNone())
    return refuse("it has no sharding rule");
  const auto &factors = rule.results[cast<OpResult>(value).getResultNumber()][dim];
  if (factors.size() != 1)
    return refuse("it takes the dimension apart or together with others");
  const Factor &factor = rule.factors[factors.front()];
  if (factor.needsReplication || factor.positional)
    return refuse("its loop '" + factor.name + "' cannot be split");
  for (OpOperand &operand : op->getOpOperands())
    if (std::optional<unsigned> own = ownDimensionOf(rule.operands[operand.getOperandNumber()], factors.front()))
      if (failed(checkParts(operand.get(), *own, user)))
        return failure();
  return success();
}

LogicalResult BatchAnalysis::run() {
  if (failed(markInputs()))
    return failure();
  if (count > 1)
    for (Operation *op : body)
      if (failed(visit(op)))
        return failure();
  return findYielded();
}

// Only sums over the batch, and values that are equal for all samples, can be computed from several micro-batches.
LogicalResult BatchAnalysis::findYielded() {
  DenseSet<Operation *> inside(body.begin(), body.end());
  for (auto [number, value] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
    Operation *op = value.getDefiningOp();
    if (!op || (inside.contains(op) && isAlongBatch(value)))
      return function.emitOpError() << "result " << number
                                    << " is not a sum over the batch: write a mean as a sum times a constant";
  }
  for (Operation *op : body)
    for (Value result : op->getResults()) {
      if (llvm::all_of(result.getUsers(), [&](Operation *user) { return inside.contains(user); }))
        continue;
      if (isAlongBatch(result))
        return op->emitOpError("is used in the update, but is not a sum over the batch");
      yielded.insert(result);
    }
  return success();
}

//===-- Rewriting ---------------------------------------------------------===//

/// The value by which all micro-batches together count `value` once.
static Value dividedBy(Value value, int64_t count, Operation *like) {
  OpBuilder builder(like->getContext());
  if (Operation *op = value.getDefiningOp())
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPoint(like);
  auto scale = ScaleOp::create(builder, value.getLoc(), value, builder.getF64FloatAttr(1.0 / double(count)));
  scale->setDiscardableAttrs(like->getDiscardableAttrDictionary());
  return scale;
}

Value BatchAnalysis::partOf(Value value, unsigned dim) {
  if (Value known = made.lookup({value, dim}))
    return known;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  RankedTensorType type = withDimSize(tensorType(value), dim, tensorType(value).getDimSize(dim) / count);
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    SmallVector<Attribute> first; // part
    int64_t run = 1;
    for (int64_t size : tensorType(value).getShape().drop_front(dim))
      run *= size;
    for (int64_t i = 0; !elements.isSplat() && i < elements.getNumElements(); ++i)
      if (i % run < run / count)
        first.push_back(elements.getValues<Attribute>()[i]);
    auto copy = cast<ConstantOp>(builder.clone(*op));
    copy.getResult().setType(type);
    copy.setValueAttr(elements.isSplat() ? elements.resizeSplat(type) : DenseElementsAttr::get(type, first));
    return made[{value, dim}] = copy.getResult();
  }
  ShardingRule rule = batchRuleOf(op);
  unsigned loop = rule.results[cast<OpResult>(value).getResultNumber()][dim].front();
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands())
    if (std::optional<unsigned> own = ownDimensionOf(rule.operands[operand.getOperandNumber()], loop))
      mapping.map(operand.get(), partOf(operand.get(), *own));
  Operation *copy = builder.clone(*op, mapping);
  for (auto [result, whole, tensor] : llvm::zip(copy->getResults(), op->getResults(), rule.results))
    if (std::optional<unsigned> own = ownDimensionOf(tensor, loop)) {
      result.setType(withDimSize(tensorType(whole), *own, tensorType(whole).getDimSize(*own) / count));
      made[{whole, *own}] = result;
    }
  return made.lookup({value, dim});
}

void BatchAnalysis::makeParts() {
  SetVector<Operation *> replaced; // by parts
  Operation *terminator = function.front().getTerminator();
  for (auto [operand, dim] : parts)
    operand->set(partOf(operand->get(), dim));
  for (auto [key, part] : made)
    replaced.insert(key.first.getDefiningOp());
  for (OpOperand *operand : divided)
    operand->set(dividedBy(operand->get(), count, operand->getOwner()));
  SmallVector<Value> results(yielded.begin(), yielded.end());
  DenseSet<Operation *> inside(body.begin(), body.end());
  for (Value &value : results)
    if (count > 1 && !sums.contains(value)) {
      Value own = dividedBy(value, count, value.getDefiningOp());
      value.replaceUsesWithIf(own, [&](OpOperand &use) {
        return use.getOwner() != own.getDefiningOp() && !inside.contains(use.getOwner());
      });
      value = own;
    }
  yielded = llvm::SetVector<Value>(results.begin(), results.end());
  for (Operation *op : llvm::reverse(body))
    if (replaced.contains(op) && op->use_empty())
      op->erase();
  body.clear();
  for (Operation &op : function.front().without_terminator())
    if (&op != terminator && !isUpdate(&op) && !isPreparation(&op))
      body.push_back(&op);
}

} // namespace mlir::ppc
