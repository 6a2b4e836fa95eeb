#include "LayerRecompute.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ppc;

bool mlir::ppc::isForward(Operation *op) {
  auto part = op->getAttrOfType<PartAttr>(attr::part);
  return part && part.getValue() == Part::Forward;
}

std::string mlir::ppc::nameInLayer(Operation *op) {
  int64_t before = 0;
  for (Operation *other = op->getPrevNode(); other; other = other->getPrevNode())
    before += other->getName() == op->getName() && isForward(other) &&
              other->getAttr(attr::layer) == op->getAttr(attr::layer);
  return (op->getName().stripDialect() + "." + Twine(before)).str();
}

bool mlir::ppc::canRecompute(Operation *op) {
  return isForward(op) && !isa<ConstantOp>(op) && op->getNumRegions() == 0 && op->hasAttr(attr::layer) &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           return user->getAttr(attr::layer) == op->getAttr(attr::layer) &&
                  user->getAttr(attr::slice) == op->getAttr(attr::slice);
         });
}

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

static double costOf(Operation *op, double balance) {
  auto priced = dyn_cast<CostOpInterface>(op);
  OpCost cost = priced ? priced.getCost() : OpCost{};
  double bytes = double(cost.bytesRead + cost.bytesWritten);
  // Links are several times slower than memory.
  return std::max(1.0, cost.engine == Engine::Network ? 8 * bytes : std::max(bytes, cost.flops / balance));
}

LayerGraph mlir::ppc::layerGraph(ArrayRef<Operation *> ops, double balance) {
  LayerGraph layer;
  DenseMap<Operation *, int32_t> numbers;
  for (Operation *op : ops)
    if (bool isForced = isForward(op) && op->hasAttr(attr::recompute); isForced || canRecompute(op)) {
      numbers[op] = int32_t(layer.ops.size());
      layer.ops.push_back(op);
      layer.graph.ops.push_back({costOf(op, balance), {}, isForced});
    }
  DenseMap<Value, int32_t> values;
  auto read = [&](Value value, Operation *reader) -> std::optional<int32_t> {
    Operation *maker = value.getDefiningOp();
    // Arguments and values that backward computes are available anyway.
    if (!maker || maker->getBlock() != reader->getBlock() || !isForward(maker) || isa<ConstantOp>(maker))
      return std::nullopt;
    auto [number, isNew] = values.try_emplace(value, int32_t(layer.graph.values.size()));
    if (isNew) {
      auto found = numbers.find(maker);
      layer.graph.values.push_back({bytesOf(value), found == numbers.end() ? -1 : found->second, false});
    }
    return number->second;
  };
  for (auto [number, op] : llvm::enumerate(layer.ops))
    for (Value operand : op->getOperands())
      if (std::optional<int32_t> value = read(operand, op))
        layer.graph.ops[number].reads.push_back(*value);
  for (Operation *op : ops)
    if (!isForward(op))
      for (Value operand : op->getOperands())
        if (std::optional<int32_t> value = read(operand, op))
          layer.graph.values[*value].isNeeded = true;
  return layer;
}
