// Strategies of one op from its factors.
#include "ppc/Planning/Chain/OpStrategy.h"

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
  add(OpStrategy::ring, "ring");
  add(OpStrategy::gather, "gather");
  return "{" + llvm::join(parts, ", ") + "}";
}

static bool lacks(const DimFactors &dims, int factor) { return !llvm::is_contained(dims, factor); }

bool runs(const TargetCapabilities &target, const TemplateOp &op, const OpStrategy &strategy) {
  return llvm::all_of(strategy.axes, [&](int choice) {
    if (choice == OpStrategy::ring)
      return target.ringAttention;
    if (choice == OpStrategy::gather)
      return target.gatherAttention;
    return choice < 0 || !op.factors[choice].plannedOnly || target.positionalCuts;
  });
}

/// Whether the axis's choice cuts that factor.
static bool cuts(const TemplateOp &op, int choice, int factor) {
  return choice == factor ||
         ((choice == OpStrategy::ring || choice == OpStrategy::gather) && factor == op.attention.queries) ||
         (choice == OpStrategy::ring && factor == op.attention.keys);
}

static bool isReduced(const TemplateOp &op, int factor) {
  return llvm::any_of(op.resultFactors, [&](const DimFactors &dims) { return lacks(dims, factor); });
}

/// Whether the axes chosen so far may stand together.
static bool isLegal(const TemplateOp &op, const OpStrategy &strategy, llvm::ArrayRef<LayoutAxis> grid) {
  std::vector<int64_t> parts(op.factors.size(), 1);
  bool anyPending = false;
  std::vector<bool> summed(op.factors.size(), false); // where the op lacks the loop in a result
  for (auto [axis, choice] : llvm::enumerate(strategy.axes)) {
    for (size_t factor = 0; factor < op.factors.size(); ++factor)
      if (choice != OpStrategy::uncut && cuts(op, choice, int(factor)))
        parts[factor] *= grid[axis].size;
    if (choice >= 0)
      summed[choice] = true;
    anyPending |= choice == OpStrategy::pending;
  }
  const TemplateFactor *reduced = nullptr;
  for (auto [number, factor] : llvm::enumerate(op.factors)) {
    if (parts[number] == 1)
      continue;
    if (parts[number] > factor.size)
      return false;
    if (!summed[number] || !isReduced(op, number))
      continue;
    if (factor.combiner == Combiner::Max && factor.size % parts[number])
      return false;
    if ((reduced && reduced->combiner != factor.combiner) || (anyPending && factor.combiner != Combiner::Sum))
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
      if (!op.factors[factor].needsReplication || op.factors[factor].plannedOnly)
        tryChoice(int(factor));
    if (!op.linearOperands.empty())
      tryChoice(OpStrategy::pending);
    if (op.kernel == TemplateKernel::Attention && op.attention.queries >= 0 && op.attention.keys >= 0) {
      if (!op.attention.window)
        tryChoice(OpStrategy::ring);
      tryChoice(OpStrategy::gather);
    }
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

static Layout dimsOf(const TemplateOp &op, const OpStrategy &strategy, const DimFactors &tensor) {
  Layout layout;
  layout.dims.resize(tensor.size());
  for (auto [axis, choice] : llvm::enumerate(strategy.axes))
    for (auto [dim, walked] : llvm::enumerate(tensor))
      if (choice != OpStrategy::uncut && walked >= 0 && cuts(op, choice, walked))
        layout.dims[dim].push_back(axis);
  return layout;
}

Layout operandLayout(const TemplateOp &op, const OpStrategy &strategy, int number) {
  Layout layout = dimsOf(op, strategy, op.operandFactors[number]);
  if (llvm::is_contained(op.linearOperands, number))
    for (auto [axis, factor] : llvm::enumerate(strategy.axes))
      if (factor == OpStrategy::pending)
        layout.partial.push_back(axis);
  return layout;
}

Layout resultLayout(const TemplateOp &op, const OpStrategy &strategy, int number) {
  Layout layout = dimsOf(op, strategy, op.resultFactors[number]);
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
  Layout layout = dimsOf(op, strategy, op.operandFactors[number]);
  for (auto [axis, choice] : llvm::enumerate(strategy.axes)) {
    int factor = choice == OpStrategy::gather ? op.attention.queries : choice;
    if (factor >= 0 && lacks(op.operandFactors[number], factor))
      layout.partial.push_back(axis);
  }
  return layout;
}

std::vector<int64_t> localFactorSizes(const TemplateOp &op, const OpStrategy &strategy,
                                      llvm::ArrayRef<LayoutAxis> grid) {
  std::vector<int64_t> sizes, parts(op.factors.size(), 1);
  for (auto [axis, choice] : llvm::enumerate(strategy.axes))
    for (size_t factor = 0; factor < op.factors.size(); ++factor)
      if (choice != OpStrategy::uncut && cuts(op, choice, int(factor)))
        parts[factor] *= grid[axis].size;
  for (auto [factor, count] : llvm::zip_equal(op.factors, parts))
    sizes.push_back(llvm::divideCeil(factor.size, count));
  return sizes;
}

} // namespace mlir::ppc
