// How long runs of a device's step take, by the work of their ops: enough to say what communication can hide behind.
#ifndef PPC_LIB_TRANSFORMS_OVERLAP_RUNTIMES_H
#define PPC_LIB_TRANSFORMS_OVERLAP_RUNTIMES_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Cluster/Cluster.h"
#include "ppc/CostModel/CollectiveCost.h"

namespace mlir::ppc {

/// How long an op takes on a device that does nothing else; collectives their copies.
Seconds timeOf(Operation *op, const Device &device, Precision precision);

/// How long a collective of these bytes (as `collectiveTime` has them) takes over the ranks along `axes` of the grid.
Seconds timeOverAxes(const Cluster &machine, GridAttr grid, ArrayAttr axes, CollectiveKind kind, Bytes bytes);

/// `cluster` as findCluster takes it, cut to so many ranks; empty: this machine.
llvm::Expected<Cluster> machineOf(StringRef cluster, int64_t ranks);

/// The layers of the ops of `code` but constants, in an order in which operands come before their uses: falling as
/// backward goes, or rising. Empty where some have no layer, or there is no such order.
SmallVector<int64_t> orderOfLayers(func::FuncOp code);

/// The code of a routine by layers, in the order in which `ppc-outline-layers` has them.
class LayerTimes {
public:
  LayerTimes(func::FuncOp code, const Device &device, Precision precision);

  /// Whether ops are ordered by layer, so that one can say when a layer is done.
  bool isByLayer() const { return !layers.empty(); }
  /// Of an op; nothing where it has none, or the code is not ordered by layer.
  std::optional<int64_t> layerOf(Operation *op) const;
  /// From the beginning of the code until that layer is done.
  Seconds endOf(int64_t layer) const { return layers.lookup(layer).end; }
  /// The last op of that layer.
  Operation *lastOf(int64_t layer) const { return layers.lookup(layer).last; }
  /// Whether no layer comes after it.
  bool isLast(int64_t layer) const { return layers.lookup(layer).place + 1 == layers.size(); }
  Seconds total() const { return all; }

private:
  struct Layer {
    Seconds end{0};
    Operation *last = nullptr;
    size_t place = 0;
  };
  DenseMap<int64_t, Layer> layers;
  Seconds all{0};
};

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OVERLAP_RUNTIMES_H
