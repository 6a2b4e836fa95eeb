#include "CompiledState.h"
#include "SequenceExchange.h"

#include "ppc/Sharding/ReshardPlanner.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

HeadCut mlir::ppc::compiledHeads(const PricingContext &context) {
  const ModelShape &model = context.model;
  if (model.kvHeads < 1)
    return {};
  return model.latent ? cutHeads(model.heads, 1, context.layout.tensorColumns())
                      : cutHeads(model.kvHeads, model.heads / model.kvHeads, context.layout.tensorColumns());
}

bool mlir::ppc::exchangesKeys(const PricingContext &context) {
  const ModelShape &model = context.model;
  const ParallelLayout &layout = context.layout;
  if (layout.cp == 1 || layout.contextKind != ContextKind::Ulysses || model.kvHeads < 1)
    return false;
  int64_t heads = model.latent ? model.heads : model.kvHeads;
  std::optional<HeadCut> cut = exchangedHeads(heads, model.heads / heads, compiledHeads(context), layout.cp);
  return cut && cut->group == 1;
}

bool mlir::ppc::sumsKeysEarly(const PricingContext &context) {
  const ParallelLayout &layout = context.layout;
  return context.model.queryKeyNorm && compiledHeads(context).group > 1 && !layout.sequenceParallel &&
         elementBytes(layout.precision) < 4;
}

namespace {

/// A dimension of a tensor, and in how many parts and over which axes tensor parallelism cuts it.
struct CutDimension {
  int64_t extent, parts = 1;
  unsigned axes = TensorAxes;
};
using CutShape = llvm::SmallVector<CutDimension, 5>;

/// Adds up the tensors of one part of the model.
class StateBuilder {
public:
  explicit StateBuilder(const PricingContext &context)
      : context(context), model(context.model), layout(context.layout), tp(layout.tensorColumns()),
        cut(compiledHeads(context)), narrow(elementBytes(layout.precision) < 4), sharing(layout.expertRanks()),
        shards(layout.shardRanks()), gradientShards(layout.gradientRanks()), parameterShards(layout.parameterRanks()) {}

  /// Read by products, rounded where they read less than f32.
  void matrix(const CutShape &shape, Summed summed = Summed::Data) { add(shape, narrow, summed); }
  /// Read as it is.
  void plain(const CutShape &shape, Summed summed) { add(shape, false, summed); }
  /// Whole on every rank; with sequence parallelism each meets a part of the sequence.
  void replicated(const CutShape &shape) { plain(shape, along()); }
  CutDimension features() const { return {model.hidden, layout.tpRows, RowAxis}; }
  Summed along() const {
    return !cutsSequence(layout) ? Summed::Data : sequenceParts(layout) == tp ? Summed::Tensor : Summed::Depth;
  }

  /// Of the residual stream.
  void norm() {
    const CutShape weight{features()};
    const double before = sizes.gradients;
    if (model.offsetNorms) // one more than the weight is kept
      bias([&] { replicated(weight); });
    else
      replicated(weight);
    if (model.norm == NormKind::LayerNorm)
      bias([&] { replicated(weight); });
    // Sums over micro-batches are of whole features, but where each is scattered: by ZeRO-2, of slices.
    double whole = (model.norm == NormKind::LayerNorm ? 2 : 1) * double(model.hidden),
           share = whole / double(layout.tpRows), added = sizes.gradients - before;
    if (layout.tpRows > 1 && context.slices == 1 && added >= share)
      sizes.gradients += whole - (added > share ? share : 0);
  }
  /// What is added to values: backward does not read it.
  template <typename Body> void bias(Body body) {
    ofForwardAlone = true;
    body();
    ofForwardAlone = false;
  }
  void attention();
  void latentAttention();
  void index();
  void feedForward(int64_t inner);
  void experts();
  void table(bool isRounded);
  void positions();

