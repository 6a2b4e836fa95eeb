#include "ppc/Planning/ProgramRefusals.h"

#include "ppc/Scheduling/PipelineSchedule.h"

using namespace mlir::ppc;

static bool cutsIntoSlices(const ParallelLayout &layout) {
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(layout.schedule);
  if (kind)
    return layout.pp > 1 && (*kind)->slicesSequence;
  llvm::consumeError(kind.takeError());
  return false;
}

void ProgramRefusals::addOf(const ProgramRefusals &other) {
  for (std::string ProgramRefusals::*reason :
       {&ProgramRefusals::model, &ProgramRefusals::microBatches, &ProgramRefusals::slices, &ProgramRefusals::stages,
        &ProgramRefusals::recompute})
    if ((this->*reason).empty())
      this->*reason = other.*reason;
}

std::string ProgramRefusals::of(const ParallelLayout &layout, int64_t batch) const {
  if (!model.empty())
    return "the model (" + model + ")";
  if (!microBatches.empty() && batch > layout.dp * layout.microBatch)
    return "several micro-batches (" + microBatches + ")";
  if (!stages.empty() && layout.pp > 1)
    return stages;
  if (!slices.empty() && cutsIntoSlices(layout))
    return "slices of sequences (" + slices + ")";
  if (!recompute.empty() && layout.recompute != Recompute::None)
    return recompute;
  return "";
}
