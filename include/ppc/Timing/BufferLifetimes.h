// From when until when buffers are used.
#ifndef PPC_TIMING_BUFFERLIFETIMES_H
#define PPC_TIMING_BUFFERLIFETIMES_H

#include "ppc/Timing/BufferUses.h"
#include "ppc/Timing/HappensBefore.h"

namespace mlir::ppc {

/// The uses of each buffer, all of its slots together, in the step and in the evaluation.
class BufferLifetimes {
public:
  /// Buffers have the numbers of `uses`. Fails, with an error, where the actions of the program have no order.
  static FailureOr<BufferLifetimes> compute(ppcrt::ProgramOp program, const ppcrt::ProgramSymbols &symbols,
                                            BufferUses &uses);

  /// Whether in the step all uses of one buffer have ended when any of the other begins, and in the evaluation, too;
  /// which of the two comes first may differ. Both are of one device.
  bool areApart(uint32_t a, uint32_t b) const;
  /// Whether all uses of both are on one stream, so that no two are beside each other.
  bool takeTurns(uint32_t a, uint32_t b) const;

private:
  /// Of one buffer, by stream of its device; empty where it is not used.
  struct Span {
    SmallVector<uint32_t, 4> before; ///< how many actions have ended whenever a use begins
    SmallVector<uint32_t, 4> until;  ///< how many have ended when all uses have
  };
  LogicalResult add(std::vector<Span> &spans, const StepEvents &events, BufferUses &uses);

  std::vector<Span> step, evaluation; ///< by buffer
};

} // namespace mlir::ppc

#endif // PPC_TIMING_BUFFERLIFETIMES_H
