// The cheapest sequence of collectives between two layouts: the legal steps from a layout, and what they move.
#include "ppc/Sharding/ReshardPlanner.h"

#include "lib/Sharding/ReshardMemo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <queue>
#include <tuple>

namespace mlir::ppc {

llvm::StringRef toString(ReshardKind kind) {
  switch (kind) {
  case ReshardKind::AllReduce:
    return "all_reduce";
  case ReshardKind::ReduceScatter:
    return "reduce_scatter";
  case ReshardKind::AllGather:
    return "all_gather";
  case ReshardKind::Slice:
    return "slice";
  case ReshardKind::AllToAll:
    return "all_to_all";
  }
  llvm_unreachable("unknown step");
}

std::string toString(const ReshardStep &step, llvm::ArrayRef<LayoutAxis> grid) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << toString(step.kind) << " {";
  llvm::interleaveComma(step.axes, stream, [&](int axis) { stream << grid[axis].name; });
  stream << "}";
  if (step.dim >= 0)
    stream << " dim " << step.dim;
  if (step.fromDim >= 0)
    stream << " from " << step.fromDim;
  if (step.kind == ReshardKind::AllReduce || step.kind == ReshardKind::ReduceScatter)
    stream << " " << stringifyCombiner(step.combiner);
  stream << " -> " << toString(step.result, grid);
  return text;
}

namespace {
using Axes = std::vector<int>;

/// Every ordered selection of one or more of `axes`.
void forEachArrangement(const Axes &axes, llvm::function_ref<void(const Axes &)> visit) {
  Axes chosen;
  std::vector<bool> used(axes.size(), false);
  auto extend = [&](auto &self) -> void {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (used[i])
        continue;
      used[i] = true;
      chosen.push_back(axes[i]);
      visit(chosen);
      self(self);
      chosen.pop_back();
      used[i] = false;
    }
  };
  extend(extend);
}

Axes without(const Axes &axes, const Axes &removed) {
  Axes result;
  llvm::copy_if(axes, std::back_inserter(result), [&](int axis) { return !llvm::is_contained(removed, axis); });
  return result;
}

/// The legal steps from a layout, with what they move.
class StepMaker {
public:
  StepMaker(llvm::ArrayRef<LayoutAxis> grid, llvm::ArrayRef<int64_t> shape, int64_t elementBytes)
      : grid(grid), shape(shape), elementBytes(elementBytes) {}

  void forEachStep(const Layout &layout, llvm::function_ref<void(ReshardStep)> visit) const {
    reductions(layout, visit);
    gathers(layout, visit);
    Axes free;
    for (int axis = 0; axis < int(grid.size()); ++axis)
      if (grid[axis].size > 1 && !llvm::is_contained(layout.partial, axis) &&
          llvm::none_of(layout.dims, [&](const Axes &axes) { return llvm::is_contained(axes, axis); }))
        free.push_back(axis);
    forEachArrangement(free, [&](const Axes &axes) {
      for (size_t dim = 0; dim < shape.size(); ++dim)
        if (std::optional<Layout> result = cut(layout, dim, axes))
          visit({ReshardKind::Slice, axes, int64_t(dim), -1, {}, std::move(*result), 0});
    });
  }

private:
  void reductions(const Layout &layout, llvm::function_ref<void(ReshardStep)> visit) const {
    forEachArrangement(layout.partial, [&](const Axes &axes) {
      Layout reduced = layout;
      reduced.partial = without(layout.partial, axes);
      double share = ringShare(axes);
      // For an all-reduce the order of the axes says nothing: only the sorted arrangement counts.
      if (std::is_sorted(axes.begin(), axes.end())) {
        double rounds = layout.combiner == Combiner::LogSumExp ? 4 : 2;
        visit({ReshardKind::AllReduce, axes, -1, -1, layout.combiner, reduced, rounds * share * localBytes(layout)});
      }
      if (layout.combiner == Combiner::LogSumExp)
        return;
      for (size_t dim = 0; dim < shape.size(); ++dim)
        if (std::optional<Layout> result = cut(reduced, dim, axes))
          visit({ReshardKind::ReduceScatter, axes, int64_t(dim), -1, layout.combiner, *result,
                 share * groupSize(axes, grid) * localBytes(*result)});
    });
  }

