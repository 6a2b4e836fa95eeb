//===- BufferAccess.h - What ops do with buffers ------------------------===//
//
// Reads and writes of buffers in a block without branches, after bufferization.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TRANSFORMS_FUSION_BUFFERACCESS_H
#define PPC_TRANSFORMS_FUSION_BUFFERACCESS_H

#include "mlir/IR/Operation.h"

namespace mlir::ppc {

/// The argument, constant, allocation or view of scratch that a buffer is part of.
Value rootBuffer(Value buffer);

/// The buffer that this one reshapes: all of its elements, in their order.
Value wholeBuffer(Value buffer);

/// Accesses of an op to each buffer that it uses, by the roots of its operands; an op without declared effects may
/// both read and write.
struct BufferAccess {
  Value root;
  Value buffer; ///< as returned by wholeBuffer()
  bool reads = false, writes = false;
};
SmallVector<BufferAccess> accessesOf(Operation *op);

/// Bytes of a buffer of static shape.
int64_t bufferBytes(Value buffer);

/// Whether the contents of the buffer `root` after `op` are read in the rest of the block. Buffers that are not
/// allocated in the block may be read by others.
bool isLiveBehind(Value root, Operation *op);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_FUSION_BUFFERACCESS_H