  StateSizes sizes;

private:
  void add(const CutShape &shape, bool rounded, Summed summed);
  void addPlanned(GradientSums &sums, llvm::ArrayRef<int64_t> extents, std::optional<unsigned> cutDim, bool overTensor);
  void addOverDepth(GradientSums &sums, llvm::ArrayRef<int64_t> extents, std::optional<unsigned> cutDim);
  void addOverCopies(const CutShape &shape, unsigned cutDim, Summed summed, bool ofExperts, bool isEachCut);
  bool dividesStored(const CutShape &shape, unsigned cutDim, int64_t ranks, int64_t parameterRanks) const;
  /// Tensor-parallel ranks whose parts are summed.
  int64_t summedRanks(Summed summed) const {
    return summed == Summed::Tensor        ? tp
           : summed == Summed::SharedHeads ? cut.group
           : summed == Summed::Heads       ? cut.heads
           : summed == Summed::Depth       ? sequenceParts(layout)
                                           : 1;
  }

  const PricingContext &context;
  const ModelShape &model;
  const ParallelLayout &layout;
  int64_t tp; // parts of widths and heads
  HeadCut cut;
  bool narrow, ofForwardAlone = false, endsLayer = false;
  bool isSummedBefore = false;             // what the next gradient is made of: who calls counts its sums
  int64_t sharing;                         // data-parallel ranks that share experts
  int64_t shards;                          // that share a copy of the cut state
  int64_t gradientShards, parameterShards; // of those, that share gradients and parameters
};

int64_t blockOf(int64_t extent, int64_t parts) { return (extent + parts - 1) / parts; }

} // namespace

void StateBuilder::add(const CutShape &shape, bool rounded, Summed summed) {
  int64_t whole = 1; // on this rank
  llvm::SmallVector<int64_t, 5> extents, before;
  for (const CutDimension &dim : shape) {
    whole *= blockOf(dim.extent, dim.parts);
    extents.push_back(dim.extent);
    before.push_back(dim.parts);
  }
  unsigned axes = 0; // that cut its gradient
  for (const CutDimension &dim : shape)
    axes |= dim.parts == 1 ? 0 : dim.axes;
  bool ofExperts = axes & ExpertAxis;
  auto amongAlike = [&](int64_t all) { return ofExperts ? std::max<int64_t>(1, all / sharing) : all; };
  const int64_t ranks = amongAlike(shards), gradientRanks = amongAlike(gradientShards),
                parameterRanks = amongAlike(parameterShards);
  std::optional<unsigned> dim;
  if (layout.zero >= 1 && ranks > 1)
    dim = updateCut(extents, before, ranks);
  const bool isCut = dim.has_value();
  auto blockOver = [&](int64_t parts) {
    return isCut ? whole / blockOf(extents[*dim], before[*dim]) * blockOf(extents[*dim], before[*dim] * parts) : whole;
  };
  const int64_t block = blockOver(ranks), gradientBlock = blockOver(gradientRanks),
                parameterBlock = blockOver(parameterRanks);
  const bool isEachCut = isCut && gradientRanks > 1; // gradients of micro-batches
  GradientSums &sums = isEachCut ? sizes.each : sizes.once;
  bool isWhole = llvm::all_of(shape, [](const CutDimension &dim) { return dim.parts == 1; });
  bool overTensor = summed == Summed::Tensor || (summed == Summed::SharedHeads && cut.group == tp);
  if (isSummedBefore)
    ;
  else if (isCut && (shards < layout.dataRanks() || (isEachCut && gradientRanks < ranks)))
    addOverCopies(shape, *dim, summed, ofExperts, isEachCut);
  else if (summed == Summed::Depth)
    addOverDepth(sums, extents, isCut ? updateCut(extents, before, layout.dataRanks()) : std::nullopt);
  else if (isWhole && summed != Summed::Heads && tp > 1 && layout.dataRanks() > 1 &&
           8 * whole > 4096) // below, one collective is always the cheapest
    addPlanned(sums, extents, isCut ? updateCut(extents, before, layout.dataRanks()) : std::nullopt, overTensor);
  else if (summed == Summed::Tensor && tp > 1)
    sums.reducedOverTensor += whole;
  else if (summed == Summed::SharedHeads && cut.group > 1)
    sums.reducedOverShared += whole;
  else if (summed == Summed::Heads && cut.heads > 1)
    sums.reducedOverHeads += whole;
  else if (isCut)
    (ofExperts ? sums.scatteredOfExperts : sums.scattered) += block * ranks;
  else
    (ofExperts ? sums.reducedOfExperts : sums.reduced) += whole;
  if (isCut)
    axes |= (shards > sharing ? DataAxis : 0) | (sharing > 1 ? ExpertAxis : 0);
  ++sizes.tensorsCutOver[axes];
  ParameterGathers &gathers = ofExperts ? sizes.gathersOfExperts : sizes.gathers;
  const bool divides = !isCut || dividesStored(shape, *dim, ranks, parameterRanks),
             isStoredCut = isCut && parameterRanks > 1 && (divides || !rounded); // rounded, it is gathered once
  if (isStoredCut) {
    const int64_t all = parameterBlock * parameterRanks;
    (rounded ? gathers.forwardRounded : gathers.forward) += all;
    if (ofForwardAlone && !endsLayer)
      gathers.again += all;
    if (!ofForwardAlone)
      (rounded ? gathers.backwardRounded : gathers.backward) += all;
  }
  if (!divides) {
    (rounded ? gathers.roundedByAll : gathers.updatedByAll) += block * ranks;
    gathers.readByUpdate += rounded ? 0 : parameterBlock * parameterRanks;
  } else if (isCut && parameterRanks < ranks) { // once per step
    (rounded ? gathers.rounded : gathers.updated) += block * (ranks / parameterRanks);
  }
  sizes.parameters += rounded ? block : isStoredCut ? parameterBlock : whole;
  sizes.states += 2 * block;
  sizes.gradients += gradientRanks == ranks && isEachCut ? block : gradientBlock + (isCut ? block : 0);
  if (rounded)
    sizes.prepared += isStoredCut ? parameterBlock : whole;
}

