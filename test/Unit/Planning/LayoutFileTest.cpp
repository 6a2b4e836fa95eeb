#include "ppc/Planning/Files/LayoutFile.h"

#include "../Support/TextMutation.h"
#include "ppc/Planning/TargetLimits.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace mlir::ppc;

static ModelShape model() {
  ModelShape shape;
  shape.name = "m";
  shape.layers = 16;
  shape.hidden = 512;
  shape.heads = 8;
  shape.kvHeads = 4;
  shape.headDim = 64;
  shape.ffn = 1024;
  shape.vocab = 1000;
  return shape;
}

static std::string textOf(const ParallelLayout &layout, const TargetCapabilities &target = defaultTarget()) {
  std::string text;
  llvm::raw_string_ostream out(text);
  writeLayoutFile(model(), {128, 4096}, layout, target, out);
  return text;
}

static ParallelLayout randomLayout(std::mt19937 &random) {
  auto upTo = [&](int64_t last) { return std::uniform_int_distribution<int64_t>(0, last)(random); };
  ParallelLayout layout;
  for (int64_t *degree :
       {&layout.dp, &layout.tp, &layout.pp, &layout.vp, &layout.cp, &layout.ep, &layout.etp, &layout.microBatch})
    *degree = int64_t(1) << upTo(3);
  layout.sequenceParallel = upTo(1);
  layout.zero = upTo(3);
  layout.shardGroup = upTo(1) ? layout.dp : 0;
  std::mt19937 other = random; // other random choices stay
  auto groupUpTo = [&](int64_t all) {
    return std::min(int64_t(1) << std::uniform_int_distribution<int64_t>(0, 3)(other), all);
  };
  if (layout.zero >= 2 && other() % 2)
    layout.gradientGroup = groupUpTo(layout.shardRanks());
  if (layout.zero >= 3 && other() % 2)
    layout.parameterGroup = groupUpTo(layout.shardRanks());
  llvm::ArrayRef<PipelineScheduleKind> kinds = pipelineScheduleKinds();
  layout.schedule = kinds[upTo(kinds.size() - 1)].name.str();
  layout.recompute = Recompute(upTo(2));
  layout.recomputedLayers = layout.recompute == Recompute::Full ? upTo(4) - 1 : -1;
  layout.offload = Offload(upTo(7));
  layout.precision = Precision(upTo(precisionCount - 1));
  layout.contextKind = ContextKind(upTo(2));
  layout.attention = AttentionKernel(upTo(5));
  for (int64_t i = 0; i < layout.pp * layout.vp; ++i)
    layout.stageLayers.push_back(upTo(5));
  if (upTo(1))
    for (int64_t i = 0; i < layout.pp; ++i)
      layout.stageGroups.push_back(upTo(2));
  return layout;
}

TEST(LayoutFile, IsReadAsItWasWritten) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    ParallelLayout layout = randomLayout(random);
    std::string text = textOf(layout);
    PlanConstraints constraints;
    llvm::Error error = parseLayoutFile("p.yaml", text, constraints);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error)) << "\n" << text;
    EXPECT_EQ(constraints.violation(layout), std::nullopt) << text;
    EXPECT_TRUE(llvm::ArrayRef<int64_t>(constraints.stageLayers) == llvm::ArrayRef<int64_t>(layout.stageLayers));
    ParallelLayout again;
    for (int key = 0; key < planKeyCount; ++key)
      if (constraints.isPinned(PlanKey(key)))
        setPlanValue(again, PlanKey(key), constraints.pinned(PlanKey(key)));
    again.stageLayers = constraints.stageLayers;
    again.stageGroups = constraints.stageGroups;
    EXPECT_EQ(again.stageGroups, layout.stageGroups);
    EXPECT_EQ(textOf(again), text);
  }
}

