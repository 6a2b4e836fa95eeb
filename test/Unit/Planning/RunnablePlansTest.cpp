// The search that ppc-compile makes, over what compiled programs can run on the ranks of one machine, against pricing
// all of it.
#include "ppc/Planning/Files/LayoutFile.h"
#include "ppc/Planning/PlanSearch.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"

#include "gtest/gtest.h"

using namespace mlir::ppc;

namespace {

ModelShape smallLlama(int64_t layers, int64_t kvHeads) {
  ModelShape model;
  model.name = "small";
  model.family = "llama";
  model.layers = layers;
  model.hidden = 192;
  model.heads = 6;
  model.kvHeads = kvHeads;
  model.headDim = 32;
  model.ffn = 512;
  model.gated = true;
  model.vocab = 256;
  return model;
}

ModelShape smallExperts(int64_t layers) {
  ModelShape model = smallLlama(layers, 2);
  model.family = "mixtral";
  model.moe.experts = 8;
  model.moe.topK = 2;
  model.moe.ffn = 128;
  return model;
}

class RunnablePlans : public testing::Test {
protected:
  Cluster cluster = llvm::cantFail(clusterOfRanks(
      llvm::cantFail(parseCluster("cores", "name: cores\ndevice: { kind: x86-64 }\n"
                                           "levels: [{ name: shared-memory, kind: shared-memory, size: 2 }]\n")),
      4));
  Stack stack = llvm::cantFail(findStack("ppc-host"));
  TrainingJob job{64, 16};
  ParallelLayout base;

  RunnablePlans() {
    base.precision = Precision::F32;
    base.attention = AttentionKernel::Unfused;
  }

  PlanRequest request(const ModelShape &model, double memory = 0) {
    PlanRequest request{model, job, cluster, stack, base, {}, Bytes(memory)};
    request.refuse = [](const ParallelLayout &layout) { return lackedBy(defaultTarget(), layout); };
    request.constraints.pin(PlanKey::Devices, cluster.deviceCount());
    return request;
  }

  /// Every layout that fits, stages cut as the stack cuts: seconds and bytes.
  std::vector<std::pair<double, double>> all(const PlanRequest &request) {
    std::vector<std::pair<double, double>> found;
    int64_t ranks = cluster.deviceCount();
    for (int64_t tp = 1; tp <= ranks; ++tp)
      for (int64_t pp = 1; tp * pp <= ranks; ++pp)
        for (int64_t microBatch = 1; microBatch <= job.globalBatch; ++microBatch)
          for (int choice = 0; choice < (request.model.moe ? 96 : 32); ++choice) {
            static constexpr llvm::StringRef schedules[] = {"1f1b", "gpipe", "zb1p", "zb2p"};
            bool sequenceParallel = choice & 1;
            int64_t zero = choice / 2 % 4;
            llvm::StringRef schedule = schedules[choice / 8 % 4];
            ParallelLayout layout = base;
            layout.sequenceParallel = sequenceParallel;
            layout.zero = zero;
            layout.tp = tp;
            layout.ep = choice < 32 ? 1 : choice < 64 ? tp : 2 * tp;
            layout.pp = pp;
            layout.dp = ranks / (tp * pp);
            layout.microBatch = microBatch;
            layout.schedule = schedule.str();
            if (layout.devices() != ranks || (choice >= 32 && layout.ep == 1) || (sequenceParallel && tp == 1) ||
                (zero && layout.dp == 1))
              continue;
            llvm::Expected<Plan> plan = pricePlan(request, layout);
            if (!plan)
              llvm::consumeError(plan.takeError()); // does not divide
            else if (plan->cost.fits)
              found.push_back({plan->cost.stepTime.value, plan->cost.peakMemory.value});
          }
    return found;
  }

  /// The least step time of them; infinite when nothing fits.
  double leastOfAll(const PlanRequest &request) {
    double least = std::numeric_limits<double>::infinity();
    for (auto [time, memory] : all(request))
      least = std::min(least, time);
    return least;
  }
};

} // namespace

TEST_F(RunnablePlans, searchFindsTheLeastOfAll) {
  for (int64_t layers : {2, 4, 5})
    for (int64_t kvHeads : {2, 6}) {
      ModelShape model = smallLlama(layers, kvHeads);
      PlanRequest asked = request(model);
      PlanSearchResult result = llvm::cantFail(searchPlan(asked));
      ASSERT_FALSE(result.plans.empty());
      EXPECT_EQ(lackedBy(defaultTarget(), result.plans.front().layout), "");
      EXPECT_EQ(result.plans.front().layout.devices(), 4);
      EXPECT_NEAR(result.plans.front().cost.stepTime.value, leastOfAll(asked), 1e-9 * leastOfAll(asked))
          << layers << " " << kvHeads;
    }
}

