// Predictions for tables of configurations: one CSV row in, one row out, nothing searched (ppc-plan --evaluate).
#ifndef PPC_COSTMODEL_LAYOUTROWS_H
#define PPC_COSTMODEL_LAYOUTROWS_H

#include "ppc/CostModel/StepCost.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace mlir::ppc {

/// One row, read and resolved.
struct LayoutRow {
  std::string id;
  std::shared_ptr<const ModelShape> model;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Stack> stack;
  TrainingJob job;
  ParallelLayout layout;
  std::string error; // why the row cannot be run; the rest is meaningless then
};

/// Reads a table with a header line. Columns, all optional but a model, seq_len, global_batch and cluster: id, model
/// (path of a config.json) or layers, hidden, heads, kv_heads, head_dim, ffn, gated, vocab, tied, dropout, experts,
/// top_k, moe_ffn, shared_experts; seq_len, global_batch, micro_batch, cluster, devices, tp, pp, vp, dp, cp, ep, etp,
/// sp, zero, shard_group, gradient_group, parameter_group, schedule, recompute, recomputed_layers (of full, per virtual
/// stage), offload, precision, attention, norm, stack, stage_groups (numbers with spaces between them). Errors
/// (`FILE:LINE: ...`): no header, an unknown or repeated column, a line with another number of cells, a quote that does
/// not end. A bad value makes the row's `error`. Rows without an id are numbered from 1.
llvm::Expected<std::vector<LayoutRow>> readLayoutRows(llvm::StringRef name, llvm::StringRef text);

/// A column that a caller adds: its name, and the text of an evaluated row's cell. Called from several threads.
struct RowColumn {
  llvm::StringRef name;
  std::function<std::string(const LayoutRow &, const StepDetail &, const StepCost &)> cell;
};

/// Estimates every row and writes a table: id, fits, step_time_s, mfu_pct, hfu_pct, tokens_per_s_per_device,
/// peak_memory_GiB, bubble_pct, exposed_comm_pct, the columns of `more`, error. `threads`: 0 for one per core.
void evaluateRows(llvm::ArrayRef<LayoutRow> rows, llvm::raw_ostream &out, llvm::ArrayRef<RowColumn> more = {},
                  unsigned threads = 0);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_LAYOUTROWS_H
