// When the members of a row region run.
#include "ppc/Transforms/Fusion/RowPhases.h"

#include "ppc/Transforms/Fusion/BufferAccess.h"

namespace mlir::ppc {
namespace {

/// Phases of a buffer, as far as it has been used.
struct Times {
  unsigned known = 0;              // first phase in which it may be used
  unsigned overwritten = 0;        // first phase whose elements or reductions may overwrite it
  unsigned overwrittenAtStart = 0; // first phase that may overwrite it as it begins
};

} // namespace

SmallVector<unsigned> phasesOf(const RowRegion &region) {
  SmallVector<unsigned> phases;
  llvm::DenseMap<Value, Times> buffers;
  for (const RowMember &member : region.members) {
    bool isRow = member.role == RowRole::Row;
    unsigned phase = 0;
    linalg::LinalgOp op = member.op;
    SmallVector<OpOperand *> operands;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()))
        operands.push_back(&operand);
    for (OpOperand *operand : operands) {
      Times &times = buffers[wholeBuffer(operand->get())];
      phase = std::max(phase, times.known);
      if (op.isDpsInit(operand))
        phase = std::max(phase, isRow ? times.overwrittenAtStart : times.overwritten);
    }
    for (OpOperand *operand : operands) {
      Times &times = buffers[wholeBuffer(operand->get())];
      times.overwritten = std::max(times.overwritten, phase);
      times.overwrittenAtStart = std::max(times.overwrittenAtStart, isRow ? phase : phase + 1);
      if (op.isDpsInit(operand))
        times.known = member.role == RowRole::RowReduction ? phase + 1 : phase;
    }
    phases.push_back(phase);
  }
  return phases;
}

} // namespace mlir::ppc
