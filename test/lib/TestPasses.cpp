// Registers the passes that only tests use.
#include "TestPasses.h"

void mlir::ppc::test::registerTestPasses() {
  registerTestShardingRules();
  registerTestGradients();
  registerTestCost();
  registerTestSilentOps();
  registerTestInterpreter();
  registerTestHostNumerics();
  registerTestSpmdEquivalence();
  registerTestEquivalenceMutations();
  registerTestEquivalenceRules();
  registerTestTimedExecution();
  registerTestPlanFiles();
  registerTestLayoutCases();
  registerTestModelCases();
  registerTestTimeMutations();
}
