// Constraints of a user on a layout: fixed or forbidden values by key. A pin is a constraint on the search, never
// another code path: fixing every key leaves one layout to estimate.
#ifndef PPC_PLANNING_PLANCONSTRAINTS_H
#define PPC_PLANNING_PLANCONSTRAINTS_H

#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/Planning/PlanKeys.h"
#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <functional>
#include <limits>
#include <vector>

namespace mlir::ppc {

/// As options and plan files spell it: "dp", "sp", "shard_group", "micro_batch", "recomputed_layers", ...
llvm::StringRef toString(PlanKey key);
/// '-' and '_' mean the same. Error: lists the known keys.
llvm::Expected<PlanKey> parsePlanKey(llvm::StringRef text);

/// A layout's value of a key (of Devices: how many are used, fewer than the cluster holds where nothing else divides):
/// a number, or the position of a word among the key's choices. ShardGroup: the ranks, never 0. RecomputedLayers: -1
/// for all, -2 for a number of each stage.
int64_t planValue(const ParallelLayout &layout, PlanKey key);
/// "8", "on", "interleaved", "full", "all", "by-stage".
std::string planValueText(PlanKey key, int64_t value);
/// Error: not a number of at least 1 (zero: 0 to 3), or an unknown word; lists valid values.
llvm::Expected<int64_t> parsePlanValue(PlanKey key, llvm::StringRef text);
/// Neutral value of the key, for a layout that does not use it: 1 for degrees, off, none. Precision, Schedule,
/// MicroBatch and Devices have none: -1.
int64_t planNeutralValue(PlanKey key);
/// Sets it. Devices: does nothing.
void setPlanValue(ParallelLayout &layout, PlanKey key, int64_t value);

class PlanConstraints {
public:
  /// Errors: unknown key or value; a key pinned to two values; a value that is forbidden.
  llvm::Error pin(llvm::StringRef key, llvm::StringRef value);
  /// Without a value: the key must keep its neutral value ("--forbid recompute", "--forbid pp"). Errors: as above; a
  /// key that has no neutral value; the pinned value.
  llvm::Error forbid(llvm::StringRef key, llvm::StringRef value = "");
  void pin(PlanKey key, int64_t value) { pins[int(key)] = value; }
  /// Allows only values for which `possible` holds from now on, whatever is pinned, forbidden or relaxed; `reason`
  /// describes the allowed values of a key. Both must be pure and thread-safe. Existing pins are not checked.
  void limit(std::function<bool(PlanKey, int64_t)> possible, std::function<std::string(PlanKey)> reason);
  /// Drops pins and forbids of the key.
  void relax(PlanKey key);
  bool isConstrained(PlanKey key) const {
    return isPinned(key) || onlyNeutral[int(key)] || !forbidden[int(key)].empty();
  }
  /// Human-readable: "8", "not full", "off".
  std::string describe(PlanKey key) const;
  void forbid(PlanKey key, int64_t value) { forbidden[int(key)].push_back(value); }
  /// Every key as in `layout`, and the stages' layers and recomputed layers when it lists them.
  void pinAll(const ParallelLayout &layout);

  bool isPinned(PlanKey key) const { return pins[int(key)] != unpinned; }
  int64_t pinned(PlanKey key) const { return pins[int(key)]; }
  bool allows(PlanKey key, int64_t value) const;
  /// The first key whose value is not allowed; nothing: all are.
  std::optional<PlanKey> violation(const ParallelLayout &layout) const;

  /// Layers per virtual stage in model order, when the user says them.
  llvm::SmallVector<int64_t, 8> stageLayers;
  /// Recomputed layers per virtual stage in model order, when the user says them.
  llvm::SmallVector<int64_t, 8> stageRecomputedLayers;
  /// The group of devices of each pipeline stage, when the user says it (clusters of several groups).
  llvm::SmallVector<int64_t, 8> stageGroups;

  PlanConstraints() { pins.fill(unpinned); }

private:
  static constexpr int64_t unpinned = std::numeric_limits<int64_t>::min();
  std::array<int64_t, planKeyCount> pins;
  std::array<std::vector<int64_t>, planKeyCount> forbidden;
  std::array<bool, planKeyCount> onlyNeutral{};
  std::function<bool(PlanKey, int64_t)> possible;
  std::function<std::string(PlanKey)> limitReason;
};

} // namespace mlir::ppc

#endif // PPC_PLANNING_PLANCONSTRAINTS_H