// Layouts that programs of a target run are written so that a plan for that target can be read from them.
TEST(LayoutFile, IsReadAsItWasWrittenForEachTarget) {
  std::mt19937 random(19);
  for (const TargetCapabilities *target : targetCapabilities()) {
    int run = 0, exchanging = 0;
    for (int i = 0; i < 4000; ++i) {
      ParallelLayout layout = randomLayout(random);
      layout.etp = 1;
      layout.stageGroups.clear();
      layout.precision = target->precisions[i % target->precisions.size()];
      if (layout.cp == 1)
        layout.contextKind = ContextKind::Ring; // as the planner has it where there is nothing to exchange
      if (!lackedBy(*target, layout).empty())
        continue;
      ++run;
      exchanging += layout.cp > 1;
      std::string text = textOf(layout, *target);
      PlanConstraints constraints;
      limitToTarget(*target, constraints);
      llvm::Error error = parseLayoutFile("p.yaml", text, constraints, {/*isAlone=*/false, target, layout.precision});
      ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error)) << "\n" << text;
      ParallelLayout again;
      for (int key = 0; key < planKeyCount; ++key)
        if (constraints.isPinned(PlanKey(key)))
          setPlanValue(again, PlanKey(key), constraints.pinned(PlanKey(key)));
      for (int key = 0; key < planKeyCount; ++key)
        EXPECT_EQ(planValue(again, PlanKey(key)), planValue(layout, PlanKey(key)))
            << toString(PlanKey(key)).str() << " for " << target->name.str() << "\n"
            << text;
      again.stageLayers = constraints.stageLayers;
      EXPECT_EQ(textOf(again, *target), text);
    }
    EXPECT_GT(run, 50) << target->name.str();
    EXPECT_GT(exchanging, 10) << target->name.str();
  }
}

TEST(PlanConstraints, KindsOfOffloadAreReadInAnyOrder) {
  for (int kinds = 0; kinds <= int(Offload::All); ++kinds) {
    llvm::SmallVector<llvm::StringRef> names;
    for (Offload kind : {Offload::Optimizer, Offload::Activations, Offload::Parameters})
      if (kinds & int(kind))
        names.push_back(toString(kind));
    llvm::sort(names);
    do {
      std::string text = names.empty() ? "none" : llvm::join(names, "+");
      llvm::Expected<int64_t> value = parsePlanValue(PlanKey::Offload, text);
      ASSERT_TRUE(bool(value)) << text << ": " << llvm::toString(value.takeError());
      EXPECT_EQ(*value, kinds) << text;
    } while (std::next_permutation(names.begin(), names.end()));
  }
  for (const char *text : {"", "all", "optimizer+optimizer", "none+optimizer", "optimizer+"}) {
    llvm::Expected<int64_t> value = parsePlanValue(PlanKey::Offload, text);
    ASSERT_FALSE(bool(value)) << text;
    EXPECT_NE(llvm::toString(value.takeError()).find("or several of these with + between them"), std::string::npos);
  }
}

TEST(LayoutFile, WritesCompilableLayoutsInTheCompilersTerms) {
  ParallelLayout layout;
  layout.dp = 2;
  layout.tp = 8;
  layout.pp = 2;
  layout.precision = Precision::F32;
  layout.stageLayers = {9, 7};
  EXPECT_EQ(lackedBy(defaultTarget(), layout), "");
  // 8 ranks over 4 key-value heads with 2 query heads each: both are sharded.
  std::string text = textOf(layout);
  EXPECT_NE(text.find("grid: { dp: 2, tp0: 4, tp1: 2 }\nstages: [ 0, 10 ]"), std::string::npos) << text;
  EXPECT_NE(text.find("micro_batches: 2048\n"), std::string::npos) << text;
  EXPECT_NE(text.find("kv_heads: [ tp0 ], head_group: [ tp1 ], vocab: [ tp0, tp1 ]"), std::string::npos) << text;
  EXPECT_EQ(text.find("activations"), std::string::npos) << text;
  EXPECT_EQ(text.find("update"), std::string::npos) << text;
  layout.sequenceParallel = true;
  layout.zero = 1;
  EXPECT_EQ(lackedBy(defaultTarget(), layout), "");
  text = textOf(layout);
  EXPECT_NE(text.find("activations: { sequence: [ tp0, tp1 ] }"), std::string::npos) << text;
  EXPECT_NE(text.find("update: [ dp ]"), std::string::npos) << text;
  EXPECT_EQ(text.find("gradients"), std::string::npos) << text;
  layout.zero = 3;
  EXPECT_EQ(lackedBy(defaultTarget(), layout), "");
  text = textOf(layout);
  EXPECT_NE(text.find("update: [ dp ]"), std::string::npos) << text;
  EXPECT_NE(text.find("gradients: [ dp ]"), std::string::npos) << text;
  EXPECT_NE(text.find("storage: [ dp ]"), std::string::npos) << text;
  EXPECT_EQ(text.find("\noffload"), std::string::npos) << text;
  layout.offload = Offload::Optimizer;
  EXPECT_EQ(lackedBy(defaultTarget(), layout), "");
  text = textOf(layout);
  EXPECT_NE(text.find("\noffload: optimizer "), std::string::npos) << text;
  layout.offload = Offload::Optimizer | Offload::Activations;
  EXPECT_EQ(lackedBy(defaultTarget(), layout), "");
  text = textOf(layout);
  EXPECT_NE(text.find("\noffload: optimizer+activations "), std::string::npos) << text;
  layout.etp = 2;
  EXPECT_EQ(lackedBy(defaultTarget(), layout), "tensor parallelism inside experts (etp 2)");
  EXPECT_EQ(textOf(layout).find("grid"), std::string::npos);
}

