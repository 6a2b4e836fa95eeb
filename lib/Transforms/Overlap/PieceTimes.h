// Estimated times of chunked matmuls overlapped with their collective.
#ifndef PPC_LIB_TRANSFORMS_OVERLAP_PIECETIMES_H
#define PPC_LIB_TRANSFORMS_OVERLAP_PIECETIMES_H

#include "RunTimes.h"

namespace mlir::ppc {

/// Seconds on one machine. A chunk of a matmul costs as much as a matmul of that size, its efficiency and launch
/// included; a chunk of a collective as much as the planner's estimate of a collective of that many bytes within a step
/// (`transferTime`), latency and synchronization delay included.
class PieceTimes {
public:
  PieceTimes(const Cluster &machine, GridAttr grid, Precision precision)
      : machine(machine), grid(grid), precision(precision) {}

  GridAttr gridOf() const { return grid; }

  /// Fraction of the collective's time that a larger number of chunks must save.
  static constexpr double leastSaving() { return 0.01; }

  /// Time of a matmul of that share of its rows.
  double product(MatmulOp op, double share) const;
  /// Time of an all-reduce or a reduce-scatter of that share of its elements.
  double collective(Operation *op, double share) const;
  /// Time of work after a collective that does not need its result, in the same layer and before other
  /// communication.
  double hidingBehind(Operation *collective) const;
  /// The exposed time of the collective, plus the time that chunked matmuls take longer than unchunked ones, if
  /// each chunk of the matmuls, `shares` of the rows, is followed by that chunk of the collective, and all by `hiding`
  /// seconds of work. To make rows of chunks contiguous, `bytesCopied` bytes are copied in all.
  double exposed(ArrayRef<MatmulOp> products, Operation *collective, ArrayRef<double> shares, double hiding,
                 int64_t bytesCopied) const;

private:
  const Cluster &machine;
  GridAttr grid;
  Precision precision;
};

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OVERLAP_PIECETIMES_H
