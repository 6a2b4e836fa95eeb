// What the programs of a target can run, as plain data: the one place that planner and compiler ask, so that they
// cannot disagree. The target itself, which lowers and links, is ppc/Target/Target.h.
#ifndef PPC_TARGETCAPABILITIES_TARGETCAPABILITIES_H
#define PPC_TARGETCAPABILITIES_TARGETCAPABILITIES_H

#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/Scheduling/PipelineSchedule.h"

#include <string>

namespace mlir::ppc {

/// Plain data; lives as long as the program.
struct TargetCapabilities {
  llvm::StringLiteral name;                             // of --target
  llvm::StringLiteral stack;                            // what its programs do, for prices (ppc/CostModel/Stack.h)
  AttentionKernel attention = AttentionKernel::Unfused; // of its programs
  int64_t alignment = 1;                                // bytes: buffers begin at multiples of it
  llvm::ArrayRef<Precision> precisions = {};            // of products; the first where nothing names one

  // Pipelines.
  int64_t modelCopies = 1;     // copies of the model's parameters that a schedule may need
  bool sequenceSlices = false; // schedules whose micro-batches are cut along the sequence
  bool virtualStages = false;  // several stages per pipeline device
  bool deviceGroups = false;   // stages on unlike devices

  // State.
  llvm::ArrayRef<int64_t> zero = {};         // ZeRO levels
  bool shardGroups = false;                  // state cut over some of the data-parallel ranks
  llvm::ArrayRef<Offload> offloads = {};     // what may live in host memory
  llvm::ArrayRef<Recompute> recomputes = {}; // what backward may compute again

  // Sequences and experts.
  llvm::ArrayRef<ContextKind> contexts = {}; // attention over context-parallel ranks; none: no such ranks
  bool expertsOfCutSequences = false;        // experts beside such ranks
  bool experts = false;                      // expert parallelism, over all tensor-parallel ranks first
  bool expertTensor = false;                 // tensor parallelism inside experts, of its own degree
  // Where every op is cut by itself (ppc/Planning/Chain/OpStrategy.h).
  bool ringAttention = false, gatherAttention = false; // over parts of a sequence
  bool positionalCuts = false;                         // loops whose meaning depends on the place in them
};

/// Programs for hosts: a rank is a process on CPU cores.
const TargetCapabilities &hostCapabilities();
/// Programs for NVIDIA GPUs: a rank is a device.
const TargetCapabilities &cudaCapabilities();

/// Of all targets of this build, the one first that is taken where none is named.
llvm::ArrayRef<const TargetCapabilities *> targetCapabilities();

inline const TargetCapabilities &defaultTarget() { return *targetCapabilities().front(); }

/// Of the target of that name. Error: lists the targets of this build.
llvm::Expected<const TargetCapabilities *> findTargetCapabilities(llvm::StringRef name);

/// What programs lack to run the schedule: "two copies of the model". Empty: they run it.
llvm::StringRef lackedBy(const TargetCapabilities &target, const PipelineScheduleKind &kind);

/// The first part of a layout that programs cannot run, in words ("context parallelism (cp 2)"); empty: they run it.
std::string lackedBy(const TargetCapabilities &target, const ParallelLayout &layout);
/// The same, with what depends on the model: heads and widths that tensor parallelism does not cut; and on `sequence`,
/// tokens, if they are known.
std::string lackedBy(const TargetCapabilities &target, const ModelShape &model, const ParallelLayout &layout,
                     int64_t sequence = 0);

/// "f32, bf16": the precisions of products.
std::string precisionsText(const TargetCapabilities &target);

} // namespace mlir::ppc

#endif // PPC_TARGETCAPABILITIES_TARGETCAPABILITIES_H
