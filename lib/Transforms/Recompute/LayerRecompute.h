// What one layer keeps for backward, and in which order not keeping values costs least.
#ifndef PPC_LIB_TRANSFORMS_RECOMPUTE_LAYERRECOMPUTE_H
#define PPC_LIB_TRANSFORMS_RECOMPUTE_LAYERRECOMPUTE_H

#include "dialects/ppc/Ppc.h"

#include <vector>

namespace mlir::ppc {

/// Whether an op belongs to forward.
bool isForward(Operation *op);

/// "matmul.3": the third but one matmul among the forward ops of its layer. In a plan "matmul" alone means all of them.
std::string nameInLayer(Operation *op);

/// Whether an op may be computed again: a forward op that is no constant and whose results stay in its layer,
/// and in its slice of the sequence.
bool canRecompute(Operation *op);

/// Ops to mark together.
struct RecomputeStep {
  SmallVector<Operation *, 4> ops;
  int64_t bytes = 0; // less kept per micro-batch; above 0
  double cost = 0;   // of computing again, in bytes that memory could move in that time; above 0
  double rate() const { return double(bytes) / cost; }
};

/// One layer on one stage.
class LayerRecompute {
public:
  /// `ops`: of the layer, of all parts, in order; those with `ppc.recompute` are chosen already. `balance`: FLOPs that
  /// the machine does in the time in which its memory moves a byte.
  LayerRecompute(ArrayRef<Operation *> ops, double balance);

  /// Steps from what is chosen to the least that the layer can keep; each is the one that saves most per cost after
  /// those before it. A step marks one op, or one op and those of its producers that would otherwise have to be kept
  /// instead.
  std::vector<RecomputeStep> steps() const;

private:
  struct Price {
    int64_t bytes = 0; // kept
    double cost = 0;   // of copies
  };
  using Marks = llvm::SmallDenseSet<Operation *, 16>;
  double costOf(Operation *op) const;
  Price evaluate(const Marks &marks) const;
  /// The op and the producers of what it reads, as far as they are not kept anyway.
  void addWithProducers(Operation *op, const Marks &marks, const llvm::DenseSet<Value> &kept,
                        SmallVectorImpl<Operation *> &ops) const;
  llvm::DenseSet<Value> keptValues(const Marks &marks) const;

  SmallVector<Operation *> forward, backward;
  Marks chosen;
  double balance;
};

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_RECOMPUTE_LAYERRECOMPUTE_H
