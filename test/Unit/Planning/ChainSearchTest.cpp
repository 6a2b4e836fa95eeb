// Plans for any chain of templates: against layers laid out by degrees, against trying everything, and what is new in
// them.
#include "../Support/TextMutation.h"
#include "TemplateModels.h"
#include "ppc/CostModel/StepParts.h"
#include "ppc/Planning/Chain/ChainComparison.h"
#include "ppc/Planning/Files/ChainPlanFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace mlir::ppc;
using namespace mlir::ppc::test;

static Cluster cluster(llvm::StringRef spelling) {
  auto found = findCluster(spelling);
  EXPECT_TRUE(bool(found)) << llvm::toString(found.takeError());
  return *found;
}

static Stack stackOf(llvm::StringRef name) {
  auto found = findStack(name);
  EXPECT_TRUE(bool(found)) << llvm::toString(found.takeError());
  return *found;
}

static ChainModel denseModel(const DenseModel &sizes) {
  ChainModel model;
  model.name = "dense";
  model.chain = denseChain(sizes);
  model.batch = sizes.batch;
  for (auto [index, layer] : llvm::enumerate(model.chain.templates))
    for (auto [number, value] : llvm::enumerate(layer.values))
      if (value.kind == TemplateValueKind::Input)
        model.batchDimensions.push_back({int(index), int(number), 0});
  return model;
}

static ChainModel towers(int64_t layers, int64_t rows, int64_t hidden, int64_t wide, int64_t narrow) {
  ChainModel model;
  model.name = "towers";
  model.chain = twoTowerChain(layers, rows, hidden, wide, narrow);
  model.batch = rows;
  model.batchDimensions = {{0, 0, 0}};
  return model;
}

/// Columns, rows, and the sequence in between, over one axis.
static bool isMegatron(const OpTemplate &layer, const TemplateOp &op, const OpStrategy &strategy) {
  int choice = strategy.axes.front();
  if (choice < 0)
    return op.name == "pick" || op.name == "nll" || op.name == "loss";
  llvm::StringRef factor = op.factors[choice].name;
  if (op.kernel == TemplateKernel::Product)
    return llvm::is_contained({"k", "f", "v"}, factor);
  if (layer.name == "decoder")
    return factor == (llvm::StringRef(op.name).starts_with("norm") || llvm::StringRef(op.name).starts_with("add") ? "s"
                      : llvm::is_contained({"silu", "mul"}, op.name) ? "f"
                                                                     : "k");
  return factor == "v" || (op.name == "norm" && factor == "s");
}

static bool isStoredAsMegatron(const OpTemplate &, const TemplateValue &value, const Layout &layout) {
  bool isCut = llvm::any_of(layout.dims, [](const auto &axes) { return !axes.empty(); });
  switch (value.kind) {
  case TemplateValueKind::Boundary:
    return layout.dims[1].size() == 1; // by the sequence
  case TemplateValueKind::Input:
    return !isCut;
  default:
    return true;
  }
}

static ModelShape llama(const DenseModel &sizes) {
  ModelShape shape;
  shape.name = "llama", shape.family = "llama";
  shape.layers = sizes.layers, shape.hidden = sizes.hidden, shape.heads = sizes.heads, shape.kvHeads = sizes.kvHeads;
  shape.headDim = sizes.headDim, shape.ffn = sizes.ffn, shape.gated = true, shape.vocab = sizes.vocab;
  return shape;
}

namespace {
struct ClassTimes {
  double forward = 0, backward = 0;
};
} // namespace

static std::map<OpClass, ClassTimes> byClass(const LayerProgram &program) {
  std::map<OpClass, ClassTimes> times;
  for (const LayerOp &op : program.ops) {
    times[op.kind].forward += op.forward.value;
    times[op.kind].backward += (op.backward + op.weightGradient).value;
  }
  return times;
}

