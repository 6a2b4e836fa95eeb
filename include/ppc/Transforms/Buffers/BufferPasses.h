// What all targets lower bodies to first: linalg loops, `ppcrt` products, attention and communication on buffers at
// fixed offsets.
#ifndef PPC_TRANSFORMS_BUFFERS_BUFFERPASSES_H
#define PPC_TRANSFORMS_BUFFERS_BUFFERPASSES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ppc {

/// Bodies of ppc ops on tensors -> ops on buffers, whose temporaries lie at offsets in one scratch each. `overlap`:
/// collectives run beside what does not need them. `fuseRows`: loops that share rows become regions (`ppc-fuse-rows`).
/// `fuseEpilogues`: products do what is done with their sums, as cuBLASLt can (`ppc-fuse-epilogues`). `beforeOffsets`
/// adds passes on what is there by then, such as ones that allocate more.
void addBufferPasses(OpPassManager &pm, bool overlap, bool fuseRows = false, bool fuseEpilogues = false,
                     llvm::function_ref<void(OpPassManager &)> beforeOffsets = nullptr);
/// The passes by name.
void registerBufferPasses();
/// Their dialects, and what bufferization must know of them.
void registerBufferDialects(DialectRegistry &registry);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_BUFFERS_BUFFERPASSES_H
