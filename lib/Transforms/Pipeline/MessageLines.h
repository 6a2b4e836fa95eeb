// Partition of the messages between two devices into those that share a stream.
#ifndef PPC_TRANSFORMS_PIPELINE_MESSAGELINES_H
#define PPC_TRANSFORMS_PIPELINE_MESSAGELINES_H

#include "dialects/ppcrt/PpcRt.h"
#include "ppc/Scheduling/PipelineSchedule.h"

namespace mlir::ppc {

/// A send waits for its receive and the other way round, and an action for the earlier ones of its stream. So
/// messages may share a stream at both of their ends only if both ends process them in one order, the order of the runs
/// that write and read them: a value from a forward that the backward of another stage reads would stall the forwards
/// of later micro-batches.
///
/// A line is such a set of messages in one direction between two devices. Messages of forwards and those of
/// backwards are on separate lines; each of these is divided further if the order of its two ends differs.
class MessageLines {
public:
  /// `chunks`: index of each virtual stage on its device.
  MessageLines(ppcrt::ProgramOp program, const ppcrt::ProgramSymbols &symbols, const PipelineSchedule &schedule,
               ArrayRef<int64_t> chunks);

  /// Suffix that distinguishes the message's line from others of the same two devices in the same direction; empty
  /// if there is one line.
  StringRef nameOf(ppcrt::MessageOp message) const;

private:
  DenseMap<Operation *, std::string> names;
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PIPELINE_MESSAGELINES_H
