// What programs for hosts run: a rank is a process on CPU cores (docs/guide/Layouts.md).
#include "ppc/TargetCapabilities/TargetCapabilities.h"

using namespace mlir::ppc;

const TargetCapabilities &mlir::ppc::hostCapabilities() {
  static constexpr Precision precisions[] = {Precision::F32, Precision::Bf16};
  static constexpr int64_t zero[] = {0, 1, 2, 3};
  static constexpr ContextKind contexts[] = {ContextKind::AllGather, ContextKind::Ulysses};
  static constexpr Offload offloads[] = {Offload::None,
                                         Offload::Optimizer,
                                         Offload::Activations,
                                         Offload::Optimizer | Offload::Activations,
                                         Offload::Parameters,
                                         Offload::Optimizer | Offload::Parameters,
                                         Offload::Activations | Offload::Parameters,
                                         Offload::All};
  static constexpr Recompute recomputes[] = {Recompute::None, Recompute::Selective, Recompute::Full};
  static const TargetCapabilities host = [] {
    TargetCapabilities target{"host", "ppc-host"};
    target.attention = AttentionKernel::Unfused;
    target.alignment = 64; // a line of the caches, and the widest vector
    target.precisions = precisions;
    target.modelCopies = 2; // schedules in both directions
    target.sequenceSlices = true;
    target.virtualStages = true;
    target.zero = zero;
    target.shardGroups = true;
    target.contexts = contexts;
    target.experts = true;
    target.expertsOfCutSequences = true;
    target.offloads = offloads;
    target.recomputes = recomputes;
    return target;
  }();
  return host;
}
