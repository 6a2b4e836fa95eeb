// The decisions of a layout, generated from PlanKeys.td: the enum, and the names of each in files, options and text.
#ifndef PPC_PLANNING_PLANKEYS_H
#define PPC_PLANNING_PLANKEYS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir {
using llvm::FailureOr; // the generated text names it; no IR is needed for it
} // namespace mlir

#include "ppc/Planning/PlanKeys.h.inc"

namespace mlir::ppc {

constexpr int planKeyCount = int(getMaxEnumValForPlanKey()) + 1;

/// A line of the table.
struct PlanKeyInfo {
  uint8_t number;
  const char *spelling; // in plan files: "micro_batch"
  const char *option;   // option of passes and programs: "micro-batch"
  const char *values;   // values of the option; empty: the planner has none for it but --pin
  const char *help;
};
const PlanKeyInfo &planKeyInfo(PlanKey key);

} // namespace mlir::ppc

#endif // PPC_PLANNING_PLANKEYS_H
