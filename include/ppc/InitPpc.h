// Registers everything PPC has: dialects, passes, phase pipelines. Tools call only this.
#ifndef PPC_INITPPC_H
#define PPC_INITPPC_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::ppc {

/// The dialects that PPC programs use at any phase, with the interfaces that its passes need on them.
void registerPpcDialects(DialectRegistry &registry);

/// Every pass and phase pipeline, for textual pipelines (`ppc-opt`).
void registerPpcPasses();

} // namespace mlir::ppc

#endif // PPC_INITPPC_H