// Experts by width, over the tensor-parallel ranks, and over twice as many.
TEST_F(RunnablePlans, searchFindsTheLeastOfAllWithExperts) {
  for (int64_t layers : {2, 3})
    for (double memory : {0.0, 40e6, 25e6}) {
      ModelShape model = smallExperts(layers);
      PlanRequest asked = request(model, memory);
      for (int64_t ep : {8, 16}) // not among those that are priced below
        asked.constraints.forbid(PlanKey::Ep, ep);
      asked.constraints.forbid(PlanKey::Recompute, int64_t(Recompute::Full));
      asked.constraints.forbid(PlanKey::Recompute, int64_t(Recompute::Selective));
      PlanSearchResult result = llvm::cantFail(searchPlan(asked));
      double least = leastOfAll(asked);
      if (result.plans.empty()) {
        EXPECT_EQ(least, std::numeric_limits<double>::infinity()) << layers << " " << memory;
        continue;
      }
      EXPECT_LE(result.plans.front().cost.stepTime.value, least * (1 + 1e-9))
          << layers << " " << memory << " " << toString(result.plans.front().layout);
    }
}

TEST_F(RunnablePlans, amongTimesAlikeLessMemoryIsChosen) {
  int cheaper = 0;
  for (int64_t layers : {2, 4, 5})
    for (int64_t kvHeads : {2, 6})
      for (double tolerance : {1e-9, 0.01, 0.1}) {
        ModelShape model = smallLlama(layers, kvHeads);
        PlanRequest asked = request(model);
        asked.constraints.pin(PlanKey::Vp, 1); // as what is priced below
        Plan fastest = llvm::cantFail(searchPlan(asked)).plans.front();
        asked.timeTolerance = tolerance;
        PlanSearchResult result = llvm::cantFail(searchPlan(asked));
        ASSERT_FALSE(result.plans.empty());
        const StepCost &chosen = result.plans.front().cost;
        double latest = leastOfAll(asked) * (1 + tolerance), least = std::numeric_limits<double>::infinity();
        for (auto [time, memory] : all(asked))
          if (time <= latest)
            least = std::min(least, memory);
        EXPECT_LE(chosen.stepTime.value, latest * (1 + 1e-9));
        EXPECT_DOUBLE_EQ(chosen.peakMemory.value, least)
            << layers << " layers, tolerance " << tolerance << ": " << toString(result.plans.front().layout);
        bool saves = chosen.peakMemory < fastest.cost.peakMemory;
        EXPECT_EQ(result.notes.size(), size_t(saves)); // says why it is not the fastest
        cheaper += saves;
        // The same plan, whatever is listed.
        asked.topK = 1;
        asked.threads = 1;
        EXPECT_EQ(toString(llvm::cantFail(searchPlan(asked)).plans.front().layout),
                  toString(result.plans.front().layout));
      }
  EXPECT_GE(cheaper, 6);
}

TEST_F(RunnablePlans, memoryForcesAnotherPlan) {
  ModelShape model = smallLlama(4, 2);
  Plan free = llvm::cantFail(searchPlan(request(model))).plans.front();
  PlanRequest tight = request(model, free.cost.peakMemory.value * 0.8);
  PlanSearchResult result = llvm::cantFail(searchPlan(tight));
  ASSERT_FALSE(result.plans.empty());
  EXPECT_LE(result.plans.front().cost.peakMemory, tight.memoryLimit);
  EXPECT_GE(result.plans.front().cost.stepTime, free.cost.stepTime);
  // The search may also cut stages for memory, which the enumeration does not.
  EXPECT_LE(result.plans.front().cost.stepTime.value, leastOfAll(tight) * (1 + 1e-9));
}

TEST_F(RunnablePlans, moreRanksThanCoresShareTheMachine) {
  Cluster cores =
      llvm::cantFail(parseCluster("cores", "name: cores\ndevice: { kind: x86-64, memory: 8e9 }\n"
                                           "levels: [{ name: shared-memory, kind: shared-memory, size: 2 }]\n"));
  Cluster ranks = llvm::cantFail(clusterOfRanks(cores, 8));
  EXPECT_EQ(ranks.deviceCount(), 8);
  EXPECT_EQ(ranks.device().memory.value, 2e9);
  EXPECT_EQ(ranks.device().peakOf(Precision::F32).value * 4, cores.device().peakOf(Precision::F32).value);
  EXPECT_EQ(ranks.device().memoryBandwidth.value * 4, cores.device().memoryBandwidth.value);
  EXPECT_EQ(ranks.levels().front().latency.value, cores.levels().front().latency.value * 4);
  Cluster one = llvm::cantFail(clusterOfRanks(cores, 1));
  EXPECT_EQ(one.device().peakOf(Precision::F32).value, 2 * cores.device().peakOf(Precision::F32).value); // two threads
  EXPECT_EQ(one.device().memoryBandwidth.value, cores.device().memoryBandwidth.value);
  llvm::Expected<Cluster> none = clusterOfRanks(cores, 0);
  EXPECT_FALSE(bool(none));
  llvm::consumeError(none.takeError());
}
