// Seconds of ops as a roofline: matmuls at the device's peak, all else, and small matmuls, at the memory bandwidth.
#include "RunTimes.h"
#include "ppc/CostModel/KernelCost.h"

namespace mlir::ppc {

Seconds timeOf(Operation *op, const Device &device, Precision precision) {
  auto priced = dyn_cast<CostOpInterface>(op);
  OpCost cost = priced ? priced.getCost() : OpCost{};
  double memory = double(cost.bytesRead + cost.bytesWritten) /
                  (device.memoryBandwidth.value * std::max(device.memoryEfficiency, 1e-3));
  double peak = device.peakOf(productPrecision(device, precision)).value;
  return Seconds(std::max(memory, peak > 0 ? cost.flops / peak : 0));
}

Seconds timeOverAxes(const Cluster &machine, GridAttr grid, ArrayAttr axes, CollectiveKind kind, Bytes bytes) {
  int64_t stride = 1, ranks = 1, inner = 1;
  SmallVector<StringRef> names = axisNames(axes);
  for (auto [name, size] : llvm::reverse(llvm::zip_equal(grid.getNames(), grid.getSizes()))) {
    if (llvm::is_contained(names, name.getValue())) {
      if (ranks == 1)
        stride = inner;
      ranks *= size;
    }
    inner *= size;
  }
  return collectiveTime(machine, kind, bytes, placeGroup(machine.levels(), stride, ranks));
}

llvm::Expected<Cluster> machineOf(StringRef cluster, int64_t ranks) {
  llvm::Expected<Cluster> found = findCluster(cluster.empty() ? "local:" + std::to_string(ranks) : cluster.str());
  return found && !cluster.empty() ? clusterOfRanks(*found, ranks) : std::move(found);
}

static int64_t numberOf(Operation *op) { return op->getAttrOfType<IntegerAttr>(attr::layer).getInt(); }

SmallVector<int64_t> orderOfLayers(func::FuncOp code) {
  SmallVector<int64_t> layers;
  for (Operation &op : code.front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (!op.hasAttrOfType<IntegerAttr>(attr::layer))
      return {};
    layers.push_back(numberOf(&op));
  }
  llvm::sort(layers, std::greater<int64_t>());
  layers.erase(llvm::unique(layers), layers.end());
  for (bool rising : {false, true}) {
    bool isLegal = llvm::all_of(code.front().without_terminator(), [&](Operation &op) {
      return op.hasTrait<OpTrait::ConstantLike>() || llvm::all_of(op.getOperands(), [&](Value operand) {
               Operation *before = operand.getDefiningOp();
               if (!before || before->hasTrait<OpTrait::ConstantLike>())
                 return true;
               return rising ? numberOf(before) <= numberOf(&op) : numberOf(before) >= numberOf(&op);
             });
    });
    if (isLegal)
      return layers;
    std::reverse(layers.begin(), layers.end());
  }
  return {};
}

LayerTimes::LayerTimes(func::FuncOp code, const Device &device, Precision precision) {
  SmallVector<int64_t> order = orderOfLayers(code);
  for (auto [place, layer] : llvm::enumerate(order))
    layers[layer].place = place;
  for (Operation &op : code.front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    Seconds time = timeOf(&op, device, precision);
    all += time;
    if (order.empty())
      continue;
    layers[numberOf(&op)].end += time;
    layers[numberOf(&op)].last = &op;
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
