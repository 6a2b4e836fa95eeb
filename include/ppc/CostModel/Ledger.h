// Per-rank accounting of a program's step: communication, FLOPs and memory, in entries that both the cost model and a
// program can be written as. The planner's seconds are computed from such entries, and a walk over the partitioned
// program gives the same (ppc/Analysis/ProgramLedger.h). docs/internals/Ledger.md.
#ifndef PPC_COSTMODEL_LEDGER_H
#define PPC_COSTMODEL_LEDGER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mlir::ppc {

/// Which routine of a step something happens in; of a message, which one makes its value.
enum class LedgerPhase { Prepare, Forward, Backward, WeightGradient, Update };
llvm::StringRef toString(LedgerPhase phase);

/// Ranks that communicate, relative to one of them: all sums of multiples of the strides, each below its size. In the
/// numbering of ParallelLayout. Sizes of one are left out, and adjacent ranges are merged, so equal sets are written
/// alike.
class MemberSet {
public:
  MemberSet() = default;
  /// `size` ranks, `stride` apart; negative where a message goes to a lower rank.
  MemberSet(int64_t size, int64_t stride) { add(size, stride); }
  /// Adds an axis; from the innermost to the outermost.
  void add(int64_t size, int64_t stride);
  int64_t size() const;
  int64_t innerStride() const { return parts.empty() ? 1 : parts.front().second; }
  std::string text() const; // "2x4 2x16": two ranks 4 apart, twice, 16 apart; "1": a rank by itself
  bool operator==(const MemberSet &other) const { return parts == other.parts; }
  bool operator<(const MemberSet &other) const { return parts < other.parts; }

private:
  llvm::SmallVector<std::pair<int64_t, int64_t>, 2> parts; // size, stride
};

enum class TransferKind { AllReduce, AllGather, ReduceScatter, AllToAll, Permute, Message };
llvm::StringRef toString(TransferKind kind);

/// Calls of one kind that each rank of a pipeline stage makes: a collective, or a send.
struct TransferRow {
  int64_t device = 0;
  LedgerPhase phase = LedgerPhase::Forward;
  TransferKind kind = TransferKind::AllReduce;
  MemberSet members;
  int64_t elementBits = 32;
  /// Per member, padding included: of the whole tensor (all blocks of a gather, all that is reduced or exchanged).
  int64_t elements = 0;
  int64_t calls = 0; // per step

  int64_t bytes() const { return elements * elementBits / 8; }
  auto key() const { return std::tie(device, phase, kind, members, elementBits, elements); }
};

/// Floating-point operations of a rank in matmuls or in attention: a multiply-add is two; padding counts, keys that the
/// mask hides do not.
struct WorkRow {
  int64_t device = 0;
  LedgerPhase phase = LedgerPhase::Forward;
  bool attention = false;
  int64_t flops = 0; // per step
  auto key() const { return std::tie(device, phase, attention); }
};

/// Bytes of a rank that last longer than a routine.
struct MemoryRow {
  /// Kind of memory: kept from step to step (parameters, the optimizer's state); sums of a step; made from parameters
  /// for a step; one instance per slot of a micro-batch (inputs, saved values, sent and received activations); slots in
  /// host memory. Scalars are not counted.
  enum class Kind { Parameters, State, Gradients, Prepared, Slots, HostSlots };
  int64_t device = 0;
  Kind kind = Kind::Parameters;
  int64_t bytes = 0; // bytes of all slots together
  auto key() const { return std::tie(device, kind); }
};
llvm::StringRef toString(MemoryRow::Kind kind);

struct Ledger {
  std::vector<TransferRow> transfers;
  std::vector<WorkRow> work;
  std::vector<MemoryRow> memory;

  /// Sorts rows; those of one key become one, and those of nothing none.
  void settle();
};

/// Prints a table with a header line: part (transfer, work, memory), device, phase, kind, members, element_bits,
/// elements, and the number (calls, FLOPs, bytes) of each ledger in a column of its name. Settled ledgers.
void printLedgers(llvm::ArrayRef<std::pair<llvm::StringRef, const Ledger *>> ledgers, llvm::raw_ostream &out);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_LEDGER_H
