// Targets of a search: the best few layouts, and the best one without each of some decisions' values. Candidates in a
// total order.
#ifndef PPC_LIB_PLANNING_GRID_SEARCHTARGETS_H
#define PPC_LIB_PLANNING_GRID_SEARCHTARGETS_H

#include "ppc/Planning/PlanConstraints.h"

#include <limits>
#include <vector>

namespace mlir::ppc {

struct Candidate {
  double time = std::numeric_limits<double>::infinity(); // seconds
  double memory = 0;                                     // bytes
  ParallelLayout layout;
};
/// Faster first, then less memory, then by the values of the keys.
bool isBetter(const Candidate &a, const Candidate &b);
/// Candidates that differ in how state is kept only (zero, shard group, offload, number of recomputed layers) count as
/// one.
bool isSameShape(const ParallelLayout &a, const ParallelLayout &b);

/// The best candidates of different shapes.
class CandidateList {
public:
  explicit CandidateList(size_t capacity) : capacity(capacity) {}
  void add(const Candidate &candidate);
  /// No candidate slower than this gets in.
  double cutoff() const { return list.size() < capacity || list.back().time > latest ? latest : list.back().time; }
  std::vector<Candidate> list;                             // best first
  double latest = std::numeric_limits<double>::infinity(); // slower ones are not wanted

private:
  size_t capacity;
};

/// Decisions of a layout that are made, a bit for each PlanKey.
using DecidedKeys = uint32_t;
constexpr DecidedKeys decided(PlanKey key) { return DecidedKeys(1) << int(key); }
template <typename... Keys> constexpr DecidedKeys decided(PlanKey key, Keys... more) {
  return decided(key) | decided(more...);
}

struct SearchTarget {
  explicit SearchTarget(size_t capacity, std::vector<std::pair<PlanKey, int64_t>> avoided = {})
      : avoided(std::move(avoided)), found(capacity) {}
  /// Whether the known decisions allow layouts without the avoided values.
  bool admits(const ParallelLayout &layout, DecidedKeys known) const;

  std::vector<std::pair<PlanKey, int64_t>> avoided;
  CandidateList found;
  bool sawMemory = false, sawRefusal = false; // while nothing was found: why not
};

class SearchTargets {
public:
  std::vector<SearchTarget> targets;
  /// Every candidate that none beats in both time and memory is kept, too.
  bool keepsFront = false;
  /// The front is complete up to this share slower than the fastest candidate, whatever the targets' cutoffs.
  double frontTolerance = 0;
  std::vector<Candidate> front; // fastest first

  /// No layout slower than this gets in anywhere; minus infinity: no target admits it.
  double cutoff(const ParallelLayout &layout, DecidedKeys known) const;
  /// Cutoff for any layout.
  double cutoff() const;
  void add(const Candidate &candidate);
  void merge(const SearchTargets &other);
  void sawMemory(const ParallelLayout &layout, DecidedKeys known);
  void sawRefusal(const ParallelLayout &layout, DecidedKeys known);
  /// Candidate with the least memory among those within `frontTolerance` of the fastest. Requires a front that is not
  /// empty.
  const Candidate &leastMemory() const;

private:
  double frontCutoff() const;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GRID_SEARCHTARGETS_H