/// Whether the blocks that the update makes are slices of the stored ones to the reshard planner.
bool StateBuilder::dividesStored(const CutShape &shape, unsigned cutDim, int64_t ranks, int64_t parameterRanks) const {
  if (parameterRanks == 1 || parameterRanks == ranks)
    return true;
  enum { Outer, Stored }; // behind them the axes that cut dimensions
  llvm::SmallVector<LayoutAxis, 5> grid = {{"outer", ranks / parameterRanks}, {"stored", parameterRanks}};
  llvm::SmallVector<int64_t, 5> extents;
  Layout stored;
  for (const CutDimension &dim : shape) {
    extents.push_back(dim.extent);
    stored.dims.emplace_back();
    if (dim.parts > 1) {
      stored.dims.back().push_back(int(grid.size()));
      grid.push_back({"cut", dim.parts});
    }
  }
  stored.dims[cutDim].push_back(Stored);
  Layout updated = stored;
  updated.dims[cutDim].push_back(Outer);
  return llvm::all_of(llvm::cantFail(planReshard(grid, extents, 4, stored, updated)).steps,
                      [](const ReshardStep &step) { return step.kind == ReshardKind::Slice; });
}

/// The collectives that the reshard planner makes between two layouts of a tensor: kind, axes of `grid`, and elements
/// of all blocks, padding included: of what is gathered, what each had.
static void forEachCollective(llvm::ArrayRef<LayoutAxis> grid, llvm::ArrayRef<int64_t> extents, const Layout &from,
                              const Layout &to,
                              llvm::function_ref<void(TransferKind, llvm::ArrayRef<int>, double)> visit) {
  for (const ReshardStep &step : llvm::cantFail(planReshard(grid, extents, 4, from, to)).steps) {
    if (step.kind == ReshardKind::Slice)
      continue;
    Layout blocks = step.result;
    if (step.kind == ReshardKind::AllGather)
      blocks.dims[step.dim].insert(blocks.dims[step.dim].end(), step.axes.begin(), step.axes.end());
    double elements = step.kind == ReshardKind::AllReduce ? 1 : double(groupSize(step.axes, grid));
    for (int64_t extent : localShape(extents, blocks, grid))
      elements *= double(extent);
    visit(step.kind == ReshardKind::AllGather       ? TransferKind::AllGather
          : step.kind == ReshardKind::ReduceScatter ? TransferKind::ReduceScatter
                                                    : TransferKind::AllReduce,
          step.axes, elements);
  }
}

