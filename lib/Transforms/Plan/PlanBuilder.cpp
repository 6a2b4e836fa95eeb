#include "PlanBuilder.h"

#include "PlanAttrSections.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Planning/Chain/StageCutter.h"
#include "ppc/Planning/Files/PlanPreset.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Support/Limits.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InterleavedRange.h"

namespace mlir::ppc {
namespace {

class PlanBuilder : ParallelLayout {
public:
  PlanBuilder(ModuleOp module, const ParallelLayout &layout, const TargetCapabilities &target)
      : ParallelLayout(layout), module(module), target(target) {}
  FailureOr<PlanAttr> build();

private:
  LogicalResult checkDegrees();
  /// That the axes of tp besides its columns cut what they are to cut evenly.
  LogicalResult checkTensorAxes(int64_t sequence);
  LogicalResult checkContext(int64_t sequence);
  LogicalResult checkExchange();
  LogicalResult checkSlices(int64_t sequence);
  /// What experts with queues for their tokens cannot be beside, if the model has such.
  LogicalResult refuseQueues(const Twine &what);
  LogicalResult checkExperts();
  LogicalResult checkShardGroup();
  LogicalResult checkStateGroups();
  /// That programs run it; sets `vp` where it is not given.
  LogicalResult checkSchedule();
  LogicalResult checkTensorNames(PlanAttr plan);
  FailureOr<SmallVector<int64_t>> cutStagesByPins(ArrayRef<LayerCost> layers);
  FailureOr<SmallVector<LayerCost>> layerCosts();

