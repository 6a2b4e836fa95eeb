// Pipelined steps equal the whole step: stage programs and schedules run as the runtime runs them, two steps in a row.
#include "StageExecutor.h"
#include "TrainingModels.h"
#include "mlir/Transforms/Passes.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Transforms/Pipeline/Passes.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {
struct Pipelining {
  int64_t stages, microBatches; // virtual stages
  StringRef schedule;
  bool splitWeightGradient;
  int64_t vp = 1;

  int64_t devices() const { return stages / vp; }
};
} // namespace

// Partitions the layers at random points.
static void assignStages(ModuleOp module, const Pipelining &pipelining, std::mt19937 &random) {
  int64_t layers = 0;
  module->walk([&](Operation *op) {
    if (auto layer = op->getAttrOfType<IntegerAttr>(attr::layer))
      layers = std::max(layers, layer.getInt() + 1);
  });
  SmallVector<int64_t> candidates(layers - 1);
  std::iota(candidates.begin(), candidates.end(), 1);
  std::shuffle(candidates.begin(), candidates.end(), random);
  ASSERT_LE(pipelining.stages, layers);
  SmallVector<int64_t> starts(candidates.begin(), candidates.begin() + pipelining.stages - 1);
  starts.push_back(0);
  llvm::sort(starts);
  MLIRContext *context = module.getContext();
  Builder builder(context);
  module->walk([&](Operation *op) {
    if (auto layer = op->getAttrOfType<IntegerAttr>(attr::layer))
      op->setAttr(attr::stage,
                  builder.getI64IntegerAttr(llvm::upper_bound(starts, layer.getInt()) - starts.begin() - 1));
  });
  module->setAttr(attr::plan,
                  PlanAttr::get(context, GridAttr::get(context, {}, {}), starts, pipelining.vp,
                                builder.getStringAttr(pipelining.schedule), pipelining.microBatches,
                                builder.getDictionaryAttr({}), builder.getDictionaryAttr({}), DictionaryAttr()));
}

static void checkPipeline(const ModuleOp &whole, const Pipelining &pipelining, unsigned seed) {
  SCOPED_TRACE(llvm::formatv("pp {0}, vp {1}, {2}, {3} micro-batches, W {4}, seed {5}", pipelining.devices(),
                             pipelining.vp, pipelining.schedule, pipelining.microBatches,
                             pipelining.splitWeightGradient ? "apart" : "with B", seed)
                   .str());
  std::mt19937 random(seed);
  OwningOpRef<ModuleOp> cut = ModuleOp(whole).clone();
  assignStages(*cut, pipelining, random);
  ASSERT_TRUE(
      succeeded(run(*cut, passes(createSplitStagesPass({pipelining.splitWeightGradient}), createApplySchedulePass()))));
  if (seed % 3 == 0) // must remove nothing that another stage waits for
    ASSERT_TRUE(succeeded(run(*cut, passes(createCanonicalizerPass(), createCSEPass()))));

  auto step = ModuleOp(whole).lookupSymbol<func::FuncOp>("step");
  RankValues arguments = randomArguments(step, seed);
  StageExecutor executor(*cut);
  std::map<std::string, ReferenceTensor> inputs;
  auto label = [&](unsigned i, StringRef key) {
    auto value = step.getArgAttrOfType<StringAttr>(i, key);
    return value ? value.getValue() : StringRef();
  };
  for (int64_t time = 1; time <= 2; ++time) {
    arguments[findArgument(step, attr::scalar, "step")].data[0] = time;
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      if (StringRef name = label(i, attr::input); !name.empty())
        inputs[name.str()] = arguments[i];
      else if (StringRef name = label(i, attr::scalar); !name.empty())
        EXPECT_EQ(executor.set(ppcrt::BufferRole::Scalar, name, arguments[i]), pipelining.devices()) << name.str();
      else if (time > 1) // the stages keep their own
        continue;
      else if (StringRef name = label(i, attr::parameter); !name.empty())
        EXPECT_GE(executor.set(ppcrt::BufferRole::Parameter, name, arguments[i]), 1) << name.str();
      else
        EXPECT_GE(executor.set(ppcrt::BufferRole::State, label(i, attr::of), arguments[i], label(i, attr::state)), 1)
            << i;
    }
    FailureOr<RankValues> expected = interpret(step, arguments);
    ASSERT_TRUE(succeeded(expected));
    ASSERT_EQ(executor.runStep(inputs), "");

    for (auto [i, value] : llvm::enumerate(*expected)) {
      StringRef kind = step.getResultAttrOfType<StringAttr>(i, attr::result).getValue();
      auto of = step.getResultAttrOfType<StringAttr>(i, attr::of);
      StringRef name = of ? of.getValue() : kind;
      bool isState = kind == "m" || kind == "v";
      StringRef spelled = isState ? "state" : of ? kind : "metric";
      ppcrt::BufferRole role = *ppcrt::symbolizeBufferRole(spelled);
      SmallVector<ReferenceTensor> found = executor.get(role, name, isState ? kind : "");
      if (role == ppcrt::BufferRole::Metric)
        EXPECT_EQ(int64_t(found.size()), pipelining.devices()) << name.str();
      else
        EXPECT_EQ(found.size(), executor.get(ppcrt::BufferRole::Parameter, name).size()) << name.str();
      for (const ReferenceTensor &actual : found)
        EXPECT_TRUE(near(actual, value, 1e-11)) << kind.str() << " of " << name.str() << ", step " << time;
      // Next step's arguments.
      int argument = kind == "parameter" ? findArgument(step, attr::parameter, name)
                     : isState           ? findArgument(step, attr::state, kind, name)
                                         : -1;
      if (argument >= 0)
        arguments[argument] = value;
    }
  }
}

