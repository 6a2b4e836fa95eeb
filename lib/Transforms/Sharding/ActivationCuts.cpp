// Cuts of what the arguments leave whole: the activations between tensor-parallel regions.
#include "ppc/Transforms/Sharding/ShardingPropagation.h"

namespace mlir::ppc {
namespace {

/// Which dimensions of values are dimensions of the inputs, by name: "batch", "sequence".
class InputDimensions {
public:
  InputDimensions(func::FuncOp function, const ShardingPropagation &propagation) {
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), attr::input))
        if (auto names = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attr::dims))
          of[argument].assign(names.begin(), names.end());
    function.walk([&](AccumulateOp accumulate) {
      for (auto [operand, slice] : llvm::zip(accumulate.getInputs(), accumulate.getBody().getArguments()))
        of[slice] = of.lookup(operand);
    });
    spread(propagation);
  }

  /// The name of what loop `factor` of `op` walks; null: of no input.
  Attribute name(Operation *op, unsigned factor) const {
    auto it = ofFactors.find(op);
    return it == ofFactors.end() ? Attribute() : it->second[factor];
  }
  /// Whether some operand or result of `op` has dimension `name` and a dimension that is none of the inputs'.
  bool hasFeatures(Operation *op, Attribute name) const {
    auto has = [&](Value value) {
      auto it = of.find(value);
      if (it == of.end() || !llvm::is_contained(it->second, name))
        return false;
      return llvm::any_of(llvm::zip(it->second, tensorType(value).getShape()),
                          [](auto dim) { return !std::get<0>(dim) && std::get<1>(dim) > 1; });
    };
    return llvm::any_of(op->getOperands(), has) || llvm::any_of(op->getResults(), has);
  }

private:
  /// Names spread from any dimension to all dimensions that the same factor walks, until nothing changes.
  void spread(const ShardingPropagation &propagation) {
    bool changed = true;
    auto visit = [&](Operation *op) {
      if (isa<DispatchOp, CombineOp, RoutingWeightsGradientOp>(op))
        return; // slots are many times what tokens are
      const ShardingRule &rule = propagation.sharding(op).rule;
      SmallVector<Attribute> &names = ofFactors[op];
      names.resize(rule.factors.size());
      auto forEach = [&](auto &&take) {
        for (auto [values, tensors] : {std::pair(ValueRange(op->getOperands()), ArrayRef<TensorFactors>(rule.operands)),
                                       std::pair(ValueRange(op->getResults()), ArrayRef<TensorFactors>(rule.results))})
          for (auto [value, tensor] : llvm::zip(values, tensors))
            for (auto [dim, factors] : llvm::enumerate(tensor))
              if (factors.size() == 1)
                take(value, dim, names[factors.front()]);
      };
      if (op->hasAttr(attr::slice) && isa<SplitOp, ConcatOp>(op))
        changed |= spreadOverParts(op);
      forEach([&](Value value, unsigned dim, Attribute &name) {
        if (auto it = of.find(value); !name && it != of.end() && dim < it->second.size())
          name = it->second[dim];
      });
      forEach([&](Value value, unsigned dim, Attribute &name) {
        if (!name)
          return;
        SmallVector<Attribute> &dims = of[value];
        dims.resize(tensorType(value).getRank());
        changed |= !std::exchange(dims[dim], name);
      });
    };
    while (changed) {
      changed = false;
      llvm::for_each(propagation.ops(), visit);
      llvm::for_each(llvm::reverse(propagation.ops()), visit);
    }
  }

  /// A slice of a sequence lies along the same dimension, which no loop walks as a whole.
  bool spreadOverParts(Operation *op) {
    SmallVector<Value> values(op->getOperands());
    llvm::append_range(values, op->getResults());
    SmallVector<Attribute> names(tensorType(values.front()).getRank());
    bool changed = false;
    for (Value value : values)
      for (auto [dim, name] : llvm::enumerate(of.lookup(value)))
        if (name)
          names[dim] = name;
    for (Value value : values) {
      SmallVector<Attribute> &dims = of[value];
      dims.resize(names.size());
      for (auto [own, name] : llvm::zip(dims, names))
        changed |= name && !std::exchange(own, name);
    }
    return changed;
  }

  DenseMap<Value, SmallVector<Attribute>> of;
  DenseMap<Operation *, SmallVector<Attribute>> ofFactors;
};

} // namespace

void ShardingPropagation::cutActivations() {
  if (!activations || activations.empty())
    return;
  InputDimensions dimensions(function, *this);
  for (NamedAttribute entry : activations) {
    AxisList axes = severalDevices(cast<ArrayAttr>(entry.getValue()));
    if (axes.empty())
      continue;
    for (Operation *op : order) {
      OpSharding &sharding = shardings.find(op)->second;
      auto part = op->getAttrOfType<PartAttr>(attr::part);
      if (decided.contains(op) || (part && part.getValue() == Part::Update) ||
          llvm::any_of(axes, [&](StringAttr axis) { return sharding.uses(axis); }) ||
          !dimensions.hasFeatures(op, entry.getName()))
        continue;
      for (unsigned factor = 0; factor < sharding.axes.size(); ++factor) {
        AxisList list(sharding.axes[factor]);
        list.append(axes);
        if (dimensions.name(op, factor) != entry.getName() || !sharding.canCut(factor, list, grid))
          continue;
        sharding.axes[factor] = list;
        break;
      }
    }
  }
}

} // namespace mlir::ppc
