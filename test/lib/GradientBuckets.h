// Makes a program that reduces gradients beside its other work of one that reduces them in its update.
#ifndef PPC_TEST_LIB_GRADIENTBUCKETS_H
#define PPC_TEST_LIB_GRADIENTBUCKETS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc::test {

/// All-reduces over "dp" of what updates read become collectives of `count` buckets on a stream of their own, in front
/// of the update, in every device's step. Fails, with an error, where an update has none.
LogicalResult bucketGradients(ModuleOp module, int64_t count);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_GRADIENTBUCKETS_H
