#include "lib/Planning/Chain/ChainPricer.h"

#include "ppc/Planning/Chain/StageCutter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir::ppc;

/// A chain of one micro-batch of one of `parts` / micro-batches ranks, its floats in the layout's precision.
static std::shared_ptr<TemplateChain> localChain(const ChainModel &model, int64_t parts, Precision precision) {
  auto chain = std::make_shared<TemplateChain>(model.chain);
  for (const ChainModel::BatchDimension &place : model.batchDimensions)
    if (chain->templates[place.templateIndex].values[place.value].shape[place.dim] == model.batch) // not reached before
      cutDimension(*chain, place.templateIndex, place.value, place.dim, parts);
  if (elementBytes(precision) < 4)
    for (OpTemplate &layer : chain->templates)
      for (TemplateValue &value : layer.values)
        if (value.hasGradient && value.elementBytes == 4)
          value.elementBytes = 2;
  return chain;
}

/// Layers whose ops are said to be cut in another way get templates of their own. Returns where the templates come
/// from.
static std::vector<const std::vector<OpStrategy> *> unfold(TemplateChain &chain, const OpCuts &cuts) {
  std::vector<const std::vector<OpStrategy> *> result(chain.templates.size(), nullptr);
  if (cuts.layers.empty())
    return result;
  std::vector<OpTemplate> templates;
  std::vector<TemplateChain::Segment> segments;
  result.clear();
  std::vector<std::pair<int, const std::vector<OpStrategy> *>> known; // template of the chain, cuts
  size_t layer = 0;
  for (const TemplateChain::Segment &segment : chain.segments)
    for (int64_t i = 0; i < segment.count; ++i, ++layer) {
      const std::vector<OpStrategy> *said =
          layer < cuts.layers.size() && !cuts.layers[layer].empty() ? &cuts.layers[layer] : nullptr;
      auto found = llvm::find_if(known, [&](const auto &entry) {
        return entry.first == segment.index &&
               (entry.second == said || (entry.second && said && *entry.second == *said));
      });
      int index = int(found - known.begin());
      if (found == known.end()) {
        known.push_back({segment.index, said});
        templates.push_back(chain.templates[segment.index]);
        result.push_back(said);
      }
      if (!segments.empty() && segments.back().index == index)
        ++segments.back().count;
      else
        segments.push_back({index, 1});
    }
  chain.templates = std::move(templates);
  chain.segments = std::move(segments);
  return result;
}

/// Whether a sum passes through a linear op or is done before it is left open.
static bool isAsSaid(const OpStrategy &strategy, const OpStrategy &said) {
  return said.axes.empty() || llvm::all_of(llvm::zip_equal(strategy.axes, said.axes), [](auto pair) {
           auto isOpen = [](int choice) { return choice == OpStrategy::uncut || choice == OpStrategy::pending; };
           return std::get<0>(pair) == std::get<1>(pair) || (isOpen(std::get<0>(pair)) && isOpen(std::get<1>(pair)));
         });
}

ChainPricer::ChainPricer(const ChainRequest &request, const ParallelLayout &layout, std::vector<LayoutAxis> axes,
                         SolveBudget *budget)
    : request(request), budget(budget), axes(std::move(axes)), job{1, request.model.batch},
      chain(localChain(request.model, layout.dp * layout.microBatches(job), layout.precision)),
      cuts(unfold(*chain, request.cuts)) {
  for (const TemplateChain::Segment &segment : chain->segments)
    layers.insert(layers.end(), segment.count, segment.index);
}

TemplatePricing ChainPricer::pricingOf(const ParallelLayout &layout) const {
  const Stack &stack = request.stack;
  TemplatePricing pricing{request.cluster, axes};
  pricing.dataRanks = layout.dp;
  pricing.precision = layout.precision;
  pricing.attention = layout.attention;
  pricing.microBatches = layout.microBatches(job);
  // On average over the stages.
  pricing.inFlight = layout.recompute == Recompute::Full ? 0
                     : layout.schedule == "gpipe"        ? pricing.microBatches
                                                         : std::min(pricing.microBatches, (layout.pp + 1) / 2);
  bool wide = elementBytes(layout.precision) >= 4;
  double shards = double(layout.dp), weights = wide ? 4 : 2,
         optimizer = (wide ? 0 : stack.masterBytes) + stack.momentBytes;
  pricing.stateBytes = (layout.zero >= 3 ? weights / shards : weights) +
                       (layout.zero >= 2 ? stack.gradientBytes / shards : stack.gradientBytes) +
                       (layout.zero >= 1 ? optimizer / shards : optimizer);
  pricing.gradientBytes = stack.gradientBytes;
  pricing.regather = request.regather;
  pricing.compiled = request.target != nullptr;
  pricing.allowLayout = request.allowLayout;
  if (request.target)
    pricing.allowLayout = cutsRowsEvenly(axes);
  pricing.allowStrategy = [this](const OpTemplate &layer, const TemplateOp &op, const OpStrategy &strategy) {
    size_t index = size_t(&layer - chain->templates.data()), number = size_t(&op - layer.ops.data());
    if (cuts[index] && !isAsSaid(strategy, (*cuts[index])[number]))
      return false;
    if (request.target && !runs(*request.target, op, strategy))
      return false;
    return !request.allowStrategy || request.allowStrategy(layer, op, strategy);
  };
  return pricing;
}

