// Sharding of a tensor on the ranks of a mesh, as plain data: the axes that shard each dimension, and the axes over
// which it is partial. The twin of #ppc.sharding without IR, so that resharding can be planned and tested separately.
#ifndef PPC_SHARDING_LAYOUT_H
#define PPC_SHARDING_LAYOUT_H

#include "ppc/Sharding/Combiner.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::ppc {

struct LayoutAxis {
  std::string name;
  int64_t size = 1;
};

/// Axes are indices into the mesh. A rank's coordinate on a dimension is row-major over the dimension's axes, listed
/// major to minor. With k blocks on a dimension of extent n the local extent is ceil(n / k); block i holds [i * local,
/// min(n, (i + 1) * local)), the rest of it is zero.
struct Layout {
  std::vector<std::vector<int>> dims; // per dimension, axes from major to minor
  std::vector<int> partial;           // sorted axes over which the value still has to be combined
  Combiner combiner = Combiner::Sum;  // for the partial axes; meaningless without any

  bool operator==(const Layout &other) const {
    return dims == other.dims && partial == other.partial && (partial.empty() || combiner == other.combiner);
  }
  bool operator!=(const Layout &other) const { return !(*this == other); }
};

/// `[{dp}, {}, {tp, cp}]` and ` partial {tp} sum` where there is any: for messages and tests.
std::string toString(const Layout &layout, llvm::ArrayRef<LayoutAxis> grid);

/// Product of the sizes of `axes`.
int64_t groupSize(llvm::ArrayRef<int> axes, llvm::ArrayRef<LayoutAxis> grid);

/// Extents of each rank's local block: ceil(n / k) per dimension.
std::vector<int64_t> localShape(llvm::ArrayRef<int64_t> shape, const Layout &layout, llvm::ArrayRef<LayoutAxis> grid);

/// Verifies a layout. Errors: a rank other than the shape's, an axis that the mesh lacks, an axis used twice, partial
/// axes not sorted.
llvm::Error verifyLayout(llvm::ArrayRef<int64_t> shape, const Layout &layout, llvm::ArrayRef<LayoutAxis> grid);

} // namespace mlir::ppc

#endif // PPC_SHARDING_LAYOUT_H
