#include "ppc/Planning/PlanKeys.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

#include "ppc/Planning/PlanKeys.cpp.inc"

namespace mlir::ppc {
namespace {
using llvm::ArrayRef;
#define GET_PlanKeyTable_IMPL
#include "ppc/Planning/PlanKeyTable.inc"
} // namespace

const PlanKeyInfo &planKeyInfo(PlanKey key) { return *findPlanKeyInfo(uint8_t(key)); }

} // namespace mlir::ppc
