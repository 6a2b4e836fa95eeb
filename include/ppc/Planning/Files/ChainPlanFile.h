// The layout of every op from and to plan files that people edit, beside the section `layout:` (LayoutFile.h).
//
//   ops:
//     axes: { tp0: 4, tp1: 2 }            # that cut ops, outermost first
//     layers 1-31:                        # of the chain; the layers that are not listed are open
//       1 matmul bsh,fh->bsf: { h: [ tp0 ], f: [ tp1 ] }   # number and name of the op, loops and the axes that cut
//       them
//
// Of a layer that is listed, the ops that are not listed are not cut. `pending: [ tp0 ]` says that a sum over tp0
// passes through the op; `ring` and `gather` are strategies of attention (OpStrategy.h).
#ifndef PPC_PLANNING_FILES_CHAINPLANFILE_H
#define PPC_PLANNING_FILES_CHAINPLANFILE_H

#include "ppc/Planning/Chain/ChainSearch.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::ppc {

/// The section `ops:`. Equal neighbouring layers are written once.
void writeOpCuts(const ChainModel &model, const OpCuts &cuts, llvm::raw_ostream &out);
/// Sections `layout:` and `ops:`.
void writeChainPlan(const ChainModel &model, const ChainPlan &plan, llvm::raw_ostream &out);

/// The section `ops:` of a file; empty cuts where it has none. Errors: `FILE:LINE:COLUMN: error: ...` for what is not
/// YAML; a layer, op, loop or axis that does not exist; an op of another name than the model has there; a loop that
/// cannot be cut so, or that programs of the target, if there is one, do not cut so.
llvm::Expected<OpCuts> readOpCuts(llvm::StringRef path, const ChainModel &model,
                                  const TargetCapabilities *target = nullptr);
/// The same for text in memory; `name` is what messages call it.
llvm::Expected<OpCuts> parseOpCuts(llvm::StringRef name, llvm::StringRef text, const ChainModel &model,
                                   const TargetCapabilities *target = nullptr);

} // namespace mlir::ppc

#endif // PPC_PLANNING_FILES_CHAINPLANFILE_H
