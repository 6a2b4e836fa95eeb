// Whether a random mistake in a partitioned program matters, by numbers in f64 and rounded to f32, and whether the
// proof notices it.
#ifndef PPC_TEST_LIB_MUTANTJUDGE_H
#define PPC_TEST_LIB_MUTANTJUDGE_H

#include "RankExecutor.h"
#include <map>

namespace mlir::ppc::test {

class MutantJudge {
public:
  /// By device, buffer and rank.
  using Outputs = std::vector<std::vector<RankTensors>>;

  /// Of `program`, which computes the @step of `whole`.
  MutantJudge(ModuleOp whole, ModuleOp program) : whole(whole), program(program) {}

  /// Runs the program without mistakes on numbers drawn by `seed`. "" or why mistakes cannot be judged.
  std::string prepare(int64_t seed);
  /// Makes mistakes of the kinds `only`, separated by commas, of all kinds where it is empty, until `count` change
  /// numbers or keep the program from running, as many as can be found; `list` prints each.
  void judge(int64_t count, int64_t seed, StringRef only, bool list);

  int64_t changed = 0, noticed = 0, broken = 0, brokenNoticed = 0, harmless = 0, overcautious = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> byKind; ///< those that matter, and that are noticed of them
  SmallVector<std::string> misses;                           ///< mistakes that matter, and are not noticed

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