TEST(LayoutFile, ShardsExpertsOverContextParallelRanks) {
  ParallelLayout layout;
  layout.dp = 4;
  layout.cp = 2;
  layout.contextKind = ContextKind::AllGather;
  layout.ep = 8;
  layout.precision = Precision::F32;
  auto expectGrid = [&](int64_t dp, int64_t cp, int64_t ep, const char *grid, const char *experts) {
    layout.dp = dp, layout.cp = cp, layout.ep = ep;
    EXPECT_EQ(lackedBy(defaultTarget(), model(), layout), "");
    std::string text = textOf(layout);
    EXPECT_NE(text.find(grid), std::string::npos) << text;
    EXPECT_NE(text.find(experts), std::string::npos) << text;
  };
  expectGrid(4, 2, 4, "grid: { dp: 1, ep: 4, cp: 2, ", "experts: [ ep ]");
  expectGrid(4, 2, 8, "grid: { dp: 1, ep: 4, cp: 2, ", "experts: [ ep, cp ]");
  expectGrid(1, 2, 2, "grid: { dp: 1, cp: 2, ", "experts: [ cp ]");
  expectGrid(1, 4, 2, "grid: { dp: 1, cp0: 2, cp1: 2, ", "experts: [ cp1 ]");
  layout.dp = 4, layout.cp = 2, layout.ep = 16;
  EXPECT_EQ(lackedBy(defaultTarget(), model(), layout), "experts over 16 of the data-parallel ranks of dp 4 x cp 2");
  EXPECT_EQ(textOf(layout).find("grid"), std::string::npos);
}

// Values that a search skips are values that programs lack, whatever the rest of a layout is.
TEST(TargetLimits, RefuseOnlyFeaturesThatProgramsLack) {
  std::mt19937 random(11);
  int refused = 0, lacked = 0;
  for (int i = 0; i < 2000; ++i) {
    ParallelLayout layout = randomLayout(random);
    if (layout.cp == 1) // without context parallelism its kind means nothing
      layout.contextKind = ContextKind::AllGather;
    PlanConstraints constraints;
    limitToTarget(defaultTarget(), constraints);
    bool isRefused = constraints.violation(layout).has_value();
    std::string part = lackedBy(defaultTarget(), layout);
    refused += isRefused;
    lacked += !part.empty();
    // A schedule means nothing without a pipeline.
    if (isRefused && layout.pp > 1)
      EXPECT_NE(part, "") << toString(layout);
  }
  EXPECT_GT(refused, 100);
  EXPECT_GE(lacked, refused / 2);
}

static std::string errorOf(llvm::StringRef text) {
  PlanConstraints constraints;
  llvm::Error error = parseLayoutFile("p.yaml", text, constraints);
  return error ? llvm::toString(std::move(error)) : "";
}

TEST(LayoutFile, ErrorsNameThePositionTheKeyAndAllowedValues) {
  EXPECT_EQ(errorOf("layout: { tp: 4 }\n"), "");
  EXPECT_EQ(
      errorOf("grid: { dp: 2 }\n"),
      "p.yaml:1:1: error: there is no section 'layout:', which says what to pin (ppc-plan --emit plan writes one)");
  EXPECT_EQ(errorOf("layout:\n  tp: two\n"),
            "p.yaml:2:7: error: key \"tp\": 'two' is not a value of tp; expected a number from 1 to "
            "1048576");
  EXPECT_EQ(errorOf("layout:\n  speed: 9\n")
                .rfind("p.yaml:2:10: error: key \"speed\": unknown key 'speed' of a plan; known are ", 0),
            0u);
  EXPECT_NE(errorOf("layout:\n  stage_layers: [ 1, -2 ]\n").find("expected whole numbers of layers"),
            std::string::npos);
  EXPECT_NE(errorOf("layout:\n  stage_groups: [ 0, 1.5 ]\n").find("expected numbers of the cluster's groups"),
            std::string::npos);
  EXPECT_NE(errorOf("layout:\n  tp: [ 4 ]\n").find("p.yaml:2:"), std::string::npos);
}

