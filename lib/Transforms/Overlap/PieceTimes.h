// What products and the collective beside them take in pieces, by estimate.
#ifndef PPC_LIB_TRANSFORMS_OVERLAP_PIECETIMES_H
#define PPC_LIB_TRANSFORMS_OVERLAP_PIECETIMES_H

#include "RunTimes.h"

namespace mlir::ppc {

/// Seconds on one machine. A piece of a product is priced as a product of that size, its efficiency and launch
/// included; a piece of a collective as the planner prices a collective of so many bytes within a step
/// (`transferTime`), latency and meeting included.
class PieceTimes {
public:
  PieceTimes(const Cluster &machine, GridAttr grid, Precision precision)
      : machine(machine), grid(grid), precision(precision) {}

  GridAttr gridOf() const { return grid; }

  /// What a piece must save of the time of the collective.
  static constexpr double leastSaving() { return 0.01; }

  /// A product of that share of its rows.
  double product(MatmulOp op, double share) const;
  /// An all-reduce or a reduce-scatter of that share of its elements.
  double collective(Operation *op, double share) const;
  /// Work behind a collective that does without its result, in the same layer and before other communication.
  double hidingBehind(Operation *collective) const;
  /// What is not hidden of the collective, and what the products of pieces take longer than the whole ones, where each
  /// piece of the products, `shares` of the rows, is followed by that piece of the collective, and all by `hiding`
  /// seconds of work. To put rows of pieces together, so many bytes are copied in all.
  double exposed(ArrayRef<MatmulOp> products, Operation *collective, ArrayRef<double> shares, double hiding,
                 int64_t bytesCopied) const;

private:
  const Cluster &machine;
  GridAttr grid;
  Precision precision;
};

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OVERLAP_PIECETIMES_H