double ChainPricer::bound(int64_t pp) const {
  ParallelLayout layout = request.base;
  TemplatePricing pricing = pricingOf(layout);
  std::vector<double> least;
  for (const OpTemplate &layer : chain->templates) {
    double &sum = least.emplace_back(0);
    for (const TemplateOp &op : layer.ops) {
      double best = std::numeric_limits<double>::infinity();
      for (const OpStrategy &strategy : enumerateStrategies(op, axes))
        if (pricing.allowStrategy(layer, op, strategy)) {
          OpSeconds seconds = kernelSeconds(pricing, layer, op, strategy);
          // Fused elementwise kernels may take less.
          bool mayFuse = op.kernel == TemplateKernel::Stream && request.stack.fusedActivation;
          best = std::min(best, mayFuse ? 0 : (seconds.forward + seconds.backward).value);
        }
      sum += best;
    }
  }
  double total = 0;
  for (int layer : layers)
    total += least[layer];
  return (1 - 1e-9) * total / double(pp);
}

/// What the step model asks a transformer for, of a program that is none: nothing is counted by it.
static ModelShape programShape(const std::string &name, int64_t layers) {
  ModelShape shape;
  shape.name = name;
  shape.family = "program";
  shape.layers = layers;
  shape.hidden = shape.heads = shape.kvHeads = shape.headDim = shape.ffn = shape.vocab = 1;
  return shape;
}

llvm::Expected<ChainPlan> ChainPricer::price(const ParallelLayout &asked, TemplateSearch &search,
                                             TemplateSearchResult shardings) {
  ChainPlan plan;
  plan.layout = asked;
  plan.axes = axes;
  plan.chain = chain;
  llvm::Expected<StepSchedule> schedule = resolveSchedule(job, asked);
  if (!schedule)
    return schedule.takeError();
  ParallelLayout layout = asked;
  layout.vp = schedule->shape.chunks;
  int64_t chunkCount = layout.pp * layout.vp;
  TemplatePricing pricing = pricingOf(asked);
  ModelShape shape = programShape(request.model.name, int64_t(layers.size()));
  PricingContext context(shape, job, request.cluster, layout, request.stack);
  context.isTransformer = false;

  // Programs of each choice; [1] recomputed.
  std::vector<std::vector<std::array<LayerPrice, 2>>> prices(chain->templates.size());
  plan.programs.resize(chain->templates.size());
  for (size_t index = 0; index < chain->templates.size(); ++index)
    for (const TemplateChoice &choice : shardings.choices[index]) {
      TemplateProgram &program = plan.programs[index].emplace_back(buildTemplateProgram(
          pricing, context, chain->templates[index], search.network(int(index)), choice, shardings.pricePerByte));
      LayerPrograms one;
      one.set(LayerKind::Dense, program.program, context.stack);
      LayerPrices priced = priceLayers(context, one);
      prices[index].push_back({priced(LayerKind::Dense, false), priced(LayerKind::Dense, true)});
    }
  // The first layer and the last are kept, as embedding and head are.
  auto priceOf = [&](size_t layer) -> const LayerPrice & {
    const TemplateSearchResult::Layer &place = shardings.layers[layer];
    return prices[place.index][place.choice]
                 [layout.recompute == Recompute::Full && layer > 0 && layer + 1 < layers.size()];
  };

  std::vector<LayerCost> costs;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const LayerPrice &price = priceOf(layer);
    costs.push_back({price.forward + price.backward + price.weightGradient, price.kept});
  }
  std::vector<int64_t> first{0};
  if (!asked.stageLayers.empty()) {
    int64_t sum = 0;
    for (int64_t count : asked.stageLayers) {
      first.push_back(1 + (sum += count));
      if (count < 0)
        sum = -1;
    }
    first.pop_back();
    if (int64_t(asked.stageLayers.size()) != chunkCount || sum != int64_t(layers.size()) - 2)
      return llvm::createStringError(llvm::formatv("the stages hold {0} layers between the first and the last on {1} "
                                                   "stages; the model has {2}, and {3} stages are asked for",
                                                   sum, asked.stageLayers.size(), int64_t(layers.size()) - 2,
                                                   chunkCount)
                                         .str());
  } else if (chunkCount > 1) {
    llvm::Expected<StageCut> cut = cutStages(costs, chunkCount);
    if (!cut)
      return cut.takeError();
    first = cut->firstLayer;
  }
  std::vector<ChunkCost> chunks(chunkCount);
  std::vector<double> copies(chunkCount, 0);
  double message = 0, forwardFlops = 0;
  plan.layout.stageLayers.clear();
  for (int64_t i = 0; i < chunkCount; ++i) {
    int64_t end = i + 1 < chunkCount ? first[i + 1] : int64_t(layers.size());
    for (int64_t layer = first[i]; layer < end; ++layer) {
      const TemplateSearchResult::Layer &place = shardings.layers[layer];
      chunks[i].add(priceOf(size_t(layer)), 1);
      const TemplateProgram &program = plan.programs[place.index][place.choice];
      copies[i] += program.copies.value;
      for (const LayerOp &op : program.program.ops)
        forwardFlops += op.flops.value;
    }
    if (chunkCount > 1)
      plan.layout.stageLayers.push_back(end - first[i] - (i == 0) - (i + 1 == chunkCount));
    if (i == 0)
      continue;
    const TemplateSearchResult::Layer &place = shardings.layers[first[i]];
    message = std::max(message, plan.programs[place.index][place.choice].program.input.value);
  }
  context.message = Bytes(message * context.streamBytes() / 2); // 16 bits, or as wide as the stack's residual stream
  for (ChunkCost &chunk : chunks) {
    chunk.durations.forward += timeBesideMessages(context);
    chunk.durations.backward += timeBesideMessages(context);
    if (!schedule->splitBackward) {
      chunk.durations.backward += chunk.durations.weightGradient;
      chunk.durations.weightGradient = Seconds(0);
    }
  }

  PipelineMessages messages = priceMessages(context);
  fitSchedule(request.stack, chunks, messages, *schedule);
  llvm::Expected<const PipelineProgram *> program = timer.compile(*schedule->kind, schedule->shape);
  if (!program)
    return program.takeError();
  llvm::SmallVector<StageDurations, 32> durations;
  for (const ChunkCost &chunk : chunks)
    durations.push_back(chunk.durations);
  if (llvm::Error error = timer.time(**program, durations, messages, time))
    return std::move(error);
  plan.cost = assembleStep(context, chunks, **program, time);

  Bytes limit = request.memoryLimit.value > 0 ? request.memoryLimit : planMemoryLimit(request.cluster, request.stack);
  plan.cost.fits = true;
  plan.cost.peakMemory = Bytes(0);
  for (auto [device, stage] : llvm::enumerate(plan.cost.stages)) {
    for (const PipelineChunk &chunk : (*program)->chunks[device])
      stage.memory.communication += Bytes(copies[chunk.stage]);
    plan.cost.fits &= stage.memory.total() <= limit && fitsHost(request.cluster, stage.memory);
    if (stage.memory.total() > plan.cost.peakMemory) {
      plan.cost.peakMemory = stage.memory.total();
      plan.cost.worstStage = int64_t(device);
    }
  }
  // Ranks that repeat each other's work do nothing for the model.
  double devices = double(layout.devices()),
         peak = request.cluster.device().peakOf(productPrecision(request.cluster.device(), layout.precision)).value;
  plan.cost.modelFlops = 3 * flops * double(layout.microBatches(job)) * double(layout.dp);
  plan.cost.hardwareFlops = 3 * forwardFlops * double(layout.microBatches(job)) * devices / double(layout.pp);
  plan.cost.mfu = peak > 0 ? plan.cost.modelFlops / (peak * devices * plan.cost.stepTime.value) : 0;
  plan.cost.hfu = peak > 0 ? plan.cost.hardwareFlops / (peak * devices * plan.cost.stepTime.value) : 0;
  plan.cost.tokensPerSecondPerDevice = double(request.model.batch) / plan.cost.stepTime.value / devices;
  plan.shardings = std::move(shardings);
  return plan;
}