/// The gradient of a table of positions is made of rows for those of a sequence. Where a micro-batch has to sum it, the
/// rows are summed over ranks with other batches instead, if that is less to send; what is made of them, over the ranks
/// that have other rows.
void StateBuilder::positions() {
  const int64_t parts = layout.cp * (layout.sequenceParallel ? tp : 1), rows = blockOf(context.job.sequence, parts);
  int64_t extents[] = {model.maxPositions, model.hidden};
  std::optional<unsigned> dim = updateCut(extents, {1, 1}, layout.dataRanks());
  isSummedBefore =
      gradientShards == layout.dataRanks() && layout.dp > 1 && dim &&
      2 * rows * model.hidden <= extents[1 - *dim] * blockOf(extents[*dim], layout.dataRanks()) * layout.dataRanks();
  replicated({{model.maxPositions}, features()});
  if (!std::exchange(isSummedBefore, false))
    return;
  sizes.each.reducedBefore += double(rows * model.hidden);
  enum { Batches, Sequence, Tensor };
  LayoutAxis grid[] = {{"batches", layout.dp}, {"sequence", layout.cp}, {"tensor", layout.sequenceParallel ? tp : 1}};
  Layout from, to;
  from.dims.resize(2);
  from.dims[*dim] = {Batches};
  from.partial = {Sequence, Tensor};
  to.dims = from.dims;
  to.dims[*dim].push_back(Sequence);
  forEachCollective(grid, extents, from, to, [&](TransferKind kind, llvm::ArrayRef<int> axes, double elements) {
    SumMembers members;
    members.sequence = llvm::is_contained(axes, int(Sequence));
    members.tensor = llvm::is_contained(axes, int(Tensor)) ? int(Summed::Tensor) : int(Summed::Data);
    sizes.each.addPlanned(kind, members, elements);
  });
}

/// Gradients that are cut over some of the ranks that sum them, as the reshard planner says: summed by all and sliced
/// where they are small, else scattered to the shards and summed over the copies of each. `isEachCut`: each
/// micro-batch's to those that share gradients, and what they add up to over the others and over the copies once.
void StateBuilder::addOverCopies(const CutShape &shape, unsigned cutDim, Summed summed, bool ofExperts,
                                 bool isEachCut) {
  enum { Copies, Outer, Shards, Tensor }; // behind them the axes that cut dimensions
  const int64_t inner = isEachCut ? gradientShards : shards;
  llvm::SmallVector<LayoutAxis, 7> grid = {{"copies", layout.dataRanks() / shards},
                                           {"outer", shards / inner},
                                           {"shards", ofExperts ? std::max<int64_t>(1, inner / sharing) : inner},
                                           {"tensor", summedRanks(summed)}};
  Layout from;
  for (int axis : {int(Copies), int(Outer), int(Shards)})
    if (grid[axis].size > 1)
      from.partial.push_back(axis);
  if (grid[Tensor].size > 1)
    from.partial.push_back(Tensor);
  llvm::SmallVector<int64_t, 5> extents;
  for (const CutDimension &dim : shape) {
    extents.push_back(dim.extent);
    from.dims.emplace_back();
    if (dim.parts > 1) {
      from.dims.back().push_back(int(grid.size()));
      grid.push_back({"cut", dim.parts});
    }
  }
  auto addSums = [&](GradientSums &sums, const Layout &before, const Layout &after) {
    forEachCollective(grid, extents, before, after, [&](TransferKind kind, llvm::ArrayRef<int> axes, double elements) {
      SumMembers members;
      members.copies = llvm::is_contained(axes, int(Copies));
      members.outer = llvm::is_contained(axes, int(Outer));
      members.shards = llvm::is_contained(axes, int(Shards));
      members.ofExperts = ofExperts;
      members.tensor = llvm::is_contained(axes, int(Tensor)) ? int(summed) : int(Summed::Data);
      sums.addPlanned(kind, members, elements);
    });
  };
  Layout to = from;
  to.dims[cutDim].push_back(Shards);
  if (isEachCut) {
    llvm::erase_if(to.partial, [](int axis) { return axis != Copies && axis != Outer; });
    addSums(sizes.each, from, to);
    from = to;
  }
  to.partial.clear();
  if (grid[Outer].size > 1)
    to.dims[cutDim].push_back(Outer);
  addSums(sizes.once, from, to);
}

