// Strategies of one op from its factors.
#include "ppc/Planning/OpStrategy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::ppc {

std::string toString(const TemplateOp &op, const OpStrategy &strategy, llvm::ArrayRef<LayoutAxis> grid) {
  std::vector<std::string> parts;
  auto add = [&](int key, const std::string &name) {
    std::vector<std::string> axes;
    for (auto [axis, factor] : llvm::enumerate(strategy.axes))
      if (factor == key)
        axes.push_back(grid[axis].name);
    if (!axes.empty())
      parts.push_back(name + ": " + llvm::join(axes, " "));
  };
  for (auto [number, factor] : llvm::enumerate(op.factors))
    add(number, factor.name);
  add(OpStrategy::pending, "pending");
  return "{" + llvm::join(parts, ", ") + "}";
}

static bool lacks(const DimFactors &dims, int factor) { return !llvm::is_contained(dims, factor); }

static bool isReduced(const TemplateOp &op, int factor) {
  return llvm::any_of(op.resultFactors, [&](const DimFactors &dims) { return lacks(dims, factor); });
}

/// Whether the axes chosen so far may stand together.
static bool isLegal(const TemplateOp &op, const OpStrategy &strategy, llvm::ArrayRef<LayoutAxis> grid) {
  std::vector<int64_t> parts(op.factors.size(), 1);
  bool anyPending = false;
  for (auto [axis, factor] : llvm::enumerate(strategy.axes)) {
    if (factor >= 0)
      parts[factor] *= grid[axis].size;
    anyPending |= factor == OpStrategy::pending;
  }
  const TemplateFactor *reduced = nullptr;
  for (auto [number, factor] : llvm::enumerate(op.factors)) {
    if (parts[number] == 1)
      continue;
    if (parts[number] > factor.size)
      return false;
    if (!isReduced(op, number))
      continue;
    if (factor.combiner == LayoutCombiner::Max && factor.size % parts[number])
      return false;
    if ((reduced && reduced->combiner != factor.combiner) || (anyPending && factor.combiner != LayoutCombiner::Sum))
      return false;
    reduced = &factor;
  }
  return true;
}

std::vector<OpStrategy> enumerateStrategies(const TemplateOp &op, llvm::ArrayRef<LayoutAxis> grid) {
  std::vector<OpStrategy> strategies;
  OpStrategy strategy;
  strategy.axes.assign(grid.size(), OpStrategy::uncut);
  auto choose = [&](auto &self, size_t axis) -> void {
    if (axis == grid.size()) {
      strategies.push_back(strategy);
      return;
    }
    self(self, axis + 1);
    if (grid[axis].size == 1)
      return;
    auto tryChoice = [&](int choice) {
      strategy.axes[axis] = choice;
      if (isLegal(op, strategy, grid))
        self(self, axis + 1);
      strategy.axes[axis] = OpStrategy::uncut;
    };
    for (size_t factor = 0; factor < op.factors.size(); ++factor)
      if (!op.factors[factor].needsReplication)
        tryChoice(int(factor));
    if (!op.linearOperands.empty())
      tryChoice(OpStrategy::pending);
  };
  choose(choose, 0);
  return strategies;
}

std::vector<Layout> enumerateLayouts(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<LayoutAxis> grid) {
  TemplateOp holder; // one loop per dimension
  for (int64_t extent : shape)
    holder.factors.push_back({"", extent});
  std::vector<Layout> layouts;
  for (const OpStrategy &strategy : enumerateStrategies(holder, grid)) {
    Layout &layout = layouts.emplace_back();
    layout.dims.resize(shape.size());
    for (auto [axis, dim] : llvm::enumerate(strategy.axes))
      if (dim >= 0)
        layout.dims[dim].push_back(axis);
  }
  return layouts;
}

static Layout dimsOf(const OpStrategy &strategy, const DimFactors &tensor) {
  Layout layout;
  layout.dims.resize(tensor.size());
  for (auto [axis, factor] : llvm::enumerate(strategy.axes))
    for (auto [dim, walked] : llvm::enumerate(tensor))
      if (factor >= 0 && walked == factor)
        layout.dims[dim].push_back(axis);
  return layout;
}

Layout operandLayout(const TemplateOp &op, const OpStrategy &strategy, int number) {
  Layout layout = dimsOf(strategy, op.operandFactors[number]);
  if (llvm::is_contained(op.linearOperands, number))
    for (auto [axis, factor] : llvm::enumerate(strategy.axes))
      if (factor == OpStrategy::pending)
        layout.partial.push_back(axis);
  return layout;
}

Layout resultLayout(const TemplateOp &op, const OpStrategy &strategy, int number) {
  Layout layout = dimsOf(strategy, op.resultFactors[number]);
  for (auto [axis, factor] : llvm::enumerate(strategy.axes)) {
    if (factor == OpStrategy::pending)
      layout.partial.push_back(axis);
    if (factor >= 0 && lacks(op.resultFactors[number], factor)) {
      layout.partial.push_back(axis);
      layout.combiner = op.factors[factor].combiner;
    }
  }
  return layout;
}

Layout operandGradientLayout(const TemplateOp &op, const OpStrategy &strategy, int number) {
  Layout layout = dimsOf(strategy, op.operandFactors[number]);
  for (auto [axis, factor] : llvm::enumerate(strategy.axes))
    if (factor >= 0 && lacks(op.operandFactors[number], factor))
      layout.partial.push_back(axis);
  return layout;
}

std::vector<int64_t> localFactorSizes(const TemplateOp &op, const OpStrategy &strategy,
                                      llvm::ArrayRef<LayoutAxis> grid) {
  std::vector<int64_t> sizes, parts(op.factors.size(), 1);
  for (auto [axis, factor] : llvm::enumerate(strategy.axes))
    if (factor >= 0)
      parts[factor] *= grid[axis].size;
  for (auto [factor, count] : llvm::zip_equal(op.factors, parts))
    sizes.push_back(llvm::divideCeil(factor.size, count));
  return sizes;
}

} // namespace mlir::ppc
