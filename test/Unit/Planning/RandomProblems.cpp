#include "RandomProblems.h"

using namespace mlir::ppc;

PlanningProblem RandomProblems::make() {
  PlanningProblem problem;
  ModelShape &model = problem.model;
  model.name = "random";
  model.layers = pick({2, 3, 5});
  model.heads = pick({4, 6, 8});
  model.kvHeads = pick({1, 2}) == 1 ? model.heads : 2;
  model.headDim = pick({64, 128});
  model.hidden = model.heads * model.headDim;
  model.ffn = 4 * model.hidden;
  model.gated = pick({0, 1});
  model.vocab = 32000;
  if (pick({0, 0, 1})) {
    model.moe.experts = pick({4, 8});
    model.moe.topK = 2;
    model.moe.ffn = model.hidden;
    model.predictionLayers = pick({0, 1});
    model.moe.firstLayer = pick({0, 1});
    model.moe.sharedFfn = pick({0, 1}) * model.hidden;
  }
  problem.job = {pick({512, 2048}), pick({4, 6, 8, 12})};
  problem.cluster = llvm::cantFail(findCluster(pick({0, 1}) ? "dgx-a100:2" : "dgx-h100:2"));
  problem.cluster = llvm::cantFail(restrictCluster(problem.cluster, pick({2, 4, 6, 8})));
  problem.stack = llvm::cantFail(findStack(pick({0, 1}) ? "ppc" : "megatron-core"));
  // Schedules that change with the durations, steps that follow each other without a barrier.
  problem.stack.fittedSchedules = pick({0, 1});
  problem.stack.validatesUpdateAfterwards = pick({0, 0, 1});
  // From hardly anything that fits to everything.
  problem.limit = Bytes(double(pick({5, 6, 8, 10, 20, 60})) * 1e9);
  auto pin = [&](PlanKey key, std::initializer_list<int64_t> values) {
    if (pick({0, 0, 0, 0, 0, 1}))
      problem.constraints.pin(key, pick(values));
  };
  pin(PlanKey::Tp, {1, 2, 3, 4});
  pin(PlanKey::Pp, {1, 2, 3});
  pin(PlanKey::MicroBatch, {1, 2});
  pin(PlanKey::Zero, {0, 1, 3});
  pin(PlanKey::Recompute, {0, 1, 2});
  pin(PlanKey::Offload, {0, 1, 2, 3, 3}); // parameters are on the host in compiled programs alone
  if (pick({0, 0, 1}))
    problem.constraints.forbid(PlanKey::Dp, pick({1, 2, 4}));
  return problem;
}
