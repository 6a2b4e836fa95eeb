// Makes a program that keeps saved values in the memory of the host of one that keeps them on the device.
#ifndef PPC_TEST_LIB_OFFLOADSAVED_H
#define PPC_TEST_LIB_OFFLOADSAVED_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc::test {

/// On every device, `count` values that one routine of a micro-batch leaves for one other are copied to the host on a
/// stream of their own, and back to one more buffer before they are used. On the device they then have one slot. Fails,
/// with an error, where a device has none.
LogicalResult offloadSaved(ModuleOp module, int64_t count);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_OFFLOADSAVED_H
