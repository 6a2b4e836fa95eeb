//===- BufferAccess.h - What ops do with buffers ------------------------===//
//
// Reads and writes of buffers in a block without branches, after bufferization.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TRANSFORMS_FUSION_BUFFERACCESS_H
#define PPC_TRANSFORMS_FUSION_BUFFERACCESS_H

#include "mlir/IR/Operation.h"

namespace mlir::ppc {

/// The argument, constant, allocation or place in scratch that a buffer is part of.
Value rootBuffer(Value buffer);

/// The buffer of which this one is another shape: all of its elements, in their order.
Value wholeBuffer(Value buffer);

/// What an op may do with each buffer that it uses, by the roots of its operands; an op that does not say what it does
/// may do both.
struct BufferAccess {
  Value root;
  Value buffer; ///< as wholeBuffer() tells
  bool reads = false, writes = false;
};
SmallVector<BufferAccess> accessesOf(Operation *op);

/// Bytes of a buffer of static shape.
int64_t bufferBytes(Value buffer);

/// Whether what the buffer `root` holds behind `op` is read in the rest of the block. What is not allocated in it
/// belongs to others, who may read it.
bool isLiveBehind(Value root, Operation *op);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_FUSION_BUFFERACCESS_H
