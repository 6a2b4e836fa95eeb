// Op by op through a function; micro-batches by their one body.
#include "FunctionWalk.h"
#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

TermId microBatchTerm(TermTable &terms, TermId term, int64_t count, RankedTensorType slice) {
  OpKey key{"micro_batch", {}, {term}, {count}};
  return terms
      .add(key, {SmallVector<int64_t>(slice.getShape())}, {slice.getElementType()},
           "micro-batch of " + terms[term].label)
      .front();
}

AllReduceOp FunctionWalk::waitsAt() {
  auto reduce = next == function.front().end() ? AllReduceOp() : dyn_cast<AllReduceOp>(*next);
  return reduce && llvm::is_contained(axisNames(reduce.getAxes()), "pp") ? reduce : AllReduceOp();
}

void FunctionWalk::resume(Relation relation) {
  define(waitsAt().getY(), Known(std::move(relation)));
  ++opCount;
  ++next;
}

LogicalResult FunctionWalk::run() {
  for (; !waitsAt() && !isa<func::ReturnOp>(*next); ++next)
    if (failed(walk(&*next)))
      return failure();
  return requireWhole(&*next);
}

LogicalResult FunctionWalk::requireWhole(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto known = values.find(operand); known != values.end() && !known->second.relation.pieces.empty())
      return error(op) << "uses a chunk as the full value: " << describe(known->second.relation, derivation.terms);
  return success();
}

std::vector<Known> FunctionWalk::results() {
  std::vector<Known> results;
  for (Value value : next->getOperands())
    results.push_back(values.lookup(value));
  return results;
}

LogicalResult FunctionWalk::walk(Operation *op) {
  if (isa<ppcrt::ReachOp>(op)) // computes nothing; ppc-verify-program checks its effect on buffers
    return success();
  ++opCount;
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    return walkAccumulate(accumulate);
  SmallVector<Relation> operands;
  bool accumulates = false;
  for (Value operand : op->getOperands()) {
    auto it = values.find(operand);
    if (it == values.end())
      return error(op) << "uses a value whose relation to the logical program is unknown";
    accumulates |= it->second.accumulator >= 0;
    operands.push_back(it->second.relation);
  }
  if (accumulates) {
    FailureOr<Known> known = addToAccumulator(op);
    if (failed(known))
      return failure();
    define(op->getResult(0), std::move(*known));
    return success();
  }
  if (op->getNumRegions() || !op->getDialect() || !isa<PpcDialect>(op->getDialect()))
    return error(op) << "has no rule of equivalence";
  Derived derived = derivation.derive(op, operands);
  if (derived.failed())
    return error(op) << derived.error;
  for (auto [result, relation] : llvm::zip_equal(op->getResults(), derived.results))
    define(result, Known(std::move(relation)));
  return success();
}

/// The running sum of a buffer grows; nothing else can be done with it before all micro-batches are in.
FailureOr<Known> FunctionWalk::addToAccumulator(Operation *op) {
  if (failed(requireWhole(op)))
    return failure();
  if (!isa<AddOp, SumOp>(op))
    return error(op) << "uses a sum over micro-batches before it is complete";
  Known sum;
  for (Value operand : op->getOperands()) {
    const Known &known = values.find(operand)->second;
    if (known.accumulator < 0) {
      sum.added.push_back(known.relation);
      continue;
    }
    if (sum.accumulator >= 0)
      return error(op) << "adds two sums over micro-batches before they are complete";
    sum.accumulator = known.accumulator;
    sum.added.insert(sum.added.end(), known.added.begin(), known.added.end());
  }
  return sum;
}

LogicalResult FunctionWalk::walkAccumulate(AccumulateOp op) {
  TermTable &terms = derivation.terms;
  int64_t count = op.getMicroBatches();
  Block &body = op.getBody().front();
  if (failed(requireWhole(op)))
    return failure();
  for (auto [input, argument] : llvm::zip_equal(op.getInputs(), body.getArguments())) {
    auto it = values.find(input);
    if (it == values.end())
      return error(op) << "uses a value whose relation to the logical program is unknown";
    Relation slice = it->second.relation;
    const Term &whole = terms[slice.term];
    RankedTensorType type = tensorType(argument);
    if (!slice.pending.empty() || whole.shape.empty() || whole.shape[0] == kAnyExtent || whole.shape[0] % count ||
        derivation.axes.isUneven(whole.shape[0] / count, slice.cuts[0].axes))
      return error(op) << "cannot split operand " << argument.getArgNumber() << " into " << count
                       << " micro-batches: it is " << describe(slice, terms);
    // The ranks that shard dimension 0 read each micro-batch by its own blocks: the data loader assigns samples to
    // ranks.
    SmallVector<int64_t> shape(whole.shape);
    shape[0] /= count;
    slice.term = microBatchTerm(terms, slice.term, count, RankedTensorType::get(shape, type.getElementType()));
    if (derivation.axes.localSize(shape[0], slice.cuts[0].axes) != type.getDimSize(0))
      return error(op) << "takes micro-batches of " << type.getDimSize(0) << " rows of operand "
                       << argument.getArgNumber();
    define(argument, Known(slice));
  }
  for (Operation &inner : body.without_terminator())
    if (failed(walk(&inner)))
      return failure();
  if (failed(requireWhole(body.getTerminator())))
    return failure();
  for (auto [yielded, sum] : llvm::zip_equal(body.getTerminator()->getOperands(), op.getResults())) {
    Relation relation = values.find(yielded)->second.relation;
    relation.term = terms.accumulated(relation.term, count);
    define(sum, Known(relation));
  }
  return success();
}

} // namespace mlir::ppc
