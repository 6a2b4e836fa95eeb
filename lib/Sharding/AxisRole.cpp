#include "ppc/Sharding/AxisRole.h"

using namespace mlir::ppc;

static constexpr llvm::StringLiteral names[] = {"stage", "data", "tensor", "context", "expert", "replica"};

llvm::StringRef mlir::ppc::toString(AxisRole role) { return names[int(role)]; }

std::optional<AxisRole> mlir::ppc::parseAxisRole(llvm::StringRef text) {
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == text)
      return AxisRole(i);
  return std::nullopt;
}

AxisRole mlir::ppc::defaultAxisRole(llvm::StringRef name) {
  return name == "pp"   ? AxisRole::Stage
         : name == "dp" ? AxisRole::Data
         : name == "cp" ? AxisRole::Context
         : name == "ep" ? AxisRole::Expert
                        : AxisRole::Tensor;
}
