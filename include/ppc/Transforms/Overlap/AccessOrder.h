// What the ops of a block do to buffers in which order, kept to see that moving ops has changed nothing.
#pragma once

#include "mlir/IR/Block.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ppc {

/// The order of accesses to the same elements. Two ops of which one writes what the other one touches must not change
/// places (Bernstein's conditions); bodies of loops count, also where they read buffers that are no operands.
class AccessOrder {
public:
  /// Of the ops of `block` as they stand, which has to outlive this.
  explicit AccessOrder(Block &block);

  /// What `op` did is done between `begin` and `end`, as by a collective that is started and waited for; to be said
  /// before `op` is erased.
  void replace(Operation *op, Operation *begin, Operation *end);

  /// An error at an op that has changed places with one which writes what it touches, or the other way round.
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
