// Where the ranks of a communication group lie: closed form where groups line up with units, otherwise the slowest of
// the groups of one period.
#include "ppc/Cluster/Cluster.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace mlir::ppc;

/// Devices in one unit of each level.
static llvm::SmallVector<int64_t, 4> unitSizes(llvm::ArrayRef<ClusterLevel> levels) {
  llvm::SmallVector<int64_t, 4> units;
  int64_t product = 1;
  for (const ClusterLevel &level : levels)
    units.push_back(product *= std::max<int64_t>(level.size, 1));
  return units;
}

static bool linesUp(llvm::ArrayRef<int64_t> units, int64_t stride, int64_t size) {
  for (int64_t unit : units)
    for (int64_t extent : {stride, stride * size})
      if (unit % extent != 0 && extent % unit != 0)
        return false;
  return true;
}

/// The group of the ranks first, first + stride, ...: its members, fewest and spans by level.
static void placeOne(llvm::ArrayRef<int64_t> units, int64_t first, int64_t stride, int64_t size,
                     GroupPlacement &placement) {
  size_t levels = units.size();
  placement.members.assign(levels, 0);
  placement.fewest.assign(levels, size);
  placement.spans.assign(levels, 0);
  for (size_t l = 0; l < levels; ++l) {
    bool outermost = l + 1 == levels;
    int64_t inner = l == 0 ? 1 : units[l - 1];
    for (int64_t i = 0; i < size;) {
      int64_t rank = first + i * stride;
      int64_t unitEnd = outermost ? INT64_MAX : (rank / units[l] + 1) * units[l];
      int64_t held = 0, spans = 0;
      while (i < size && first + i * stride < unitEnd) { // runs of ranks in one inner unit
        int64_t innerEnd = ((first + i * stride) / inner + 1) * inner;
        int64_t run = std::min(size - i, (innerEnd - 1 - (first + i * stride)) / stride + 1);
        held += run, i += run, ++spans;
      }
      placement.members[l] = std::max(placement.members[l], held);
      placement.fewest[l] = std::min(placement.fewest[l], held);
      placement.spans[l] = std::max(placement.spans[l], spans);
    }
  }
}

/// Slowest first: how many units it touches from the outside in, then how few members share the way out.
static bool isSlower(const GroupPlacement &a, const GroupPlacement &b) {
  for (size_t l = a.spans.size(); l-- > 0;) {
    if (a.spans[l] != b.spans[l])
      return a.spans[l] > b.spans[l];
    if (l > 0 && a.fewest[l - 1] != b.fewest[l - 1])
      return a.fewest[l - 1] < b.fewest[l - 1];
  }
  return false;
}

GroupPlacement mlir::ppc::placeGroup(llvm::ArrayRef<ClusterLevel> levels, int64_t stride, int64_t size) {
  stride = std::max<int64_t>(stride, 1);
  size = std::max<int64_t>(size, 1);
  llvm::SmallVector<int64_t, 4> units = unitSizes(levels);
  GroupPlacement placement;
  placement.sharers.assign(levels.size(), 1);
  if (levels.empty())
    return placement;
  const bool areApart = units.size() > 1 && stride >= units[units.size() - 2]; // no two within an inner unit
  if (areApart || linesUp(units, stride, size)) {
    for (size_t l = 0; l < units.size(); ++l) {
      int64_t held = l + 1 == units.size() ? size : std::clamp<int64_t>(units[l] / stride, 1, size);
      placement.members.push_back(held);
      placement.fewest.push_back(held);
      placement.spans.push_back(l == 0 ? held : held / placement.members[l - 1]);
    }
  } else {
    // The pattern repeats when a block of groups ends where a unit of the last-but-one level does; a bound on the work
    // matters only for odd extents on huge clusters, where the first thousands of groups show every overhang.
    int64_t block = stride * size, period = units.size() > 1 ? units[units.size() - 2] : 1;
    int64_t total = units.back(), blocks = std::max<int64_t>(total / block, 1);
    if (period > 1)
      blocks = std::min(blocks, period / std::gcd(period, block));
    int64_t looked = 0;
    for (int64_t b = 0; b < blocks && looked < 4096; ++b)
      for (int64_t offset = 0; offset < stride && looked < 4096; ++offset, ++looked) {
        GroupPlacement candidate;
        placeOne(units, b * block + offset, stride, size, candidate);
        if (placement.members.empty() || isSlower(candidate, placement)) {
          candidate.sharers = placement.sharers;
          placement = candidate;
        }
      }
  }
  for (size_t l = 1; l < units.size(); ++l)
    if (placement.spans[l] > 1)
      placement.sharers[l] =
          std::max<int64_t>((units[l - 1] + placement.fewest[l - 1] - 1) / placement.fewest[l - 1], 1);
  return placement;
}
