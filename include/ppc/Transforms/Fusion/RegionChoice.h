//===- RegionChoice.h - Partition of loops into kernels -----------------===//
//
// A run is a list of structured ops between anchors (matmuls, attention, collectives, calls). Its groups are row
// regions; each costs the bytes that it moves to and from memory plus the cost of a launch, in bytes.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TRANSFORMS_FUSION_REGIONCHOICE_H
#define PPC_TRANSFORMS_FUSION_REGIONCHOICE_H

#include "ppc/Transforms/Fusion/RowRegion.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ppc {

/// Cost of a launch in bytes, in addition to the bytes that it moves: about half a microsecond of copying at 2
/// TB/s.
inline constexpr int64_t kLaunchBytes = 1 << 20;

/// Groups of a run: numbers of ops in the run, ascending; groups in an order in which they can run.
using RunGroups = SmallVector<SmallVector<unsigned>>;

class RegionChoice {
public:
  /// Maximal number of ops of a run.
  static constexpr size_t kLongest = 64;
  /// Up to this many ops all choices are tried.
  static constexpr size_t kExact = 12;

  /// Takes at most kLongest ops, in the order in which they run. `isLiveAfter(root)`: whether the contents of a
  /// buffer are read after the run.
  RegionChoice(ArrayRef<linalg::LinalgOp> run, function_ref<bool(Value)> isLiveAfter);

  /// The cheapest partition into groups: the optimum for short runs, else the result of greedy().
  RunGroups choose() { return ops.size() <= kExact ? exact() : greedy(); }
  /// The optimum, by dynamic programming over the ops that have run already. At most kExact ops.
  RunGroups exact();
  /// Repeatedly merges the two groups that save most, or moves the op that saves most, while any do.
  RunGroups greedy();

  /// Cost of all groups in bytes.
  int64_t cost(const RunGroups &groups);
  /// Bytes that a group moves to and from memory.
  int64_t traffic(ArrayRef<unsigned> group) const { return trafficOf(maskOf(group)); }
  /// Reason why two groups are not merged.
  std::string whyNot(ArrayRef<unsigned> first, ArrayRef<unsigned> second);

private:
  using Mask = uint64_t;
  /// Access of an op to a buffer.
  struct Use {
    unsigned root; // number of the buffer
    Value buffer;  // it, or the view of it that the op accesses
    int64_t bytes;
    bool reads, writes;
    /// The op of the run whose value it reads; -1 if that is from before, or known in parts only.
    int source = -1;
    /// For a write: the ops that read the value, and whether it is read after the run or may be.
    Mask readers = 0;
    bool leaves = false;
  };

  void findPartners();
  static Mask maskOf(ArrayRef<unsigned> group);
  static SmallVector<unsigned> membersOf(Mask mask);
  static RunGroups groupsOf(ArrayRef<Mask> masks);
  int64_t trafficOf(Mask group) const;
  SmallVector<linalg::LinalgOp> opsOf(Mask group) const;
  /// Returns std::nullopt if the group is not a region.
  std::optional<int64_t> costOf(Mask group);
  /// Cost of all groups; std::nullopt if one is not a region, or they depend on each other in a cycle.
  std::optional<int64_t> costOfAll(ArrayRef<Mask> groups);
  bool mergeTwo(SmallVector<Mask> &groups);
  bool moveOne(SmallVector<Mask> &groups);
  bool isConnected(Mask group) const;
  Mask neededBefore(Mask group) const;
  SmallVector<std::pair<Mask, int64_t>> legalGroups();
  /// The groups in an order in which they can run; std::nullopt if they depend on each other in a cycle.
  std::optional<SmallVector<Mask>> inOrder(ArrayRef<Mask> groups) const;

  SmallVector<linalg::LinalgOp> ops;
  SmallVector<SmallVector<Use>> uses; // by op
  SmallVector<Mask> before;           // ops that must have run, by op
  SmallVector<Mask> neighbours;       // ops that use a buffer of its, by op
  SmallVector<Mask> partners;         // ops with which it can share a region, by op
  SmallVector<Mask> units;            // ops, with what they cannot be without
  llvm::DenseMap<Mask, std::optional<int64_t>> costs;
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_FUSION_REGIONCHOICE_H
