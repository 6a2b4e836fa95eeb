// Comparison of layouts by degrees of parallelism (column- and row-parallel layers, as for transformers) with op-level
// shardings around the same degrees, over the same devices as one axis or two. Both are estimated op by op, so that
// they compare.
#ifndef PPC_PLANNING_CHAIN_CHAINCOMPARISON_H
#define PPC_PLANNING_CHAIN_CHAINCOMPARISON_H

#include "ppc/Planning/Chain/ChainSearch.h"

namespace mlir::ppc {

struct ChainComparison {
  size_t plan = 0;               // which of the layouts
  std::optional<ChainPlan> menu; // the best with column- and row-parallel matmuls over all tensor-parallel ranks
  std::optional<ChainPlan> free; // the best of all
  std::string reason;            // why there is none
  /// Share of the menu's step that is saved.
  double gain() const { return menu && free ? 1 - free->cost.stepTime / menu->cost.stepTime : 0; }
};

/// Returns whether matmuls are column- and row-parallel over all axes together; other ops may be sharded over all of
/// them or none.
bool isColumnsAndRows(const OpTemplate &layer, const TemplateOp &op, const OpStrategy &strategy);

/// Searches, for each layout, op-level shardings over its tp x cp ranks with the same data-parallel ranks, stages,
/// micro-batches, schedule, state and recomputation. Layouts with one such rank, experts on a separate mesh or a
/// schedule that slices sequences are left out. `request`: its constraints except those that layouts set.
llvm::Expected<std::vector<ChainComparison>> compareOpCuts(const ChainRequest &request,
                                                           llvm::ArrayRef<ParallelLayout> layouts);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_CHAINCOMPARISON_H
