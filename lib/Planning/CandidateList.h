// Priced layouts in a total order, and the best few of different shapes.
#ifndef PPC_LIB_PLANNING_CANDIDATELIST_H
#define PPC_LIB_PLANNING_CANDIDATELIST_H

#include "ppc/CostModel/ParallelLayout.h"

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
/// Candidates that differ in how state is kept only (zero, shard group, offload, number of recomputed layers) count as one.
bool isSameShape(const ParallelLayout &a, const ParallelLayout &b);

class CandidateList {
public:
  explicit CandidateList(size_t capacity) : capacity(capacity) {}
  void add(Candidate candidate);
  /// No candidate slower than this gets in.
  double cutoff() const { return list.size() < capacity ? std::numeric_limits<double>::infinity() : list.back().time; }
  std::vector<Candidate> list; // best first

private:
  size_t capacity;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_CANDIDATELIST_H