  ModuleOp module;
  const TargetCapabilities &target;
};

FailureOr<SmallVector<LayerCost>> PlanBuilder::layerCosts() {
  SmallVector<double> flops;
  WalkResult result = module.walk([&](CostOpInterface op) {
    auto layer = op->getAttrOfType<IntegerAttr>(attr::layer);
    if (!layer)
      return WalkResult::advance();
    if (layer.getInt() < 0 || layer.getInt() > limits::moduleOps) {
      op->emitOpError() << "has ppc.layer " << layer.getInt() << ", expected 0 to " << limits::moduleOps;
      return WalkResult::interrupt();
    }
    if (size_t(layer.getInt()) >= flops.size())
      flops.resize(layer.getInt() + 1);
    flops[layer.getInt()] += op.getCost().flops;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (flops.empty())
    flops.push_back(0); // a model without layers is one layer
  SmallVector<LayerCost> layers;
  for (double count : flops) // relative times are enough
    layers.push_back({Seconds(count), Bytes(0)});
  return layers;
}

FailureOr<SmallVector<int64_t>> PlanBuilder::cutStagesByPins(ArrayRef<LayerCost> layers) {
  if (stageLayers.empty()) {
    llvm::Expected<StageCut> cut = cutStages(layers, pp * vp);
    if (!cut)
      return module.emitError() << llvm::toString(cut.takeError()) << " (pp " << pp << " x vp " << vp << ")";
    return llvm::to_vector(cut->firstLayer);
  }
  if (int64_t(stageLayers.size()) != pp * vp)
    return module.emitError() << "layers-per-stage names " << stageLayers.size() << " stages, "
                              << (vp > 1 ? "pp x vp" : "pp") << " is " << pp * vp;
  int64_t next = 1, between = std::max<int64_t>(layers.size(), 2) - 2; // embedding and head stand at the ends
  SmallVector<int64_t> first;
  for (int64_t count : stageLayers) {
    first.push_back(first.empty() ? 0 : next);
    if (count < 0)
      return module.emitError() << "layers-per-stage has a stage of " << count << " layers";
    next += count;
  }
  if (next - 1 != between)
    return module.emitError() << "layers-per-stage adds up to " << next - 1 << " layers, the model has " << between;
  return first;
}

LogicalResult PlanBuilder::checkDegrees() {
  for (auto [name, value] : {std::pair("dp", dp), std::pair("tp", tp), std::pair("pp", pp), std::pair("vp", vp),
                             std::pair("cp", cp), std::pair("ep", ep), std::pair("micro-batch", microBatch)})
    if (value < 1)
      return module.emitError() << name << " is " << value << ", expected at least 1";
  if (!llvm::is_contained(target.zero, zero))
    return module.emitError() << "zero is " << zero << ": programs of this target run levels "
                              << llvm::formatv("{0}", llvm::interleaved(target.zero)).str();
  if (!llvm::is_contained(target.offloads, offload))
    return module.emitError() << "programs of target " << target.name << " do not have offload " << toString(offload);
  int64_t sequence = logicalDimension(module, "sequence");
  if (sequenceParallel && tp > 1 && !sequence)
    return module.emitError(
        "no argument has a dimension called \"sequence\" in ppc.dims, which sequence parallelism shards");
  if (sequenceParallel && tensorColumns() > sequence && tp > 1)
    return module.emitError() << "sequence parallelism cannot shard sequences of " << sequence << " tokens over tp "
                              << tp;
  if (failed(checkTensorAxes(sequence)) || failed(checkContext(sequence)) || failed(checkSlices(sequence)))
    return failure();
  return failure(failed(checkExperts()) || failed(checkShardGroup()));
}

LogicalResult PlanBuilder::checkTensorAxes(int64_t sequence) {
  if (tpRows == 1 && tpDepth == 1)
    return success();
  int64_t hidden = logicalDimension(module, "hidden");
  if (tpRows > 1 && !hidden)
    return module.emitError("no argument has a dimension called \"hidden\" in ppc.dims, which rows of tp shard");
  if (tpDepth > 1 && !sequence)
    return module.emitError("no argument has a dimension called \"sequence\" in ppc.dims, which depth of tp shards");
  if (llvm::Error error = verifyTensorAxes(*this, std::max<int64_t>(hidden, 1), sequence))
    return module.emitError() << llvm::toString(std::move(error));
  if (sequenceParallel && tensorColumns() == 1)
    return module.emitError() << "sequence parallelism shards sequences over the columns of tp, and tp " << tp
                              << " of tp_rows " << tpRows << " has one: leave sp out, or use fewer rows";
  int64_t heads = logicalDimension(module, "kv_heads"),
          each = std::max<int64_t>(logicalDimension(module, "head_group"), 1);
  HeadCut cut = cutHeads(heads, each, tensorColumns());
  if (heads && !isDividedBy(cut, tpDepth))
    return module.emitError() << "tp_depth " << tpDepth << " divides neither the " << cut.heads
                              << " parts of key-value heads nor the " << cut.group
                              << " parts of the query heads of each that the columns of tp " << tensorColumns()
                              << " cut " << heads << " key-value heads of " << each << " query heads each into";
  return success();
}

/// Whole groups of ranks that share sequences or experts are in a group of the state.
LogicalResult PlanBuilder::checkShardGroup() {
  if (gradientGroup < 0 || parameterGroup < 0)
    return module.emitError() << "gradient-group is " << gradientGroup << " and parameter-group " << parameterGroup
                              << ", expected at least 1";
  if (!shardGroup)
    return checkStateGroups();
  if (shardGroup < 0 || !zero)
    return module.emitError() << "shard-group is " << shardGroup
                              << (zero ? ", expected at least 1" : ", and zero 0 shards no state: use zero 1, 2 or 3");
  int64_t together = ranksTogether();
  if (dataRanks() % shardGroup || shardGroup % together)
    return module.emitError() << "shard-group " << shardGroup << " must divide the " << dataRanks()
                              << " data-parallel ranks (dp x cp)"
                              << (together > 1 ? " and be a multiple of the " + std::to_string(together) +
                                                     " of them that share a sequence or experts"
                                               : std::string());
  return checkStateGroups();
}

LogicalResult PlanBuilder::checkStateGroups() {
  if (llvm::Error error = verifyStateGroups(*this))
    return module.emitError() << llvm::toString(std::move(error));
  if (std::string lacked = lackedBy(target, *this); !lacked.empty() && innerRanks() != shardRanks())
    return module.emitError() << "programs of target " << target.name << " do not have " << lacked;
  return success();
}

/// All tensor-parallel ranks have experts of their own before other ranks do: they share a batch, so that no token
/// travels.
LogicalResult PlanBuilder::checkExperts() {
  if (ep == 1)
    return success();
  int64_t experts = logicalDimension(module, "experts");
  if (!experts)
    return module.emitError() << "ep is " << ep << ", but no argument has a dimension called \"experts\" in ppc.dims";
  if (experts % ep)
    return module.emitError() << "expert parallelism cannot shard " << experts << " experts evenly over ep " << ep
                              << ": it must divide them";
  if (ep % tp)
    return module.emitError() << "ep " << ep << " is not a multiple of tp " << tp
                              << ": experts are sharded over all tensor-parallel ranks first";
  if (dp % expertBatches())
    return module.emitError() << "ep " << ep << " needs experts on " << expertRanks()
                              << " data-parallel ranks (ep / tp): it must divide dp " << dp << " or cp " << cp
                              << ", or be cp times what divides dp";
  return success();
}

/// Inputs are not padded, and blocks of blocks must not be: neither of the ranks of cp nor of those of tp in them.
LogicalResult PlanBuilder::checkContext(int64_t sequence) {
  if (cp == 1)
    return success();
  if (!sequence)
    return module.emitError(
        "no argument has a dimension called \"sequence\" in ppc.dims, which context parallelism shards");
  if (sequence % cp)
    return module.emitError() << "context parallelism cannot shard sequences of " << sequence
                              << " tokens evenly over cp " << cp << ": it must divide them";
  if (sequenceParallel && sequence / cp % tensorColumns())
    return module.emitError() << "sequence parallelism cannot shard the " << sequence / cp
                              << " tokens of a sequence on each of cp " << cp << " ranks evenly over tp "
                              << tensorColumns() << ": leave one of the two out, or use degrees that together divide "
                              << sequence;
  if (!llvm::is_contained(target.contexts, contextKind))
    return module.emitError() << "programs of target " << target.name << " do not have context "
                              << toString(contextKind);
  if (failed(checkExchange()))
    return failure();
  return refuseQueues("context parallelism (cp " + Twine(cp) + ")");
}

LogicalResult PlanBuilder::refuseQueues(const Twine &what) {
  WalkResult walk = module.walk([](DispatchOp op) {
    return op.getShardingRule().findFactor("c") ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return module.emitError() << "compiled programs cannot run experts that drop tokens with " << what
                              << ": the tokens of a sequence wait for their experts in one queue; leave the capacity "
                                 "factor out, or this";
  return success();
}

/// Slices are cut as whole sequences are.
LogicalResult PlanBuilder::checkSlices(int64_t sequence) {
  int64_t slices = defaultSlices(schedule, pp);
  if (slices == 1)
    return success();
  if (!sequence || sequence % slices)
    return module.emitError() << "schedule " << schedule << " cannot split sequences of " << sequence << " tokens into "
                              << slices << " slices: use sequences that " << slices << " divides, or another schedule";
  if (int64_t each = sequence / slices; sequenceParallel && tensorColumns() > each && tp > 1)
    return module.emitError() << "sequence parallelism cannot shard the " << each
                              << " tokens of a slice under schedule " << schedule << " over tp " << tp;
  return refuseQueues("schedule " + schedule);
}

LogicalResult PlanBuilder::checkExchange() {
  if (contextKind != ContextKind::Ulysses)
    return success();
  int64_t heads = logicalDimension(module, "kv_heads"),
          each = std::max<int64_t>(logicalDimension(module, "head_group"), 1);
  HeadCut tensor = cutHeads(heads, each, tensorColumns());
  if (heads && exchangedHeads(heads, each, tensor, cp))
    return success();
  return module.emitError() << "context ulysses cannot exchange sequences in cp " << cp << " parts for heads: of "
                            << heads << " key-value heads of " << each << " query heads each, tp " << tp << " leaves "
                            << heads / tensor.heads << " of " << each / tensor.group
                            << ", and cp divides neither; use context all-gather, or a cp that divides one of them";
}

LogicalResult PlanBuilder::checkSchedule() {
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(schedule);
  if (!kind)
    return module.emitError() << llvm::toString(kind.takeError());
  if (llvm::StringRef lacked = lackedBy(target, **kind); !lacked.empty())
    return module.emitError() << "compiled programs cannot run schedule " << schedule << ", which needs " << lacked;
  if (vp == 0)
    vp = pp > 1 ? (*kind)->defaultChunks : 1;
  return success();
}

FailureOr<PlanAttr> PlanBuilder::build() {
  if (failed(checkSchedule()) || failed(checkDegrees()))
    return failure();
  int64_t batch = logicalDimension(module, "batch");
  if (!batch)
    return module.emitError("no argument has a dimension called \"batch\" in ppc.dims");
  if (batch % (dp * microBatch))
    return module.emitError() << "global batch of " << batch << " sequences is not a multiple of dp " << dp
                              << " x micro-batch " << microBatch << " = " << dp * microBatch;
  FailureOr<SmallVector<LayerCost>> layers = layerCosts();
  if (failed(layers))
    return failure();
  FailureOr<SmallVector<int64_t>> stages = cutStagesByPins(*layers);
  if (failed(stages))
    return failure();
  int64_t microBatches = batch / (dp * microBatch);
  if (auto known = makePipelineSchedule(schedule, {pp, microBatches, vp}); !known)
    return module.emitError() << llvm::toString(known.takeError()) << " (pp " << pp << " x vp " << vp << ", "
                              << microBatches << " micro-batches of " << microBatch << " sequences)";

  PresetModel model{logicalDimension(module, "kv_heads"), logicalDimension(module, "head_group"),
                    std::max<int64_t>(layers->size(), 2) - 2, batch, logicalDimension(module, "experts")};
  PlanAttr plan =
      planAttr(expandLayout(*this, model, *stages), [&] { return module.emitError(); }, module.getContext());
  if (!plan || failed(checkTensorNames(plan)))
    return failure();
  return plan;
}

/// That tp cuts some of the weights: it knows their dimensions by name.
LogicalResult PlanBuilder::checkTensorNames(PlanAttr plan) {
  if (tp == 1)
    return success();
  llvm::SetVector<StringRef> names, whole;
  bool cutsSome = false;
  module.walk([&](func::FuncOp function) {
    for (unsigned number = 0; number < function.getNumArguments(); ++number) {
      auto name = function.getArgAttrOfType<StringAttr>(number, attr::parameter);
      auto dims = function.getArgAttrOfType<ArrayAttr>(number, attr::dims);
      auto own = dims ? axisNames(dims) : SmallVector<StringRef>();
      if (!name || own.size() < 2 || llvm::is_contained(own, "vocab")) // vectors are small, tables are looked up in
        continue;
      whole.insert(name.getValue());
      for (StringRef dim : own) {
        names.insert(dim);
        cutsSome |= dim != "batch" && dim != "sequence" && plan.getDimensions().contains(dim);
      }
    }
  });
  if (cutsSome || whole.empty())
    return success();
  auto list = [](ArrayRef<StringRef> names) {
    std::string text;
    for (StringRef name : names.take_front(4))
      text += (text.empty() ? "'" : ", '") + name.str() + "'";
    return names.size() > 4 ? text + " and others" : text;
  };
  return module.emitError() << "tp " << tp << " shards none of the parameters " << list(whole.getArrayRef())
                            << ": it shards dimensions that ppc.dims calls \"ffn\", \"kv_heads\", \"head_group\", "
                               "\"experts\" or \"vocab\", and theirs are called "
                            << list(names.getArrayRef()) << "; name them so, or give their sharding in a plan file";
}

} // namespace

LogicalResult checkBatch(ModuleOp module, PlanAttr plan) {
  int64_t batch = logicalDimension(module, "batch");
  auto axes = plan.getDimensions().getAs<ArrayAttr>("batch");
  int64_t parts = axes ? plan.getGrid().product(axes) : 1;
  if (batch % (parts * plan.getMicroBatches()))
    return module.emitError() << "global batch of " << batch << " sequences cannot be split into "
                              << plan.getMicroBatches() << " micro-batches for " << parts
                              << " data-parallel ranks: it must be a multiple of " << parts * plan.getMicroBatches();
  return success();
}

LogicalResult checkSequence(ModuleOp module, PlanAttr plan) {
  auto axes = plan.getDimensions().getAs<ArrayAttr>("sequence");
  int64_t parts = axes ? plan.getGrid().product(axes) : 1;
  StringRef schedule = plan.getSchedule().getValue();
  if (parts > 1 && defaultSlices(schedule, plan.getPipelineDevices()) > 1)
    return module.emitError() << "compiled programs cannot run schedule " << schedule
                              << " with context parallelism (cp " << parts
                              << "): both shard the sequence; leave one of the two out";
  return success();
}

FailureOr<PlanAttr> buildPlan(ModuleOp module, const ParallelLayout &layout, const TargetCapabilities &target) {
  return PlanBuilder(module, layout, target).build();
}

} // namespace mlir::ppc