/// Tensor-parallel ranks that hold the same may share the sum of a large gradient: as the reshard planner says.
void StateBuilder::addPlanned(GradientSums &sums, llvm::ArrayRef<int64_t> extents, std::optional<unsigned> cutDim,
                              bool overTensor) {
  LayoutAxis grid[] = {{"data", layout.dataRanks()}, {"tp", tp}};
  Layout from, to;
  from.dims.resize(extents.size());
  to.dims.resize(extents.size());
  from.partial = overTensor ? std::vector<int>{0, 1} : std::vector<int>{0};
  if (cutDim)
    to.dims[*cutDim] = {0};
  forEachCollective(grid, extents, from, to, [&](TransferKind kind, llvm::ArrayRef<int> axes, double elements) {
    bool data = axes == llvm::ArrayRef<int>{0}, tensor = axes == llvm::ArrayRef<int>{1};
    if (kind == TransferKind::AllReduce)
      (data ? sums.reduced : tensor ? sums.reducedInTensor : sums.reducedOverTensor) += elements;
    else if (kind == TransferKind::ReduceScatter)
      (data ? sums.scattered : tensor ? sums.scatteredInTensor : sums.scatteredOverTensor) += elements;
    else
      (data ? sums.gatheredOverData : tensor ? sums.gatheredInTensor : sums.gatheredOverTensor) += elements;
  });
}

/// Of what all columns hold alike and the ranks of depth met parts of the sequence of: as the reshard planner says.
void StateBuilder::addOverDepth(GradientSums &sums, llvm::ArrayRef<int64_t> extents, std::optional<unsigned> cutDim) {
  enum { Data, Depth, Columns };
  const int64_t parts = sequenceParts(layout);
  LayoutAxis grid[] = {{"data", layout.dataRanks()}, {"depth", parts}, {"columns", tp / parts}};
  Layout from, to;
  from.dims.resize(extents.size());
  to.dims.resize(extents.size());
  from.partial = grid[Data].size > 1 ? std::vector<int>{Data, Depth} : std::vector<int>{Depth};
  if (cutDim)
    to.dims[*cutDim] = {Data};
  forEachCollective(grid, extents, from, to, [&](TransferKind kind, llvm::ArrayRef<int> axes, double elements) {
    const bool depth = llvm::is_contained(axes, int(Depth)), columns = llvm::is_contained(axes, int(Columns));
    SumMembers members;
    members.copies = members.shards = llvm::is_contained(axes, int(Data));
    members.tensor = int(depth && columns ? Summed::Tensor
                         : depth          ? Summed::Depth
                         : columns        ? Summed::Columns
                                          : Summed::Data);
    sums.addPlanned(kind, members, elements);
  });
}

