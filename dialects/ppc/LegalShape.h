// Legal shapes of tensors and buffers, checked by verifiers of ops.
#ifndef PPC_DIALECTS_PPC_LEGALSHAPE_H
#define PPC_DIALECTS_PPC_LEGALSHAPE_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace mlir::ppc {

/// Whether a tensor may have this static shape: no dimension of size zero, unless it `mayBeEmpty`, and no more elements
/// and dimensions than limits::tensorElements and limits::dimensions, so that what passes multiply fits in 64 bits.
bool isLegalShape(llvm::ArrayRef<int64_t> shape, bool mayBeEmpty = false);

} // namespace mlir::ppc

#endif // PPC_DIALECTS_PPC_LEGALSHAPE_H
