// What ranks along an axis of the grid share and what each has of its own, whatever the axis is called.
#ifndef PPC_SHARDING_AXISROLE_H
#define PPC_SHARDING_AXISROLE_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mlir::ppc {

enum class AxisRole {
  Stage,   // other layers: pipeline devices; only in programs, a plan says them with `stages`
  Data,    // other samples of the batch
  Tensor,  // other parts of what samples become
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