llvm::Expected<ChainPlan> ChainPricer::plan(const ParallelLayout &layout, Bytes memory) {
  if (flops == 0)
    for (int index : layers)
      for (const TemplateOp &op : chain->templates[index].ops)
        if (op.kernel == TemplateKernel::Product || op.kernel == TemplateKernel::Attention) {
          double work = 2;
          for (const TemplateFactor &factor : op.factors)
            work *= double(factor.size);
          if (op.kernel == TemplateKernel::Attention) { // each of both products walks one of the widths
            double keys = double(op.factors[op.attention.headDim].size);
            double values = op.attention.valueDim >= 0 ? double(op.factors[op.attention.valueDim].size) : keys;
            work *= (keys + values) / keys / (op.attention.valueDim >= 0 ? values : 1);
          }
          flops += work;
        }
  TemplatePricing pricing = pricingOf(layout);
  std::unique_ptr<Search> &entry = searches[{pricing.stateBytes, pricing.inFlight}];
  if (!entry)
    entry = std::make_unique<Search>(std::move(pricing), *chain, budget);
  // What the search limits is the sum over the stages; what each needs besides is found by trying.
  double available = (memory.value - request.cluster.device().frameworkMemory.value) * double(layout.pp), target = 0;
  for (int round = 0;; ++round) {
    llvm::Expected<TemplateSearchResult> shardings = entry->search.run(Bytes(target));
    if (!shardings)
      return shardings.takeError();
    llvm::Expected<ChainPlan> plan = price(layout, entry->search, std::move(*shardings));
    if (!plan || memory.value <= 0 || plan->cost.fits || round == 4)
      return plan;
    double over = plan->cost.peakMemory.value / memory.value;
    target = round == 0 ? available : target * std::min(0.98, 0.99 / over);
    if (target <= 0)
      return plan;
  }
}
