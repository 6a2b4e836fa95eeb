// The passes that only tests use, one per file of this folder.
#ifndef PPC_TEST_LIB_TESTPASSES_H
#define PPC_TEST_LIB_TESTPASSES_H

namespace mlir::ppc::test {

void registerTestShardingRules();
void registerTestGradients();
void registerTestCost();
void registerTestSilentOps();
void registerTestInterpreter();
void registerTestHostNumerics();
void registerTestSpmdEquivalence();
void registerTestEquivalenceMutations();
void registerTestEquivalenceRules();
void registerTestTimedExecution();
void registerTestPlanFiles();
void registerTestLayoutCases();
void registerTestModelCases();
void registerTestTimeMutations();

/// Registers all test passes.
void registerTestPasses();

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_TESTPASSES_H