void StateBuilder::attention() {
  if (model.latent)
    return latentAttention();
  int64_t dim = model.headDim, group = model.heads / model.kvHeads;
  const CutDimension hidden = features();
  bool both = cut.heads > 1 && cut.group > 1;
  CutDimension heads{model.kvHeads, cut.heads, both ? HeadAxis : TensorAxes},
      groups{group, cut.group, both ? GroupAxis : TensorAxes}, all{model.heads, tp};
  bool byPart = model.family == "gpt2", byHead = model.family == "gpt_neox" || model.family == "bloom";
  if (byPart)
    matrix({{hidden}, {3}, all, {dim}});
  else if (byHead)
    matrix({all, {3}, {dim}, {hidden}});
  if (byPart || byHead) {
    if (model.attentionBias)
      bias([&] { plain(byPart ? CutShape{{3}, all, {dim}} : CutShape{all, {3}, {dim}}, Summed::Data); });
  } else {
    matrix({heads, groups, {dim}, {hidden}});
    // Cut by heads too, their gradients are summed before the weights' are taken.
    Summed summed = layout.sequenceParallel && cut.heads > 1 ? Summed::Data : Summed::SharedHeads;
    Summed keys = sumsKeysEarly(context) ? Summed::Data : summed;
    for (Summed each : {keys, summed})
      matrix({heads, {dim}, {hidden}}, each);
    if (model.attentionBias)
      bias([&] {
        plain({heads, groups, {dim}}, Summed::Data);
        for (Summed each : {keys, summed})
          plain({heads, {dim}}, each);
      });
    if (model.queryKeyNorm) {
      plain({{dim}}, Summed::Tensor);
      bool keysAreWhole = cut.group > 1 && (keys == Summed::Data);
      plain({{dim}}, keysAreWhole ? Summed::Heads : Summed::Tensor);
    }
  }
  matrix(byPart ? CutShape{heads, groups, {dim}, {hidden}} : CutShape{{hidden}, heads, groups, {dim}});
  if (model.outputBias)
    bias([&] { replicated(CutShape{hidden}); });
}

void StateBuilder::latentAttention() {
  const LatentAttention &latent = model.latent;
  CutDimension heads{model.heads, tp};
  int64_t width = model.queryHeadDim();
  if (latent.queryRank) {
    matrix({{latent.queryRank}, {model.hidden}}, along());
    replicated({{latent.queryRank}});
  }
  matrix({heads, {width}, {latent.queryRank ? latent.queryRank : model.hidden}});
  matrix({{latent.keyValueRank + latent.ropeHeadDim}, {model.hidden}}, along());
  replicated({{latent.keyValueRank}});
  matrix({heads, {latent.nopeHeadDim + latent.valueHeadDim}, {latent.keyValueRank}});
  matrix({{model.hidden}, heads, {1}, {latent.valueHeadDim}});
}

/// Their gradients are zero everywhere, so there are no sums.
void StateBuilder::index() {
  const SparseIndex &index = model.index;
  auto frozen = [&](const CutShape &shape) {
    isSummedBefore = true;
    bias([&] { replicated(shape); });
    isSummedBefore = false;
  };
  frozen({{index.heads * index.headDim}, {model.latent.queryRank}});
  frozen({{index.headDim}, {model.hidden}});
  frozen({{index.headDim}});
  frozen({{index.headDim}});
  frozen({{index.heads}, {model.hidden}});
}

void StateBuilder::feedForward(int64_t inner) {
  const CutDimension hidden = features();
  bool transposed = model.family == "gpt2";
  CutDimension ffn{inner, tp};
  for (int i = 0; i < (model.gated ? 2 : 1); ++i) {
    matrix(transposed ? CutShape{{hidden}, ffn} : CutShape{ffn, {hidden}});
    if (model.ffnBias)
      bias([&] { plain({ffn}, Summed::Data); });
  }
  matrix(transposed ? CutShape{ffn, {hidden}} : CutShape{{hidden}, ffn});
  endsLayer = true; // what backward does not compute again
  if (model.ffnBias)
    bias([&] { replicated(CutShape{hidden}); });
  endsLayer = false;
}

