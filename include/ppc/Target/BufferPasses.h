// Passes shared by all targets: they lower tensor functions to linalg loops, `ppcrt` GEMMs, attention and communication
// on buffers at fixed offsets.
#ifndef PPC_TARGET_BUFFERPASSES_H
#define PPC_TARGET_BUFFERPASSES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ppc {

/// Lowers functions of ppc ops on tensors to ops on buffers. The temporaries of a function get offsets in one scratch
/// buffer. `overlap`: collectives run concurrently with ops that do not depend on them. `fuseRows`: loops that share
/// rows become regions (`ppc-fuse-rows`). `fuseEpilogues`: GEMMs absorb the ops on their sums that cuBLASLt supports as
/// epilogues (`ppc-fuse-epilogues`). `beforeOffsets` adds passes that run before offsets are assigned, such as passes
/// that allocate more buffers.
void addBufferPasses(OpPassManager &pm, bool overlap, bool fuseRows = false, bool fuseEpilogues = false,
                     llvm::function_ref<void(OpPassManager &)> beforeOffsets = nullptr);
/// The passes by name.
void registerBufferPasses();
/// Their dialects, and what bufferization must know of them.
void registerBufferDialects(DialectRegistry &registry);

} // namespace mlir::ppc

#endif // PPC_TARGET_BUFFERPASSES_H
