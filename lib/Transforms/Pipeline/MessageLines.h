// Which messages between two devices follow each other on one stream.
#ifndef PPC_TRANSFORMS_PIPELINE_MESSAGELINES_H
#define PPC_TRANSFORMS_PIPELINE_MESSAGELINES_H

#include "dialects/ppcrt/PpcRt.h"
#include "ppc/Scheduling/PipelineSchedule.h"

namespace mlir::ppc {

/// A send waits for its receive and the other way round, and what is on a stream for what was put there before. So
/// messages may share a stream at both of their ends only if both ends come to them in one order, that of the runs that
/// make and use them: a value that a forward makes and the backward of another stage uses would hold up the forwards of
/// later micro-batches.
///
/// A line is such a set of messages in one direction between two devices. Messages that forwards make and those that
/// backwards make are on lines of their own; each of these is divided further where the order of its two ends differs.
class MessageLines {
public:
  /// `chunks`: of each virtual stage its place on its device.
  MessageLines(ppcrt::ProgramOp program, const ppcrt::ProgramSymbols &symbols, const PipelineSchedule &schedule,
               ArrayRef<int64_t> chunks);

  /// What distinguishes the message's line from others of the same two devices in the same direction; empty where there
  /// is one.
  StringRef nameOf(ppcrt::MessageOp message) const;

private:
  DenseMap<Operation *, std::string> names;
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PIPELINE_MESSAGELINES_H
