// Transformers are laid out by degrees of parallelism: layers cut by columns and rows. Around the degrees that were
// found, every op may be cut by itself instead, over the same devices as one axis or two. Both are priced op by op, so
// that they compare.
#ifndef PPC_PLANNING_CHAIN_CHAINCOMPARISON_H
#define PPC_PLANNING_CHAIN_CHAINCOMPARISON_H

#include "ppc/Planning/Chain/ChainSearch.h"

namespace mlir::ppc {

struct ChainComparison {
  size_t plan = 0;               // which of the layouts
  std::optional<ChainPlan> menu; // the best with products cut by columns and rows over all tensor-parallel ranks
  std::optional<ChainPlan> free; // the best of all
  std::string reason;            // why there is none
  /// Share of the menu's step that is saved.
  double gain() const { return menu && free ? 1 - free->cost.stepTime / menu->cost.stepTime : 0; }
};

/// Column- and row-parallel products over all axes together, anything that is cut over all of them or none for other
/// ops.
bool isColumnsAndRows(const OpTemplate &layer, const TemplateOp &op, const OpStrategy &strategy);

/// For each layout the same data-parallel ranks, stages, micro-batches, schedule, state and recomputation, with its tp
/// x cp ranks cut op by op. Layouts with one such rank, experts on a grid of their own or a schedule that cuts
/// sequences are left out. `request`: its constraints but those that layouts say.
llvm::Expected<std::vector<ChainComparison>> compareOpCuts(const ChainRequest &request,
                                                           llvm::ArrayRef<ParallelLayout> layouts);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_CHAINCOMPARISON_H