  /// Gathers of the minor-most axes of a dimension, alone or together with a cut of another dimension.
  void gathers(const Layout &layout, llvm::function_ref<void(ReshardStep)> visit) const {
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const Axes &all = layout.dims[dim];
      for (size_t keep = isEven(layout, dim) || all.empty() ? all.size() : 1; keep-- > 0;) {
        Axes axes(all.begin() + keep, all.end());
        Layout gathered = layout;
        gathered.dims[dim].resize(keep);
        double share = ringShare(axes);
        visit({ReshardKind::AllGather,
               axes,
               int64_t(dim),
               -1,
               {},
               gathered,
               share * groupSize(axes, grid) * localBytes(layout)});
        for (size_t other = 0; other < shape.size(); ++other)
          if (std::optional<Layout> result = other == dim ? std::nullopt : cut(gathered, other, axes)) {
            // Sent: the local tensor with `other` padded to whole blocks, less the block that stays.
            Layout beforeGather = *result;
            beforeGather.dims[dim] = layout.dims[dim];
            double bytes = share * groupSize(axes, grid) * localBytes(beforeGather);
            visit({ReshardKind::AllToAll, axes, int64_t(other), int64_t(dim), {}, std::move(*result), bytes});
          }
      }
    }
  }

  /// The layout with `axes` added as minor-most of `dim`, if its blocks then nest.
  std::optional<Layout> cut(const Layout &layout, size_t dim, const Axes &axes) const {
    Layout result = layout;
    result.dims[dim].insert(result.dims[dim].end(), axes.begin(), axes.end());
    if (!layout.dims[dim].empty() && !isEven(result, dim))
      return std::nullopt;
    return result;
  }

  bool isEven(const Layout &layout, size_t dim) const { return shape[dim] % groupSize(layout.dims[dim], grid) == 0; }

  double localBytes(const Layout &layout) const {
    double bytes = elementBytes;
    for (int64_t extent : localShape(shape, layout, grid))
      bytes *= extent;
    return bytes;
  }

  /// (n - 1) / n: the share of a buffer that is not a rank's own block.
  double ringShare(const Axes &axes) const {
    double size = groupSize(axes, grid);
    return (size - 1) / size;
  }

  llvm::ArrayRef<LayoutAxis> grid;
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
};

} // namespace

void forEachReshardStep(llvm::ArrayRef<LayoutAxis> grid, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                        const Layout &layout, llvm::function_ref<void(ReshardStep)> visit) {
  StepMaker(grid, shape, elementBytes).forEachStep(layout, visit);
}

static llvm::Error verifyEnds(llvm::ArrayRef<LayoutAxis> grid, llvm::ArrayRef<int64_t> shape, const Layout &from,
                              const Layout &to) {
  for (const Layout *layout : {&from, &to})
    if (llvm::Error error = verifyLayout(shape, *layout, grid))
      return error;
  auto refuse = [&](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "no reshard from " + toString(from, grid) + " to " +
                                                                       toString(to, grid) + ": " + message);
  };
  for (int axis : to.partial)
    if (grid[axis].size > 1 && !llvm::is_contained(from.partial, axis))
      return refuse("a value that is complete over axis \"" + grid[axis].name + "\" is never made partial again");
  for (int axis : to.partial)
    if (grid[axis].size > 1 && from.combiner != to.combiner)
      return refuse(stringifyCombiner(from.combiner) + " over axis \"" + grid[axis].name + "\" cannot become " +
                    stringifyCombiner(to.combiner));
  return llvm::Error::success();
}

llvm::Expected<ReshardPlan> planReshard(llvm::ArrayRef<LayoutAxis> grid, llvm::ArrayRef<int64_t> shape,
                                        int64_t elementBytes, const Layout &from, const Layout &to,
                                        const ReshardCosts &costs) {
  if (llvm::Error error = verifyEnds(grid, shape, from, to))
    return std::move(error);
  static ReshardMemo memo;
  return memo.planFor(ReshardProblem(grid, shape, elementBytes, from, to, costs));
}

} // namespace mlir::ppc
