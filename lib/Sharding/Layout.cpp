// How a tensor lies on the ranks of a grid, as plain data.
#include "ppc/Sharding/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace mlir::ppc {

std::string toString(const Layout &layout, llvm::ArrayRef<LayoutAxis> grid) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto printAxes = [&](llvm::ArrayRef<int> axes) {
    stream << "{";
    llvm::interleaveComma(axes, stream, [&](int axis) { stream << grid[axis].name; });
    stream << "}";
  };
  stream << "[";
  llvm::interleaveComma(layout.dims, stream, printAxes);
  stream << "]";
  if (!layout.partial.empty()) {
    stream << " partial ";
    printAxes(layout.partial);
    stream << " " << stringifyCombiner(layout.combiner);
  }
  return text;
}

int64_t groupSize(llvm::ArrayRef<int> axes, llvm::ArrayRef<LayoutAxis> grid) {
  int64_t size = 1;
  for (int axis : axes)
    size *= grid[axis].size;
  return size;
}

std::vector<int64_t> localShape(llvm::ArrayRef<int64_t> shape, const Layout &layout, llvm::ArrayRef<LayoutAxis> grid) {
  std::vector<int64_t> local;
  for (auto [extent, axes] : llvm::zip_equal(shape, layout.dims))
    local.push_back(llvm::divideCeil(extent, groupSize(axes, grid)));
  return local;
}

llvm::Error verifyLayout(llvm::ArrayRef<int64_t> shape, const Layout &layout, llvm::ArrayRef<LayoutAxis> grid) {
  auto refuse = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  if (layout.dims.size() != shape.size())
    return refuse("layout of " + llvm::Twine(layout.dims.size()) + " dimensions for a tensor of " +
                  llvm::Twine(shape.size()));
  std::vector<bool> used(grid.size(), false);
  auto use = [&](int axis) -> llvm::Error {
    if (axis < 0 || axis >= int(grid.size()))
      return refuse("layout uses axis " + llvm::Twine(axis) + " of a mesh with " + llvm::Twine(grid.size()));
    if (used[axis])
      return refuse("layout uses axis \"" + grid[axis].name + "\" twice");
    used[axis] = true;
    return llvm::Error::success();
  };
  for (const std::vector<int> &axes : layout.dims)
    for (int axis : axes)
      if (llvm::Error error = use(axis))
        return error;
  for (int axis : layout.partial)
    if (llvm::Error error = use(axis))
      return error;
  if (!std::is_sorted(layout.partial.begin(), layout.partial.end()))
    return refuse("the partial axes of a layout are not in the order of the mesh");
  return llvm::Error::success();
}

} // namespace mlir::ppc