// A LLaMA 3 8B layer sharded as by Megatron-LM, estimated op by op and as a transformer laid out by
// degrees.
TEST(ChainSearch, MegatronLayersCostAsMuchAsDegrees) {
  DenseModel sizes;
  sizes.batch = 16;
  Cluster node = cluster("dgx-h100");
  Stack stack = stackOf("ppc");
  stack.keepsGatheredSequence = true; // with memory for free nothing is gathered twice
  ChainModel model = denseModel(sizes);
  ChainRequest request{model, node, stack};
  request.base.attention = AttentionKernel::Flash2;
  request.constraints.pin(PlanKey::Tp, 8);
  request.constraints.pin(PlanKey::MicroBatch, 1);
  request.regather = true;
  request.mostAxes = 1;
  request.allowStrategy = isMegatron;
  request.allowLayout = isStoredAsMegatron;
  auto found = searchChainPlan(request);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  ASSERT_FALSE(found->plans.empty()) << found->reason;
  const ChainPlan &plan = found->plans.front();
  const LayerProgram &chained = plan.programs[1].front().program;

  ParallelLayout layout = plan.layout;
  layout.sequenceParallel = true;
  ModelShape shape = llama(sizes);
  TrainingJob job{sizes.sequence, sizes.batch};
  PricingContext context(shape, job, node, layout, stack);
  const LayerProgram degrees = buildLayer(context, 0);
  for (const LayerProgram *program : {&chained, &degrees}) {
    for (const LayerOp &op : program->ops)
      printf("%-28s %-13s fwd %9.2f bwd %9.2f wgrad %9.2f us, keeps %8.3f MB\n", op.name.str().c_str(),
             toString(op.kind).str().c_str(), 1e6 * op.forward.value, 1e6 * op.backward.value,
             1e6 * op.weightGradient.value, op.saved.value / 1e6);
    printf("  = %9.2f + %9.2f + %9.2f us, keeps %.3f MB, %.0f parameters\n", 1e6 * program->forward().value,
           1e6 * program->backward().value, 1e6 * program->weightGradient().value, program->saved().value / 1e6,
           program->parameters);
  }
  auto near = [](double a, double b, double share) { return std::abs(a - b) <= share * std::max(a, b); };
  auto ours = byClass(chained), theirs = byClass(degrees);
  for (OpClass kind : {OpClass::Gemm, OpClass::Attention, OpClass::Stream, OpClass::Communication}) {
    printf("%s: forward %.2f and %.2f us, backward %.2f and %.2f us\n", toString(kind).str().c_str(),
           1e6 * ours[kind].forward, 1e6 * theirs[kind].forward, 1e6 * ours[kind].backward,
           1e6 * theirs[kind].backward);
  }
  double chainTime = (chained.forward() + chained.backward() + chained.weightGradient()).value;
  double layerTime = (degrees.forward() + degrees.backward() + degrees.weightGradient()).value;
  EXPECT_TRUE(near(chainTime, layerTime, 0.04)) << chainTime << " and " << layerTime;
  EXPECT_DOUBLE_EQ(chained.parameters, degrees.parameters);
}

// Bounds prune no optimum: no single degree combination has a faster plan.
TEST(ChainSearch, FindsTheBestOfAllGrids) {
  Cluster machine = cluster("dgx-h100");
  Stack stack = stackOf("ppc");
  ChainModel model = towers(3, 1024, 2048, 8192, 512);
  ChainRequest request{model, machine, stack};
  request.constraints.pin(PlanKey::Devices, 4);
  request.constraints.forbid(PlanKey::MicroBatch, 1);
  for (int64_t microBatch : {2, 4, 8, 16, 32, 64, 128})
    request.constraints.forbid(PlanKey::MicroBatch, microBatch);
  auto found = searchChainPlan(request);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  ASSERT_FALSE(found->plans.empty()) << found->reason;
  const ChainPlan &best = found->plans.front();
  EXPECT_LE(found->lowerBound.value, best.cost.stepTime.value);
  double least = std::numeric_limits<double>::infinity();
  for (int64_t dp : {1, 2, 4})
    for (int64_t tp = 1; dp * tp <= 4; tp *= 2)
      for (int64_t microBatch : {256, 512, 1024}) {
        ChainRequest one = request;
        one.topK = 1;
        one.constraints.pin(PlanKey::Dp, dp);
        one.constraints.pin(PlanKey::Tp, tp);
        one.constraints.pin(PlanKey::Pp, 4 / dp / tp);
        one.constraints.pin(PlanKey::MicroBatch, microBatch);
        auto only = searchChainPlan(one);
        ASSERT_TRUE(bool(only)) << llvm::toString(only.takeError());
        if (!only->plans.empty())
          least = std::min(least, only->plans.front().cost.stepTime.value);
      }
  EXPECT_NEAR(best.cost.stepTime.value, least, 1e-12 * least) << toString(best.layout);
}

static OpCuts randomCuts(std::mt19937 &random, const ChainModel &model) {
  auto upTo = [&](size_t last) { return std::uniform_int_distribution<size_t>(0, last)(random); };
  std::vector<int64_t> sizes(1 + upTo(2));
  for (int64_t &size : sizes)
    size = int64_t(2) << upTo(1);
  OpCuts cuts{tensorAxes(sizes), {}};
  std::vector<int> layers = model.layers();
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i && layers[i] == layers[i - 1] && upTo(1)) { // as the layer before
      cuts.layers.push_back(cuts.layers.back());
      continue;
    }
    std::vector<OpStrategy> &strategies = cuts.layers.emplace_back();
    for (const TemplateOp &op : model.chain.templates[layers[i]].ops) {
      std::vector<OpStrategy> all = enumerateStrategies(op, cuts.axes);
      strategies.push_back(all[upTo(all.size() - 1)]);
    }
  }
  return cuts;
}

