// Actions on whole buffers: exchanges, copies, collectives, finite checks.
#include "StageCheck.h"

namespace mlir::ppc {

using namespace ppcrt;

FailureOr<bool> StageCheck::transfer(size_t stage, Operation *action) {
  if (auto exchange = dyn_cast<ExchangeOp>(action))
    return this->exchange(stage, exchange);
  if (auto copy = dyn_cast<CopyOp>(action)) {
    if (failed(this->copy(stage, copy)))
      return failure();
    return true;
  }
  if (auto collective = dyn_cast<CollectiveOp>(action)) {
    if (failed(reduceBuckets(stage, collective)))
      return failure();
    return true;
  }
  if (auto check = dyn_cast<CheckFiniteOp>(action)) {
    for (Attribute buffer : check.getBuffers())
      if (failed(found(stage, buffer, check.getMicroBatch(), action)))
        return failure();
    return true;
  }
  return action->emitOpError() << "stage " << stage << ": is an action that the proof does not know", failure();
}

FailureOr<bool> StageCheck::exchange(size_t stage, ExchangeOp action) {
  for (int64_t microBatch : {int64_t(action.getSentMicroBatch()), int64_t(action.getReceivedMicroBatch())})
    if (microBatch >= interface.microBatches)
      return action->emitOpError() << "stage " << stage << ": works on micro-batch " << microBatch << " of "
                                   << interface.microBatches,
             failure();
  if (hasSent.insert(action).second &&
      failed(send(stage, symbols->message(action.getSentAttr().getAttr()), action.getSentMicroBatch(), action)))
    return failure();
  return receive(stage, symbols->message(action.getReceivedAttr().getAttr()), action.getReceivedMicroBatch(), action);
}

FailureOr<StageCheck::Content> StageCheck::found(size_t stage, Attribute name, std::optional<int64_t> microBatch,
                                                 Operation *action) {
  auto place = stages[stage].bufferByName.find(cast<FlatSymbolRefAttr>(name).getAttr());
  if (place == stages[stage].bufferByName.end())
    return action->emitOpError() << "stage " << stage << ": works on " << name
                                 << ", which is not a buffer of its device",
           failure();
  auto fail = [&] {
    return action->emitOpError() << "stage " << stage << ": takes " << describeBuffer(stage, place->second);
  };
  if (microBatch.value_or(0) >= interface.microBatches)
    return fail() << " of micro-batch " << *microBatch << " of " << interface.microBatches, failure();
  Content &memory = *content(stage, place->second, microBatch.value_or(0));
  if (memory.isSum && failed(completeSum(stage, place->second)))
    return failure();
  if (!memory.isSet)
    return fail() << ", which is empty at this point", failure();
  if (memory.microBatch >= 0 && memory.microBatch != microBatch)
    return fail() << ", which holds the value of micro-batch " << memory.microBatch << ": "
                  << describe(memory.relation, derivation.terms),
           failure();
  return memory;
}

LogicalResult StageCheck::copy(size_t stage, CopyOp action) {
  FailureOr<Content> from = found(stage, action.getFromAttr(), action.getMicroBatch(), action);
  if (failed(from))
    return failure();
  auto to = stages[stage].bufferByName.find(action.getToAttr().getAttr());
  BufferOp target = to == stages[stage].bufferByName.end() ? BufferOp() : stages[stage].buffers[to->second];
  BufferOp source = stages[stage].buffers[stages[stage].bufferByName.lookup(action.getFromAttr().getAttr())];
  if (!target || target.getTensorType() != source.getTensorType())
    return action->emitOpError() << "stage " << stage << ": copies to " << action.getToAttr()
                                 << ", which is not a buffer of type " << source.getTensorType();
  *content(stage, to->second, action.getMicroBatch().value_or(0)) = *from;
  return success();
}

FailureOr<SmallVector<StringAttr, 2>> StageCheck::axesOf(size_t stage, CollectiveOp action) {
  auto group = dyn_cast_or_null<GroupOp>(SymbolTable::lookupSymbolIn(program->getParentOp(), action.getGroupAttr()));
  if (!group || !group.getAxes() || group.getStages() || llvm::is_contained(axisNames(*group.getAxes()), "pp"))
    return action->emitOpError() << "stage " << stage << ": communicates over " << action.getGroupAttr()
                                 << ", which is not a group of mesh axes of a stage",
           failure();
  return derivation.axes.several(*group.getAxes());
}

/// All buffers are taken before any is written.
LogicalResult StageCheck::reduceBuckets(size_t stage, CollectiveOp action) {
  FailureOr<SmallVector<StringAttr, 2>> group = axesOf(stage, action);
  if (failed(group))
    return failure();
  Combiner combiner = action.getReduction() == ReductionKind::Max ? Combiner::Max : Combiner::Sum;
  std::vector<Relation> results;
  for (auto [read, write] : llvm::zip_equal(action.getReads(), action.getWrites())) {
    FailureOr<Content> memory = found(stage, read, action.getMicroBatch(), action);
    if (failed(memory))
      return failure();
    BufferOp from = symbols->buffer(stages[stage].device, cast<FlatSymbolRefAttr>(read).getAttr());
    BufferOp to = symbols->buffer(stages[stage].device, cast<FlatSymbolRefAttr>(write).getAttr());
    if (!to)
      return action->emitOpError() << "stage " << stage << ": writes " << write
                                   << ", which is not a buffer of its device";
    Derived derived = Derived::fail("is a collective that the proof does not know");
    if (action.getKind() == CollectiveKind::AllReduce)
      derived = derivation.reduced(memory->relation, *group, combiner, to.getTensorType());
    else if (action.getKind() == CollectiveKind::ReduceScatter)
      derived = derivation.reducedAndCut(memory->relation, *group, combiner, from.getTensorType(), to.getTensorType());
    else if (action.getKind() == CollectiveKind::AllGather)
      derived = derivation.joined(memory->relation, *group, from.getTensorType(), to.getTensorType());
    if (derived.failed())
      return action->emitOpError() << "stage " << stage << ": " << derived.error;
    results.push_back(std::move(derived.results.front()));
  }
  for (auto [write, relation] : llvm::zip_equal(action.getWrites(), results)) {
    int64_t buffer = stages[stage].bufferByName.lookup(cast<FlatSymbolRefAttr>(write).getAttr());
    Content &memory = *content(stage, buffer, action.getMicroBatch().value_or(0));
    memory = Content();
    memory.isSet = true;
    memory.relation = std::move(relation);
    memory.microBatch = action.getMicroBatch() ? int64_t(*action.getMicroBatch()) : -1;
  }
  return success();
}

} // namespace mlir::ppc