/// Schedules with several stages per device, in shapes that they take.
static void checkVirtualStages(const ModuleOp &whole, int64_t microBatches, int64_t layers, unsigned &seed) {
  for (StringRef schedule : {"interleaved", "breadth-first", "zbv", "v-half", "v-min", "wave", "dualpipev"})
    for (int64_t devices : {1, 2, 3})
      for (int64_t vp : {2, 3, 4})
        if (auto kind = findPipelineSchedule(schedule); devices * vp <= layers && vp <= (*kind)->maxChunks) {
          if (llvm::Error error = checkPipelineShape(**kind, {devices, microBatches, vp})) {
            llvm::consumeError(std::move(error));
            continue;
          }
          checkPipeline(whole, {devices * vp, microBatches, schedule, false, vp}, ++seed);
          if (testing::Test::HasFailure())
            return;
        }
}

static void checkAll(OwningOpRef<ModuleOp> (*build)(MLIRContext &, int64_t microBatches, bool tied),
                     ArrayRef<int64_t> counts, int64_t layers, unsigned seed) {
  MLIRContext context;
  for (int64_t microBatches : counts)
    for (bool tied : {false, true}) {
      OwningOpRef<ModuleOp> whole = build(context, microBatches, tied);
      ASSERT_TRUE(whole && succeeded(buildStep(*whole, microBatches)));
      for (int64_t stages : {1, 2, 3, 4})
        for (StringRef schedule : {"gpipe", "1f1b"})
          for (bool splitWeightGradient : {false, true}) {
            checkPipeline(*whole, {stages, microBatches, schedule, splitWeightGradient}, ++seed);
            if (testing::Test::HasFailure())
              return;
          }
      checkVirtualStages(*whole, microBatches, layers, seed);
      if (testing::Test::HasFailure())
        return;
    }
}

TEST(Pipeline, MlpEqualsWholeStep) {
  checkAll([](MLIRContext &context, int64_t microBatches,
              bool tied) { return buildMlp(context, {/*layers=*/6, /*batch=*/2 * microBatches, /*width=*/2, tied}); },
           {1, 2, 3, 5, 8}, /*layers=*/6, 100);
}

TEST(Pipeline, LlamaEqualsWholeStep) {
  checkAll(
      [](MLIRContext &context, int64_t microBatches, bool tied) {
        return buildLlama(context, {/*layers=*/3, /*batch=*/microBatches, /*sequence=*/3,
                                    tied ? R"(, "tie_word_embeddings": true)" : ""});
      },
      {1, 2, 5}, /*layers=*/5, 1000);
}
