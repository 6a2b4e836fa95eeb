// Conversion between a logical tensor and the local tensors of the ranks of a mesh.
#include "ppc/Interpreter/ShardedTensors.h"
#include "ppc/Interpreter/Collectives.h"
#include "ppc/Interpreter/RankGrid.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

namespace mlir::ppc {

SmallVector<ReferenceTensor> cutTensor(const ReferenceTensor &logical, ShardingAttr sharding, GridAttr grid) {
  RankGrid ranks(grid);
  SmallVector<ReferenceTensor> locals;
  for (int64_t rank = 0; rank < ranks.rankCount(); ++rank) {
    ReferenceTensor local = logical;
    for (auto [dim, axes] : llvm::enumerate(sharding.getDims()))
      local =
          blockOf(local, dim, ranks.index(rank, axisNames(axes)), blockSize(logical.shape[dim], grid.product(axes)));
    // Combiners apply from the last axis to the first, so the last axis that is not at 0 decides.
    for (auto [axis, combiner] :
         llvm::reverse(llvm::zip_equal(sharding.getPartialAxes(), sharding.getPartialCombiners())))
      if (ranks.coordinate(rank, axis) != 0) {
        local = ReferenceTensor(local.shape, neutralValue(combiner));
        break;
      }
    locals.push_back(std::move(local));
  }
  return locals;
}

// Each rank's tensor with all parts of its group combined, the last axis first.
static SmallVector<ReferenceTensor> combineParts(ArrayRef<ReferenceTensor> locals, ShardingAttr sharding,
                                                 const RankGrid &ranks) {
  SmallVector<ReferenceTensor> combined(locals);
  for (auto [axis, combiner] :
       llvm::reverse(llvm::zip_equal(sharding.getPartialAxes(), sharding.getPartialCombiners()))) {
    SmallVector<ReferenceTensor> next;
    for (int64_t rank = 0; rank < ranks.rankCount(); ++rank)
      next.push_back(combine(combiner, llvm::map_to_vector(ranks.group(rank, {axis.getValue()}), [&](int64_t other) {
                               return (const ReferenceTensor *)&combined[other];
                             })));
    combined = std::move(next);
  }
  return combined;
}

static bool agree(double a, double b, double tolerance) {
  return a == b || std::abs(a - b) <= tolerance * std::max(1.0, std::abs(a));
}

static std::string textOf(ArrayRef<int64_t> index) {
  return "[" + llvm::join(llvm::map_range(index, [](int64_t i) { return std::to_string(i); }), ", ") + "]";
}

FailureOr<ReferenceTensor> assembleTensor(ArrayRef<ReferenceTensor> locals, ArrayRef<int64_t> shape,
                                          ShardingAttr sharding, GridAttr grid,
                                          function_ref<InFlightDiagnostic()> emitError,
                                          const AssembleOptions &options) {
  RankGrid ranks(grid);
  SmallVector<int64_t> localShape;
  for (auto [extent, axes] : llvm::zip_equal(shape, sharding.getDims()))
    localShape.push_back(blockSize(extent, grid.product(axes)));
  for (auto [rank, local] : llvm::enumerate(locals))
    if (local.shape != localShape)
      return emitError() << "rank " << rank << " holds a tensor of shape [" << local.shape << "], expected ["
                         << localShape << "] for [" << shape << "] under " << sharding;
  ReferenceTensor logical(shape);
  std::vector<int64_t> owner(logical.size(), -1);
  for (auto [rank, local] : llvm::enumerate(combineParts(locals, sharding, ranks))) {
    SmallVector<int64_t> offset;
    for (auto [size, axes] : llvm::zip_equal(localShape, sharding.getDims()))
      offset.push_back(size * ranks.index(rank, axisNames(axes)));
    std::string problem;
    forEachIndex(localShape, [&, rank = rank, &local = local](ArrayRef<int64_t> at) {
      SmallVector<int64_t> index;
      bool isPadding = false, mustBeZero = false;
      for (auto [dim, i, first, extent] : llvm::enumerate(at, offset, shape)) {
        index.push_back(first + i);
        isPadding |= first + i >= extent;
        mustBeZero |= first + i >= extent && llvm::is_contained(options.zeroPadding, int64_t(dim));
      }
      double value = local.at(at);
      if (!problem.empty() || (isPadding && (!mustBeZero || value == 0)))
        return;
      llvm::raw_string_ostream os(problem);
      if (isPadding) {
        os << "element " << textOf(index) << " is padding and " << value << " on rank " << rank << ", expected 0";
        return;
      }
      double &whole = logical.at(index);
      int64_t &first = owner[logical.position(index)];
      if (first >= 0 && !agree(whole, value, options.tolerance))
        os << "element " << textOf(index) << " is " << whole << " on rank " << first << " and " << value << " on rank "
           << rank << " under " << sharding;
      if (first < 0) {
        whole = value;
        first = rank;
      }
    });
    if (!problem.empty())
      return emitError() << problem;
  }
  return logical;
}

} // namespace mlir::ppc
