// Role of a mesh axis: what ranks along it share and what differs between them, independent of its name.
#ifndef PPC_SHARDING_AXISROLE_H
#define PPC_SHARDING_AXISROLE_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mlir::ppc {

enum class AxisRole {
  Stage,   // other layers: pipeline ranks; only in programs, a plan has `stages`
  Data,    // other samples of the batch
  Tensor,  // other parts of the activations
  Context, // other parts of the same sequences
  Expert,  // other experts
  Replica, // nothing: ranks do the same work
};

/// "stage", "data", "tensor", "context", "expert", "replica".
llvm::StringRef toString(AxisRole role);
std::optional<AxisRole> parseAxisRole(llvm::StringRef text);

/// The role of an axis that says none: pp stage, dp data, cp context, ep expert, any other name tensor.
AxisRole defaultAxisRole(llvm::StringRef name);

} // namespace mlir::ppc

#endif // PPC_SHARDING_AXISROLE_H
