// Functions that launch kernels, as the table that the runtime executes (docs/internals/Runtime.md, "code").
#ifndef PPC_LIB_TARGET_CUDA_DEVICECODE_H
#define PPC_LIB_TARGET_CUDA_DEVICECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "ppc/Codegen/HostObject.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc::cuda {

/// The functions of a module, after `ppc-outline-kernels`: those that are called before those that call. Fails, with an
/// error at the op, at what devices have no operation for.
FailureOr<llvm::json::Object> describeCode(ModuleOp module);

/// The constants of a module, in the order in which describeCode() numbers them. Their content is the module's, or in
/// `expanded` where the module holds one value for all elements.
SmallVector<DeviceConstant> constantsOf(ModuleOp module, std::vector<std::vector<char>> &expanded);

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_DEVICECODE_H
