// Tokens between actions of a device that were added to a schedule, and its original actions.
#ifndef PPC_LIB_TRANSFORMS_OFFLOAD_ACTIONTOKENS_H
#define PPC_LIB_TRANSFORMS_OFFLOAD_ACTIONTOKENS_H

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ppc {

/// Gives actions the tokens that they need, except those implied by others. All requirements of a list of actions are
/// known by then.
class ActionTokens {
public:
  /// `action` must come after `before`, which is earlier in the list.
  void require(Operation *action, Operation *before) { needs[action].push_back(before); }
  void write(Block &actions);

private:
  /// The last action of each stream that is certain to have completed: -1 is none.
  using Clock = llvm::SmallMapVector<Attribute, int64_t, 4>;
  struct Known {
    Attribute stream;
    int64_t place;
    Clock ended; ///< actions that have completed with it
  };
  DenseMap<Operation *, SmallVector<Operation *, 2>> needs;
  DenseMap<Operation *, Known> known;
};

/// The stream of that name, made where the device has none.
FlatSymbolRefAttr getStream(ppcrt::DeviceOp device, StringRef name);

/// Copies several buffers in sequence, for a micro-batch or none; returns the first and the last copy.
std::pair<Operation *, Operation *> copyAt(OpBuilder &at, ArrayRef<ppcrt::BufferOp> from, ArrayRef<ppcrt::BufferOp> to,
                                           IntegerAttr microBatch, FlatSymbolRefAttr stream);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OFFLOAD_ACTIONTOKENS_H
