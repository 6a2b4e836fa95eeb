// Decides whether a random mutation of a partitioned program matters, by numbers in f64 and rounded to f32, and whether
// the proof detects it.
#ifndef PPC_TEST_LIB_MUTANTJUDGE_H
#define PPC_TEST_LIB_MUTANTJUDGE_H

#include "RankExecutor.h"

namespace mlir::ppc::test {

class MutantJudge {
public:
  /// Results by device, buffer and rank.
  using Outputs = std::vector<std::vector<RankTensors>>;

  /// `program` computes the @step of `whole`.
  MutantJudge(ModuleOp whole, ModuleOp program) : whole(whole), program(program) {}

  /// Runs the unchanged program on random numbers of `seed`. Returns "" or the reason why mutations cannot be judged.
  std::string prepare(int64_t seed);
  /// Makes mutations of the kind `only`, of all kinds if it is empty, until `count` of them change numbers or keep the
  /// program from running, as many as can be found; `list` prints each.
  void judge(int64_t count, int64_t seed, StringRef only, bool list);

  int64_t changed = 0, noticed = 0, broken = 0, brokenNoticed = 0, harmless = 0, overcautious = 0;
  SmallVector<std::string> misses; ///< mutations that matter and are not detected

private:
  /// A step and an evaluation of `mutant`, and what both leave. "" or what went wrong.
  std::string execute(ModuleOp mutant, Arithmetic arithmetic, Outputs &outputs);
  void judge(StringRef kind, int64_t number, Random &random, bool list);

  ModuleOp whole, program;
  NamedTensors values;
  Outputs expected[2]; ///< exact, rounded
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_MUTANTJUDGE_H
