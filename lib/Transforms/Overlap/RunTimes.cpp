// Seconds of ops as a roofline: products at the device's peak, all else, and small products, at the speed of memory.
#include "RunTimes.h"
#include "ppc/CostModel/KernelCost.h"

namespace mlir::ppc {

static Seconds timeOf(Operation *op, const Device &device, Precision precision) {
  auto priced = dyn_cast<CostOpInterface>(op);
  OpCost cost = priced ? priced.getCost() : OpCost{};
  double memory = double(cost.bytesRead + cost.bytesWritten) /
                  (device.memoryBandwidth.value * std::max(device.memoryEfficiency, 1e-3));
  double peak = device.peakOf(productPrecision(device, precision)).value;
  return Seconds(std::max(memory, peak > 0 ? cost.flops / peak : 0));
}

/// The layers of ops in an order in which operands come before their uses: falling as backward goes, or rising.
static SmallVector<int64_t> orderOfLayers(ArrayRef<Operation *> ops, function_ref<int64_t(Operation *)> layerOf) {
  SmallVector<int64_t> layers = llvm::map_to_vector(ops, layerOf);
  llvm::sort(layers, std::greater<int64_t>());
  layers.erase(llvm::unique(layers), layers.end());
  for (bool rising : {false, true}) {
    bool isLegal = llvm::all_of(ops, [&](Operation *op) {
      return llvm::all_of(op->getOperands(), [&](Value operand) {
        Operation *before = operand.getDefiningOp();
        if (!before || before->hasTrait<OpTrait::ConstantLike>())
          return true;
        return rising ? layerOf(before) <= layerOf(op) : layerOf(before) >= layerOf(op);
      });
    });
    if (isLegal)
      return layers;
    std::reverse(layers.begin(), layers.end());
  }
  return {};
}

LayerTimes::LayerTimes(func::FuncOp code, const Device &device, Precision precision) {
  SmallVector<Operation *> ops;
  bool haveLayers = true;
  for (Operation &op : code.front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>()) {
      ops.push_back(&op);
      haveLayers &= op.hasAttrOfType<IntegerAttr>(attr::layer);
      all += timeOf(&op, device, precision);
    }
  if (!haveLayers)
    return;
  auto layerOf = [](Operation *op) { return op->getAttrOfType<IntegerAttr>(attr::layer).getInt(); };
  SmallVector<int64_t> order = orderOfLayers(ops, layerOf);
  if (order.empty())
    return;
  for (auto [place, layer] : llvm::enumerate(order))
    layers[layer].place = place;
  for (Operation *op : ops) {
    layers[layerOf(op)].end += timeOf(op, device, precision);
    layers[layerOf(op)].last = op;
  }
  Seconds before(0);
  for (int64_t layer : order)
    before = layers[layer].end += before;
}

std::optional<int64_t> LayerTimes::layerOf(Operation *op) const {
  auto layer = op ? op->getAttrOfType<IntegerAttr>(attr::layer) : IntegerAttr();
  return layer && layers.contains(layer.getInt()) ? std::optional(layer.getInt()) : std::nullopt;
}

} // namespace mlir::ppc
