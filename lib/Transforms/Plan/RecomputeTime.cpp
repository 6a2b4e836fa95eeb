#include "RecomputeTime.h"

#include "ppc/CostModel/StepParts.h"

namespace mlir::ppc {

/// FLOPs in the time in which memory moves a byte, as ppc-fit-recompute takes them.
static constexpr double kMachineBalance = 8;

static double costOf(Operation *op) {
  auto priced = dyn_cast<CostOpInterface>(op);
  OpCost cost = priced ? priced.getCost() : OpCost{};
  return std::max(double(cost.bytesRead + cost.bytesWritten), cost.flops / kMachineBalance);
}

RecomputeShares recomputeShares(ModuleOp module, PlanAttr plan) {
  std::map<int64_t, SmallVector<StringRef>> names; // by layer
  DictionaryAttr rules = plan.getRecompute();
  for (NamedAttribute rule : rules ? rules.getValue() : ArrayRef<NamedAttribute>())
    if (auto ops = dyn_cast<ArrayAttr>(rule.getValue())) {
      LayerRange range = *parseLayerRange(rule.getName());
      for (int64_t layer = range.first; layer <= range.last; ++layer)
        for (Attribute name : ops)
          names[layer].push_back(cast<StringAttr>(name).getValue());
    }
  if (names.empty())
    return {};
  RecomputeShares whole, again;
  std::map<std::pair<int64_t, StringRef>, int64_t> numbers;
  module.walk([&](Operation *op) {
    auto layer = op->getAttrOfType<IntegerAttr>(attr::layer);
    if (!layer)
      return;
    double cost = costOf(op);
    whole[layer.getInt()] += cost;
    StringRef kind = op->getName().stripDialect();
    std::string one = (kind + "." + Twine(numbers[{layer.getInt(), kind}]++)).str();
    auto found = names.find(layer.getInt());
    if (found != names.end() && (llvm::is_contained(found->second, kind) || llvm::is_contained(found->second, one)))
      again[layer.getInt()] += cost;
  });
  for (auto &[layer, cost] : again)
    cost /= whole[layer];
  for (auto &[layer, unused] : names) // nothing that counts
    again.try_emplace(layer, 0);
  return again;
}

PlanAttr withoutNamedOps(PlanAttr plan) {
  if (!plan.getRecompute())
    return plan;
  NamedAttrList rules;
  for (NamedAttribute rule : plan.getRecompute())
    if (isa<StringAttr>(rule.getValue()))
      rules.append(rule);
  return plan.withRecompute(rules.getDictionary(plan.getContext()));
}

llvm::Expected<StepCost> priceWithOps(const PlanInputs &inputs, const ParallelLayout &layout,
                                      const RecomputeShares &shares) {
  StepEstimator estimator;
  StepDetail detail;
  llvm::Expected<StepCost> cost =
      estimator.estimate(inputs.model, inputs.job, inputs.cluster, layout, inputs.stack, &detail);
  if (!cost)
    return cost;
  ParallelLayout effective = layout;
  effective.vp = detail.shape.chunks;
  PricingContext context(inputs.model, inputs.job, inputs.cluster, effective, inputs.stack, detail.shape.slices);
  LayerPrices prices = priceLayers(context, detail.costs);
  std::vector<ChunkCost> &chunks = detail.costs.chunks;
  std::vector<int64_t> counts = layersPerChunk(inputs.model, chunks);
  for (auto [layer, share] : shares) {
    bool isFirst = layer <= 0, isLast = layer > inputs.model.layers;
    LayerKind kind = isFirst ? LayerKind::Embedding : isLast ? LayerKind::Head : layerKind(inputs.model, layer - 1);
    size_t chunk = isLast ? chunks.size() - 1 : 0;
    for (int64_t before = isFirst || isLast ? layer : counts.front(); chunk + 1 < chunks.size() && before < layer;
         before += counts[chunk])
      ++chunk;
    chunks[chunk].durations.backward += share * (prices(kind, true).backward - prices(kind, false).backward);
  }
  PipelineTimer timer;
  PipelineTime time;
  llvm::Expected<const PipelineProgram *> program = timer.compile(*detail.schedule, detail.shape);
  if (!program)
    return program.takeError();
  SmallVector<StageDurations> durations =
      llvm::map_to_vector(chunks, [](const ChunkCost &chunk) { return chunk.durations; });
  if (llvm::Error error = timer.time(**program, durations, detail.messages, time))
    return std::move(error);
  return assembleStep(context, chunks, **program, time);
}

} // namespace mlir::ppc
