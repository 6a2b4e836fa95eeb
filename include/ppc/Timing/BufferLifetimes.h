// Lifetimes of buffers, by stream.
#ifndef PPC_TIMING_BUFFERLIFETIMES_H
#define PPC_TIMING_BUFFERLIFETIMES_H

#include "ppc/Timing/BufferUses.h"
#include "ppc/Timing/HappensBefore.h"

namespace mlir::ppc {

/// The uses of each buffer, all of its slots together, in the step and in the evaluation.
class BufferLifetimes {
public:
  /// Buffers have the numbers of `uses`. Fails, with an error, if the actions of the program cannot be ordered.
  static FailureOr<BufferLifetimes> compute(ppcrt::ProgramOp program, const ppcrt::ProgramSymbols &symbols,
                                            BufferUses &uses);

  /// Whether in the step all uses of one buffer have completed when any of the other starts, and in the evaluation,
  /// too; either may come first. Both are of one device.
  bool areApart(uint32_t a, uint32_t b) const;
  /// Whether all uses of both are on one stream, so that no two overlap.
  bool takeTurns(uint32_t a, uint32_t b) const;

private:
  /// Lifetime of one buffer, by stream of its device; empty if it is not used.
  struct Span {
    SmallVector<uint32_t, 4> before; ///< how many actions have completed whenever a use starts
    SmallVector<uint32_t, 4> until;  ///< how many have completed when all uses have
  };
  LogicalResult add(std::vector<Span> &spans, const StepEvents &events, BufferUses &uses);

  std::vector<Span> step, evaluation; ///< by buffer
};

} // namespace mlir::ppc

#endif // PPC_TIMING_BUFFERLIFETIMES_H
