// Alternatives to the best plans: the best plan with another value of one decision, for each decision.
#ifndef PPC_LIB_PLANNING_ALTERNATIVES_H
#define PPC_LIB_PLANNING_ALTERNATIVES_H

#include "lib/Planning/Grid/SearchEngine.h"

namespace mlir::ppc {

/// One decision, and the fastest layout by the formulas that decides otherwise.
struct Alternative {
  PlanAlternative alternative; // its plan is not set
  std::optional<Candidate> candidate;
};

/// Searches one space; results for a decision are cached for other plans with the same decision.
class AlternativeSearch {
public:
  /// `known`: the best candidates of the space, fastest first. All but `limit` must outlive this.
  AlternativeSearch(const PlanRequest &request, SearchEngine &engine, const BoundedSpace &bounded, Bytes limit,
                    llvm::ArrayRef<Candidate> known)
      : request(request), engine(engine), bounded(bounded), limit(limit), known(known) {}

  /// For each decision of `chosen` that means something, in the order of PlanKey.
  std::vector<Alternative> around(const ParallelLayout &chosen);

private:
  /// Values that a layout must not have, by their keys.
  using Avoided = std::vector<std::pair<PlanKey, int64_t>>;
  struct Outcome {
    std::optional<Candidate> candidate;
    std::string reason; // why there is none
  };
  void searchAll(std::vector<Avoided> wanted);
  void searchRecomputing();
  void keep(const Avoided &avoided, const SearchTarget &target);
  /// Whether without this value a plan needs recomputation that it does not need now: a space of its own.
  static bool isNeedless(const Avoided &avoided);

  const PlanRequest &request;
  SearchEngine &engine;
  const BoundedSpace &bounded;
  Bytes limit;
  llvm::ArrayRef<Candidate> known;
  std::map<Avoided, Outcome> outcomes;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_ALTERNATIVES_H
