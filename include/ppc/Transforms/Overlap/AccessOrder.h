// Order of buffer accesses of the ops of a block, recorded to verify that moving ops preserves it.
#pragma once

#include "mlir/IR/Block.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ppc {

/// The order of accesses to the same elements. Two ops of which one writes elements that the other one accesses
/// must not be reordered (Bernstein's conditions); ops inside loops count, also if they read buffers that are not
/// operands.
class AccessOrder {
public:
  /// Records the current order of the ops of `block`, which has to outlive this.
  explicit AccessOrder(Block &block);

  /// The accesses of `op` now happen between `begin` and `end`, as by a collective that is started and waited for;
  /// must be called before `op` is erased.
  void replace(Operation *op, Operation *begin, Operation *end);

  /// Reports an error at an op that was reordered with one that writes elements that it accesses, or the other way
  /// round.
  LogicalResult verify() const;

private:
  /// Elements of a buffer.
  struct Access {
    size_t op; ///< index into `spans`
    int64_t begin, end;
    bool isWrite;
  };
  struct Span {
    Operation *first, *last;
  };

  Block &block;
  SmallVector<Span> spans;                              ///< in the order of the ops
  llvm::MapVector<Value, SmallVector<Access>> accesses; ///< by the buffer that others are views of, in that order
};

} // namespace mlir::ppc