TEST(ChainPlanFile, IsReadAsItWasWritten) {
  std::mt19937 random(11);
  for (int i = 0; i < 100; ++i) {
    ChainModel model = i % 2 ? towers(3, 64, 128, 512, 64) : denseModel({});
    OpCuts cuts = randomCuts(random, model);
    std::string text;
    llvm::raw_string_ostream out(text);
    writeOpCuts(model, cuts, out);
    auto read = parseOpCuts("p.yaml", text, model);
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError()) << "\n" << text;
    ASSERT_EQ(read->axes.size(), cuts.axes.size());
    for (auto [one, other] : llvm::zip_equal(read->axes, cuts.axes))
      EXPECT_TRUE(one.name == other.name && one.size == other.size);
    EXPECT_TRUE(read->layers == cuts.layers) << text;
  }
}

// Damaged files are errors with a position, never crashes.
TEST(ChainPlanFile, SurvivesDamage) {
  ChainModel model = towers(3, 64, 128, 512, 64);
  repeatWithSeeds([&](unsigned seed) {
    std::mt19937 random(seed);
    std::string text;
    llvm::raw_string_ostream out(text);
    writeOpCuts(model, randomCuts(random, model), out);
    text =
        damage(random, text,
               {"layer 1", "layers 0-9", "axes", "tp0", "pending", "0 matmul", ": [", "{", "}", "-1", "99999999999"});
    if (auto read = parseOpCuts("p.yaml", text, model); !read) {
      std::string message = llvm::toString(read.takeError());
      EXPECT_TRUE(llvm::StringRef(message).starts_with("p.yaml:")) << "seed " << seed << ": " << message << "\n"
                                                                   << text;
    }
  });
}

// Pinned strategies are kept, even if others would be faster.
TEST(ChainSearch, KeepsPinnedStrategies) {
  Cluster machine = cluster("dgx-h100");
  Stack stack = stackOf("ppc");
  ChainModel model = towers(2, 1024, 2048, 8192, 512);
  ChainRequest request{model, machine, stack};
  request.constraints.pin(PlanKey::Devices, 4);
  request.constraints.pin(PlanKey::Tp, 4);
  auto free = searchChainPlan(request);
  ASSERT_TRUE(bool(free) && !free->plans.empty());
  // The second layer of parallel branches is column- and row-parallel.
  request.cuts.axes = tensorAxes({4});
  request.cuts.layers.resize(model.layers().size());
  for (const TemplateOp &op : model.chain.templates[model.layers()[2]].ops) {
    OpStrategy strategy{{OpStrategy::uncut}};
    for (auto [number, factor] : llvm::enumerate(op.factors))
      if (factor.name == "w")
        strategy.axes = {int(number)};
    request.cuts.layers[2].push_back(strategy);
  }
  auto kept = searchChainPlan(request);
  ASSERT_TRUE(bool(kept)) << llvm::toString(kept.takeError());
  ASSERT_FALSE(kept->plans.empty()) << kept->reason;
  EXPECT_GT(kept->plans.front().cost.stepTime.value, free->plans.front().cost.stepTime.value);
  OpCuts cuts = kept->plans.front().cuts();
  for (auto [strategy, said] : llvm::zip_equal(cuts.layers[2], request.cuts.layers[2]))
    EXPECT_TRUE(strategy == said || (strategy.axes[0] < 0 && said.axes[0] < 0));
  // Read back and estimated again it takes the same time.
  request.cuts = cuts;
  auto again = searchChainPlan(request);
  ASSERT_TRUE(bool(again) && !again->plans.empty());
  EXPECT_NEAR(again->plans.front().cost.stepTime.value, kept->plans.front().cost.stepTime.value, 1e-12);
}

