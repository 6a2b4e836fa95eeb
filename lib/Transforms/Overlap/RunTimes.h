// Times of the runs of a device's step, by the work of their ops: precise enough to decide how much communication
// they hide.
#ifndef PPC_LIB_TRANSFORMS_OVERLAP_RUNTIMES_H
#define PPC_LIB_TRANSFORMS_OVERLAP_RUNTIMES_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Cluster/Cluster.h"
#include "ppc/CostModel/CollectiveCost.h"

namespace mlir::ppc {

/// Time of an op on an otherwise idle device; for collectives the time of their copies.
Seconds timeOf(Operation *op, const Device &device, Precision precision);

/// Time of a collective of these bytes (as for `collectiveTime`) over the ranks along `axes` of the mesh.
Seconds timeOverAxes(const Cluster &machine, GridAttr grid, ArrayAttr axes, CollectiveKind kind, Bytes bytes);

/// `cluster` as for findCluster, restricted to `ranks` ranks; empty: this machine.
llvm::Expected<Cluster> machineOf(StringRef cluster, int64_t ranks);

/// The layers of the ops of `code` but constants, in an order in which operands come before their uses: descending as
/// in backward, or ascending. Empty if some have no layer, or there is no such order.
SmallVector<int64_t> orderOfLayers(func::FuncOp code);

/// The code of a routine by layers, in the order in which `ppc-outline-layers` has them.
class LayerTimes {
public:
  LayerTimes(func::FuncOp code, const Device &device, Precision precision);

  /// Whether ops are ordered by layer, so that the end of a layer is defined.
  bool isByLayer() const { return !layers.empty(); }
  /// Layer of an op; std::nullopt if it has none, or the code is not ordered by layer.
  std::optional<int64_t> layerOf(Operation *op) const;
  /// Time from the beginning of the code until that layer is done.
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
