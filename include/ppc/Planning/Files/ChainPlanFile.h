// Reads and writes op-level shardings in the plan files that users edit, next to the section `layout:` (LayoutFile.h).
//
//   ops:
//     axes: { tp0: 4, tp1: 2 }            # that shard ops, outermost first
//     layers 1-31:                        # of the chain; the layers that are not listed are open
//       1 matmul bsh,fh->bsf: { h: [ tp0 ], f: [ tp1 ] }   # number and name of the op, its loops and their
//       axes
//
// In a listed layer, ops that are not listed are not sharded. `pending: [ tp0 ]` means that a partial sum over tp0
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

/// Reads the section `ops:` of a file; empty shardings if it has none. Errors: `FILE:LINE:COLUMN: error: ...` for text
/// that is not YAML; a layer, op, loop or axis that does not exist; an op of another name than the model has there; a
/// loop that cannot be sharded so, or that programs of the target, if there is one, do not shard so.
llvm::Expected<OpCuts> readOpCuts(llvm::StringRef path, const ChainModel &model,
                                  const TargetCapabilities *target = nullptr);
/// Overload for text in memory; `name` is the file name in messages.
llvm::Expected<OpCuts> parseOpCuts(llvm::StringRef name, llvm::StringRef text, const ChainModel &model,
                                   const TargetCapabilities *target = nullptr);

} // namespace mlir::ppc

#endif // PPC_PLANNING_FILES_CHAINPLANFILE_H
