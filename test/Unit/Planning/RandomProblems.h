// Small planning problems at random, for tests that compare with exhaustive search.
#ifndef PPC_TEST_UNIT_PLANNING_RANDOMPROBLEMS_H
#define PPC_TEST_UNIT_PLANNING_RANDOMPROBLEMS_H

#include "ppc/Planning/PlanSearch.h"

#include <cstdlib>
#include <random>

namespace mlir::ppc {

struct PlanningProblem {
  ModelShape model;
  TrainingJob job;
  Cluster cluster;
  Stack stack;
  PlanConstraints constraints;
  Bytes limit;
  /// Refers to this problem.
  PlanRequest request() const {
    PlanRequest request{model, job, cluster, stack, {}, constraints, limit};
    request.topK = 3;
    request.alternatives = false;
    return request;
  }
};

class RandomProblems {
public:
  /// PPC_TEST_SEED, when set, is added to the seed: other problems for the same test.
  explicit RandomProblems(unsigned seed)
      : engine(seed + (std::getenv("PPC_TEST_SEED") ? std::atoi(std::getenv("PPC_TEST_SEED")) : 0)) {}
  int64_t pick(std::initializer_list<int64_t> values) { return *(values.begin() + engine() % values.size()); }
  PlanningProblem make();

private:
  std::mt19937 engine;
};

} // namespace mlir::ppc

#endif // PPC_TEST_UNIT_PLANNING_RANDOMPROBLEMS_H