// Compared with degrees of parallelism: never slower than Megatron's column- and row-parallel layers, and faster if the
// machine has two directions.
TEST(ChainComparison, TwoDimensionalTensorParallelismOnATorus) {
  auto torus =
      parseCluster("torus", "name: torus\n"
                            "device: { kind: TPU-v5p }\n"
                            "levels:\n"
                            "  - { name: ici, size: 256, topology: torus-2d, extents: [16, 16], bandwidth: 100e9, "
                            "latency: 1e-6, floor: 5e-6, ring: { efficiency: 0.8, ramp: 1e6 } }\n");
  ASSERT_TRUE(bool(torus)) << llvm::toString(torus.takeError());
  DenseModel sizes;
  sizes.hidden = 16384, sizes.ffn = 65536, sizes.heads = sizes.kvHeads = 256, sizes.layers = 8, sizes.sequence = 2048;
  sizes.batch = 32;
  ChainModel model = denseModel(sizes);
  Stack stack = stackOf("ppc");
  ChainRequest request{model, *torus, stack};
  request.memoryLimit = Bytes(6e9) + torus->device().frameworkMemory;
  ParallelLayout layout;
  layout.tp = 256;
  ParallelLayout one;
  auto compared = compareOpCuts(request, {layout, one});
  ASSERT_TRUE(bool(compared)) << llvm::toString(compared.takeError());
  ASSERT_EQ(compared->size(), 2u);
  const ChainComparison &first = compared->front();
  ASSERT_TRUE(first.menu && first.free) << first.reason;
  EXPECT_EQ(first.free->axes.size(), 2u);
  EXPECT_GT(first.gain(), 0.1);
  EXPECT_EQ((*compared)[1].reason, "nothing is sharded");
  printf("degrees %.4f s, op-level sharding %.4f s on %s\n", first.menu->cost.stepTime.value,
         first.free->cost.stepTime.value, axesText(first.free->axes).c_str());
}

TEST(ChainComparison, IsNeverSlowerThanColumnsAndRows) {
  Stack stack = stackOf("ppc");
  DenseModel sizes;
  sizes.layers = 8, sizes.batch = 16;
  ChainModel model = denseModel(sizes);
  for (const char *name : {"dgx-h100", "dgx-v100", "dgx-a100:2"}) {
    Cluster machine = cluster(name);
    ChainRequest request{model, machine, stack};
    std::vector<ParallelLayout> layouts;
    for (int64_t tp : {2, 8}) {
      ParallelLayout layout;
      layout.tp = tp;
      layout.dp = 8 / tp;
      layouts.push_back(layout);
    }
    auto compared = compareOpCuts(request, layouts);
    ASSERT_TRUE(bool(compared)) << llvm::toString(compared.takeError());
    for (const ChainComparison &comparison : *compared) {
      ASSERT_TRUE(comparison.menu && comparison.free) << comparison.reason;
      EXPECT_GE(comparison.gain(), -0.02) << name; // overlap is not in the search
      printf("%s tp %d: degrees %.4f s, op-level sharding %.4f s\n", name, int(layouts[comparison.plan].tp),
             comparison.menu->cost.stepTime.value, comparison.free->cost.stepTime.value);
    }
  }
}

// Fewer heads than ranks and a long sequence: attention is sharded along the sequence, by a ring or with gathered keys,
// if the target allows it; plans that compiled programs can run take longer.
TEST(ChainSearch, ShardsLongSequencesInAttention) {
  Cluster machine = cluster("dgx-h100");
  Stack stack = stackOf("ppc");
  DenseModel sizes;
  sizes.heads = 4, sizes.kvHeads = 2, sizes.headDim = 128, sizes.hidden = 512, sizes.ffn = 2048, sizes.layers = 4,
  sizes.vocab = 1024;
  sizes.sequence = 65536;
  sizes.positional = true;
  ChainModel model = denseModel(sizes);
  ChainRequest request{model, machine, stack};
  request.constraints.pin(PlanKey::Tp, 8);
  auto free = searchChainPlan(request);
  request.target = &defaultTarget();
  auto compiled = searchChainPlan(request);
  ASSERT_TRUE(bool(free) && bool(compiled) && !free->plans.empty() && !compiled->plans.empty());
  const ChainPlan &plan = free->plans.front();
  EXPECT_LT(plan.cost.stepTime.value, 0.75 * compiled->plans.front().cost.stepTime.value);
  EXPECT_NE(lackedBy(defaultTarget(), model, plan.cuts()), "");
  EXPECT_EQ(lackedBy(defaultTarget(), model, compiled->plans.front().cuts()), "");
  OpCuts cuts = plan.cuts();
  bool found = false;
  for (auto [op, strategy] : llvm::zip_equal(plan.chain->templates[1].ops, cuts.layers[1])) {
    found |= op.kernel == TemplateKernel::Attention && llvm::any_of(strategy.axes, [](int choice) {
               return choice == OpStrategy::ring || choice == OpStrategy::gather;
             });
    if (op.kernel == TemplateKernel::Attention)
      printf("attention %s: step %.4f s, without %.4f s\n", toString(op, strategy, plan.axes).c_str(),
             plan.cost.stepTime.value, compiled->plans.front().cost.stepTime.value);
  }
  EXPECT_TRUE(found);
}
