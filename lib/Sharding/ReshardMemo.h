// Plans of reshard problems that were met before. A search over layouts asks for the same few thousand problems
// millions of times: where axes of size 1 are left out, most of its grids have the same ones.
#ifndef PPC_LIB_SHARDING_RESHARDMEMO_H
#define PPC_LIB_SHARDING_RESHARDMEMO_H

#include "ppc/Sharding/ReshardPlanner.h"
#include "llvm/ADT/Hashing.h"

#include <memory>
#include <shared_mutex>
#include <unordered_map>

namespace mlir::ppc {

/// A problem that verifies, in its own numbering: axes of size 1 left out, the others in their order.
class ReshardProblem {
public:
  ReshardProblem(llvm::ArrayRef<LayoutAxis> grid, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                 const Layout &from, const Layout &to, const ReshardCosts &costs);

  /// All that decides the plan.
  llvm::ArrayRef<int64_t> key() const { return numbers; }
  ReshardPlan solve() const;
  /// Plan in the numbering of the requested mesh.
  ReshardPlan renumbered(const ReshardPlan &plan) const;

private:
  Layout withoutTrivialAxes(const Layout &layout) const;

  llvm::SmallVector<int, 8> ownAxis; // by axis of the caller's grid; -1: of size 1
  std::vector<int> callersAxis;      // by own axis
  std::vector<LayoutAxis> grid;      // without names
  llvm::ArrayRef<int64_t> shape;     // the caller's
  int64_t elementBytes;
  Layout from, to;
  ReshardCosts costs;
  llvm::SmallVector<int64_t, 48> numbers;
};

/// For any number of threads. Holds some 10,000 plans at most.
class ReshardMemo {
public:
  ReshardPlan planFor(const ReshardProblem &problem);

private:
  struct Hash {
    size_t operator()(const std::vector<int64_t> &key) const { return llvm::hash_combine_range(key); }
  };
  std::shared_mutex mutex;
  std::unordered_map<std::vector<int64_t>, std::shared_ptr<const ReshardPlan>, Hash> plans;
};

} // namespace mlir::ppc

#endif // PPC_LIB_SHARDING_RESHARDMEMO_H
