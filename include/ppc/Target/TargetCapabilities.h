// Features that the programs of a target can run, as plain data. Planner and compiler both ask here, so they cannot
// disagree. The target itself, which lowers and links, is ppc/Target/Target.h.
#ifndef PPC_TARGET_TARGETCAPABILITIES_H
#define PPC_TARGET_TARGETCAPABILITIES_H

#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/Scheduling/PipelineSchedule.h"

#include <string>

namespace mlir::ppc {

/// Plain data; lives as long as the program.
struct TargetCapabilities {
  llvm::StringLiteral name;                             // value of --target
  llvm::StringLiteral stack;                            // software stack in the cost model (ppc/CostModel/Stack.h)
  AttentionKernel attention = AttentionKernel::Unfused; // attention kernel of its programs
  int64_t alignment = 1;                                // bytes: buffers begin at multiples of it
  llvm::ArrayRef<Precision> precisions = {};            // matmul precisions; the first is the default

  // Pipelines.
  int64_t modelCopies = 1;     // copies of the model's parameters that a schedule may need
  bool sequenceSlices = false; // schedules whose micro-batches are sharded along the sequence
  bool virtualStages = false;  // several stages per pipeline rank
  bool deviceGroups = false;   // stages on unlike devices

  // State.
  llvm::ArrayRef<int64_t> zero = {};         // ZeRO levels
  bool shardGroups = false;                  // ZeRO shards over a subset of the data-parallel ranks
  llvm::ArrayRef<Offload> offloads = {};     // tensors that may reside in host memory
  llvm::ArrayRef<Recompute> recomputes = {}; // activation recomputation in backward

  // Sequences and experts.
  llvm::ArrayRef<ContextKind> contexts = {}; // attention over context-parallel ranks; none: no such ranks
  bool expertsOfCutSequences = false;        // experts combined with context parallelism
  bool experts = false;                      // expert parallelism, over all tensor-parallel ranks first
  bool expertTensor = false;                 // tensor parallelism inside experts, of its own degree
  // Op-level sharding (ppc/Planning/Chain/OpStrategy.h).
  bool ringAttention = false, gatherAttention = false; // over parts of a sequence
  bool positionalCuts = false;                         // sharded loops whose meaning depends on the loop index
};

/// Programs of the CPU backend: a rank is a process on CPU cores.
const TargetCapabilities &hostCapabilities();
/// Programs for NVIDIA GPUs: a rank is a device.
const TargetCapabilities &cudaCapabilities();

/// Capabilities of all targets of this build; the first is the default.
llvm::ArrayRef<const TargetCapabilities *> targetCapabilities();

inline const TargetCapabilities &defaultTarget() { return *targetCapabilities().front(); }

/// Capabilities of the target of that name. Error: lists the targets of this build.
llvm::Expected<const TargetCapabilities *> findTargetCapabilities(llvm::StringRef name);

/// Names a feature that programs lack to run the schedule: "two copies of the model". Empty: they run it.
llvm::StringRef lackedBy(const TargetCapabilities &target, const PipelineScheduleKind &kind);

/// The first part of a layout that programs cannot run, in words ("context parallelism (cp 2)"); empty: they run it.
std::string lackedBy(const TargetCapabilities &target, const ParallelLayout &layout);
/// Overload that also checks the model's dimensions: heads and widths that tensor parallelism cannot shard, and, if it
/// is known, the length of `sequence` in tokens.
std::string lackedBy(const TargetCapabilities &target, const ModelShape &model, const ParallelLayout &layout,
                     int64_t sequence = 0);

/// Matmul precisions as text: "f32 and bf16".
std::string precisionsText(const TargetCapabilities &target);

} // namespace mlir::ppc

#endif // PPC_TARGET_TARGETCAPABILITIES_H
