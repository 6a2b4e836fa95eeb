// How the parts of a partial (not yet reduced) value are combined: declared in Combiner.td, which attributes of the
// dialect use, too.
#ifndef PPC_SHARDING_COMBINER_H
#define PPC_SHARDING_COMBINER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir {
using llvm::FailureOr; // the generated text names it; no IR is needed for it
} // namespace mlir

#include "ppc/Sharding/Combiner.h.inc"

#endif // PPC_SHARDING_COMBINER_H