TEST(LayoutFile, DamagedFilesGiveErrorsOrLayouts) {
  static constexpr llvm::StringRef pieces[] = {
      "-1",   "0",   "1e400", "nan",  "[",   "]",  "{",      "}",
      ":",    "\n",  "'",     "\"",   "&a ", "*a", "---",    "|",
      "null", "~",   "#",     "\xff", "8",   "on", "tp",     "dp:",
      "zero", "all", "zbv",   "full", "[]",  "{}", "layout", "99999999999999999999"};
  std::mt19937 layouts(3);
  std::vector<std::string> texts;
  for (int i = 0; i < 8; ++i)
    texts.push_back(textOf(randomLayout(layouts)));
  int accepted = 0, refused = 0;
  repeatWithSeeds([&](unsigned seed) {
    std::mt19937 random(seed);
    std::string text = damage(random, texts[seed % texts.size()], pieces);
    PlanConstraints constraints;
    llvm::Error error = parseLayoutFile("p.yaml", text, constraints);
    ++(error ? refused : accepted);
    if (error) {
      std::string message = llvm::toString(std::move(error));
      EXPECT_EQ(message.rfind("p.yaml:", 0), 0u) << "seed " << seed << ": " << message << "\n" << text;
      EXPECT_EQ(message.find('\n'), std::string::npos) << "seed " << seed << ": " << message;
      return;
    }
    // Accepted layouts can be estimated or refused, and written.
    ParallelLayout layout;
    for (int key = 0; key < planKeyCount; ++key)
      if (constraints.isPinned(PlanKey(key)))
        setPlanValue(layout, PlanKey(key), constraints.pinned(PlanKey(key)));
    layout.stageLayers = constraints.stageLayers;
    llvm::consumeError(verifyLayout(model(), {128, 4096}, layout));
    EXPECT_FALSE(toString(layout).empty());
  });
  EXPECT_GT(accepted, 10);
  EXPECT_GT(refused, 10);
}

TEST(LayoutFile, SectionsOfTheCompilerMustSayTheSame) {
  ParallelLayout layout;
  layout.dp = 2;
  layout.tp = 4;
  layout.pp = 2;
  layout.precision = Precision::F32;
  layout.stageLayers = {9, 7};
  const std::string text = textOf(layout);
  auto messageWith = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string edited = text;
    size_t at = edited.find(from.str());
    EXPECT_NE(at, std::string::npos) << from.str();
    edited.replace(at, from.size(), to.str());
    PlanConstraints constraints;
    llvm::Error error = parseLayoutFile("p.yaml", edited, constraints);
    return error ? llvm::toString(std::move(error)) : "";
  };
  EXPECT_EQ(messageWith("grid", "grid"), "");
  for (auto [from, to, expected] :
       {std::tuple("grid: { dp: 2,", "grid: { dp: 4,", "dp is 4 here and 2 in the section 'layout:'"),
        std::tuple("stages: [ 0, 10 ]", "stages: [ 0, 9 ]", "stage 0 has other layers here"),
        std::tuple("stages: [ 0, 10 ]", "stages: [ 0, 5, 10 ]", "pp is 3 here and 2 in"),
        std::tuple("schedule: 1f1b", "schedule: gpipe", "schedule is gpipe here and 1f1b in"),
        std::tuple(
            "layout:", "parameters: { w: [ tp ] }\nlayout:", "shardings of single parameters are for ppc-compile")}) {
    std::string message = messageWith(from, to);
    EXPECT_EQ(message.rfind("p.yaml:", 0), 0u) << message;
    EXPECT_NE(message.find(expected), std::string::npos) << message;
    // Readers of those sections may find them edited.
    std::string edited = text;
    edited.replace(edited.find(from), std::string(from).size(), to);
    PlanConstraints constraints;
    llvm::Error error = parseLayoutFile("p.yaml", edited, constraints, {/*isAlone=*/false});
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
}