void StateBuilder::experts() {
  const ExpertShape &moe = model.moe;
  bool byExpert = layout.ep > 1;
  unsigned axes = (tp > 1 ? TensorAxes : 0) | (sharing > 1 ? ExpertAxis : 0);
  CutDimension experts{moe.experts, layout.ep, axes}, ffn{moe.ffn, byExpert ? 1 : tp};
  replicated({{moe.experts}, {model.hidden}}); // the router reads f32
  if (moe.scoreBias)                           // selects
    bias([&] { replicated({{moe.experts}}); });
  matrix({experts, {2}, ffn, {model.hidden}});
  matrix({experts, {model.hidden}, ffn});
  if (moe.sharedFfn)
    feedForward(moe.sharedFfn);
  if (moe.sharedGate)
    matrix({{1}, {model.hidden}}, along());
}

void StateBuilder::table(bool isRounded) { add({{model.vocab, tp}, features()}, isRounded && narrow, Summed::Data); }

StateSizes mlir::ppc::compiledState(const PricingContext &context, LayerKind kind) {
  const ModelShape &model = context.model;
  StateBuilder build(context);
  switch (kind) {
  case LayerKind::Embedding:
    build.bias([&] {
      build.table(false);
      if (model.position == PositionKind::Learned)
        build.positions();
    });
    if (model.embeddingNorm)
      build.norm();
    break;
  case LayerKind::Head:
    build.norm();
    if (!model.tiedEmbeddings)
      build.table(true);
    break;
  default:
    build.norm();
    build.attention();
    if (hasIndex(kind))
      build.index();
    build.norm();
    if (hasExperts(kind))
      build.experts();
    else
      build.feedForward(model.ffn);
  }
  return build.sizes;
}

ModelState mlir::ppc::modelState(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks) {
  ModelState state;
  if (!context.stack.arena || !context.isTransformer)
    return state;
  for (int kind = 0; kind < layerKinds; ++kind) {
    int64_t layers = 0;
    for (const ChunkCost &chunk : chunks)
      layers += chunk.count[kind];
    if (!layers)
      continue;
    const StateSizes &sizes = state.layers[kind] = compiledState(context, LayerKind(kind));
    for (auto [all, each] : llvm::zip_equal(state.allTensors, sizes.tensorsCutOver))
      all += double(layers) * each;
  }
  return state;
}

DeviceState mlir::ppc::deviceState(const PricingContext &context, const ModelState &model,
                                   llvm::ArrayRef<ChunkCost> chunks, llvm::ArrayRef<PipelineChunk> held) {
  DeviceState state;
  bool isFirst = false;
  for (const PipelineChunk &chunk : held) {
    for (auto [count, sizes] : llvm::zip_equal(chunks[chunk.stage].count, model.layers))
      if (count)
        state.sizes.add(sizes, double(count));
    isFirst |= chunk.stage == 0;
    state.copies = std::max(state.copies, int64_t(chunk.replica) + 1);
    state.hasLoss |= chunk.stage + 1 == int64_t(chunks.size());
  }
  if (!context.model.tiedEmbeddings || !(isFirst || state.hasLoss))
    return state;
  StateBuilder table(context);
  table.table(false);
  bool isRounded = elementBytes(context.layout.precision) < 4;
  if (state.hasLoss && isRounded)
    state.sizes.prepared += table.sizes.parameters;
  if (state.hasLoss) { // the head's part of what is gathered before use
    ParameterGathers &gathers = state.sizes.gathers;
    (isRounded ? gathers.forwardRounded : gathers.forward) += table.sizes.gathers.forward;
    (isRounded ? gathers.backwardRounded : gathers.backward) += table.sizes.gathers.forward;
  }
  if (isFirst && state.hasLoss) {
    // Of two sums the block that the update reads is there once.
    double block = table.sizes.states / 2;
    state.sizes.gradients += table.sizes.gradients > block ? table.sizes.gradients - block : block;
    state.sizes.each.add(table.sizes.each, 1);
    if (held.size() > 1) // that of each virtual stage is scattered
      state.sizes.once.scattered += table.sizes.once.scattered;
    return state;
  }
  state.tied = table.sizes.states / 2;
  if (state.hasLoss) { // a copy of its own
    table.sizes.gathers.forward = table.sizes.gathers.backward = 0;
    state.sizes.add(table.sizes, 1);
  }
  return state;
}
