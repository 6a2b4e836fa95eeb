// The global indices that a local op sees of a dimension that is declared sharded.
#ifndef PPC_DIALECTS_REFERENCE_BLOCKSPAN_H
#define PPC_DIALECTS_REFERENCE_BLOCKSPAN_H

#include "dialects/ppc/Ppc.h"

#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {

/// Local element i is global element `offset + i`; there are `extent` global elements, the rest is padding.
struct BlockSpan {
  int64_t offset = 0;
  int64_t extent = 0;

  /// `local` elements of the block that `block` names; the whole dimension when there is none.
  BlockSpan(std::optional<BlockAttr> block, int64_t local, const ReferenceContext &context) : extent(local) {
    if (!block)
      return;
    offset = context.blockIndex(axisNames(block->getAxes())) * local;
    extent = block->getExtent();
  }
  bool isPadding(int64_t local) const { return offset + local >= extent; }
};

/// An index as text for messages, also if it is not a number or too large for an integer.
inline std::string indexText(double index) { return llvm::formatv("{0:F0}", index).str(); }

} // namespace mlir::ppc

#endif // PPC_DIALECTS_REFERENCE_BLOCKSPAN_H
