// Behaviour of a software stack, as switches: fused kernels, overlap, types of reductions, time of host code. Never an
// efficiency: speeds belong to hardware. One YAML file per stack in lib/CostModel/Stacks, with the source of each fact.
// Defaults depend on the issuer of kernels: an interpreter fuses nothing, and its caching allocator and libraries hold
// additional memory.
#ifndef PPC_COSTMODEL_STACK_H
#define PPC_COSTMODEL_STACK_H

#include "ppc/CostModel/KernelCost.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::ppc {

/// Who issues kernels: an interpreter op by op, compiled regions, or recorded graphs (no host time per kernel).
enum class Execution { Eager, Compiled, Graphs };
/// Modules that a stage partition into equal numbers counts.
enum class StageSplit {
  Layers,           // transformer layers only; embedding and LM head join the first and the last
  Modules,          // embedding, layers, final norm and head each count one (DeepSpeed `uniform`)
  EmbeddingAsLayer, // embedding and LM head count as a layer each
  FullLayers,       // layers only, each stage as many as the fullest until none are left (DeepSpeed `type:`)
  LaterLayers,      // layers only; if they do not divide, each of the last stages has one more (InternEvo)
  Balanced,         // by predicted time
};

struct Stack {
  std::string name = "ppc";
  std::string software; // whose limits hold (ppc/Planning/TrainingSoftware.h); empty: those of the name, if it has any
  Execution execution = Execution::Compiled;
  StageSplit stageSplit = StageSplit::Balanced;
  AttentionKernel attention = AttentionKernel::Flash3; // the best that it can use, where a layout names none
  /// Host time to issue a kernel, in multiples of the device's `host_issue_forward` and `_backward`.
  double hostLaunch = 1;
  // Fused elementwise kernels.
  bool fusedRotary = true, fusedActivation = true, fusedResidual = true, fusedLoss = true;
  bool fusedGradientAccumulation = true; // the weight-gradient matmul adds to the accumulator itself
  bool causalSoftmax = false;            // the fused softmax reads nothing above the diagonal (attention fused-softmax)
  bool lossIn16Bits = false;             // cross-entropy reads 16-bit logits, without casting them
  bool attentionOfProducts = false;      // no attention kernel: matmuls, whose scores backward recomputes
  bool residualF32 = false;              // the residual stream is kept, summed over ranks and sent in f32
  bool logitsF32 = false;                // and logits
  // Types, in bytes per element.
  double gradientBytes = 4;       // accumulator
  double gradientReduceBytes = 4; // on the wire
  double fp16GradientBytes = 0;   // accumulator and wire where training is in fp16; 0: as above
  double masterBytes = 4;         // master weights; 0: none
  double momentBytes = 8;         // both moments
  // Fine-tuning (ppc/Planning/FineTuning.h); no file says these.
  double trainedShare = 1;   // elements that change, of all; the bytes above are of state of these, spread over all
  int64_t adapterRank = 0;   // low-rank adapters of every matmul, whose weights are frozen; 0: weights are trained
  double frozenBits = 16;    // bits of such a weight; below 16 it becomes 16 bits before each use
  double backwardShare = 1;  // layers that backward reaches, of all
  double referenceBytes = 0; // bytes per parameter of a frozen model that takes part, sharded as parameters are
  // Communication.
  bool overlapGradientReduction = true; // with backward
  bool reducesInBuckets = false;        // overlapped with the last backward, if the cost model predicts a speedup
                                        // (ppc-overlap-reductions)
  bool overlapParameterGather = true;   // for ZeRO-1/2, overlapped with the next forward
  bool parameterBroadcasts = false;     // for ZeRO-1/2: parameters have owners, who broadcast them one after another
  bool launchBlocking = false;          // the host waits for every kernel before it issues the next
  bool asyncTensorBackward = true;      // the gradient's all-reduce overlaps with the weight gradient
  bool reducesInputGradientsApart =
      false;                          // gate's and up-projection's input gradients: an all-reduce each (not with sp)
  bool overlapTensorParallel = false; // chunked matmuls, which hide their all-gather and reduce-scatter
  bool overlapExperts = false;        // all-to-all of one half hidden behind the other half's experts
  bool blockingSends = false;         // a stage waits for its sends and receives
  bool fittedSchedules = false;       // schedules that can do so (zb2p) fit their warm-up to durations; else the
                                      // hand-made shape
  bool validatesUpdateAfterwards = false; // no stage waits for the norm of all gradients: a step that fails is undone
  bool scatterGatherSends = false;        // a sent activation is sharded over tp and gathered after (Megatron-LM)
  bool copiesSequence = false;      // tensors are [batch, sequence, ...]: values gathered along the sequence are copied
  bool replicatesEmbedding = false; // every tensor-parallel rank holds the whole embedding table
  double vocabularyMultiple = 1;    // the vocabulary is padded to a multiple of this times tp
  bool vocabularyParallelLoss = true;       // else logits are gathered on every tensor-parallel rank
  bool reduceScatterGradients = true;       // ZeRO-1: reduce-scatter; else all-reduce, then each uses its shard
  bool gatherParametersOncePerStep = false; // ZeRO-3: kept over micro-batches
  bool copiesShards = false;                // ZeRO-3: gathered parameters and their gradients pass through flat buffers
  bool reshardAfterForward = true;          // ZeRO-3: gathered again for backward
  bool reduceGradientsEveryMicroBatch = false; // ZeRO-2 and 3: no accumulation of whole gradients
  bool fusedExperts = false; // gate and quantization inside the grouped matmuls, copies made by the exchange
  bool separateExpertBiases =
      false;                    // the experts' last biases are added expert by expert, in f32, by kernels of their own
  bool clampedGate = false;     // both inputs of the experts' gate are clamped and put together by kernels of their own
  bool nodeDispatch = false;    // a token travels once to each unit (node) that holds some of its experts
  bool eagerExperts = false;    // with recorded graphs: experts and their exchange are launched one by one
  bool capacityExperts = false; // tokens over a fixed capacity are dropped; else dropless
  // Ops that backward always recomputes.
  bool recomputeStopsEarly = false;        // a recomputed layer ends with the last value that backward reads
  bool recomputeNorms = false;             // outputs of norms
  bool recomputeLatentProjections = false; // queries, keys and values of latent attention out of their bottlenecks
  bool recomputeExpertActivation = false;  // outputs of the experts' gates
  // Memory.
  bool arena = false;             // memory as programs of PPC keep it, at fixed offsets (ArenaMemory.h)
  bool reportsAllocated = false;  // the reported peak is the tensors alone (torch.cuda.max_memory_allocated)
  bool offloadsLayers = false;    // activations leave for the host layer by layer (Transformer Engine); else by chunks
  bool keepsStageOutputs = false; // until backward, in addition to the next stage's copy
  double lowPrecisionGradientBytes = 0; // bytes per parameter of gradients that exist in addition to their accumulators
  double updateBytes = 0;               // per parameter of the own shard: copies that the update works on
  double extraBytes = 0;                // communicators and buffers beyond the memory of every framework
  double communicatorBytes = 0;         // bytes of a rank per communicator that it is a member of
  bool keepsResidualCopies =
      false; // inputs and outputs of each residual addition are saved, masks of no dropout included
  bool keepsGatheredSequence =
      false;                    // sequence parallelism: the gathered input of matmuls is saved, not gathered again
  bool gradientF32Copy = false; // once a step the whole gradient is also held in f32
  double fragmentation = 0.02;  // share of activations and workspace that the caching allocator cannot hand out again
  double bucketElements = 0;    // gradients are cast and reduced this many at a time; 0: all at once
  double memoryMargin = 0.02;   // share of a device's memory that plans leave free
};

/// The kernel where nothing names one: the stack's, or flash2 where the device has no flash3.
AttentionKernel defaultAttention(const Device &device, const Stack &stack);

/// Finds a stack of lib/CostModel/Stacks by name, or reads a YAML file of your own; a file whose `name` is one of those
/// changes that stack and keeps its other values. Errors: unknown name (lists the known ones), unknown switch, wrong
/// type, by line and column.
llvm::Expected<Stack> findStack(llvm::StringRef spelling);
llvm::Expected<Stack> parseStack(llvm::StringRef name, llvm::StringRef text);
std::vector<std::string> stackNames();

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_STACK_H
