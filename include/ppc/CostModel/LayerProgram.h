// Ops that one rank executes for one layer and one micro-batch, with seconds, FLOPs and bytes: the common ground of
// layouts given by degrees (ppc-plan --evaluate), of layouts found by search, and of reports.
#ifndef PPC_COSTMODEL_LAYERPROGRAM_H
#define PPC_COSTMODEL_LAYERPROGRAM_H

#include "ppc/Cluster/Cluster.h"
#include "ppc/CostModel/CollectiveCost.h"
#include "ppc/CostModel/Ledger.h"
#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/CostModel/Stack.h"

#include <array>
#include <memory>

namespace mlir::ppc {

/// Resource that bounds an op; reports group by it.
enum class OpClass { Gemm, Attention, Stream, Communication };
llvm::StringRef toString(OpClass kind);

/// Whose collective a communication op is.
enum class OpGroup { Tensor, Context, Expert, ExpertTensor };
constexpr int opGroupCount = 4;

/// A collective in the code of a compiled program, for one micro-batch: a ledger entry without the number of runs of
/// its layer. The op's seconds are computed from it.
struct LayerTransfer {
  /// ForWeights: in backward, for the gradients of weights. Again: of a value that forward had already and did not
  /// keep.
  enum class When { Forward, Backward, ForWeights, Again, AgainForWeights };
  When when = When::Forward;
  TransferKind kind = TransferKind::AllReduce;
  int64_t ranks = 1, stride = 1; // the members of the group
  int64_t elementBits = 32, elements = 0, calls = 1;
  int64_t outerRanks = 1, outerStride = 1; // where the group has two axes that do not continue each other

  MemberSet members() const {
    MemberSet set(ranks, stride);
    set.add(outerRanks, outerStride);
    return set;
  }
};

/// A matmul in the code of a compiled program, for one micro-batch: its seconds and its ledger entry are functions of
/// it alone.
struct LayerProduct {
  enum class When { Forward, Backward, WeightGradient };
  When when = When::Forward;
  Precision precision = Precision::F32; // asked for
  GemmShape shape;
  int64_t groups = 0;  // experts that share shape.m rows evenly in one call; 0: no experts
  int64_t skipped = 0; // multiply-adds of a batch that are not done: of pairs of a query and a key that a mask hides
  int64_t calls = 1;
  int64_t readLater = 0; // columns of keys and values among shape.n: those of a slice stay for later slices

  /// FLOPs of one call.
  int64_t flops() const { return 2 * shape.batch * (shape.m * shape.n * shape.k - skipped); }
};

struct LayerOp {
  llvm::StringRef name; // "qkv projection"; static storage
  OpClass kind = OpClass::Stream;
  OpGroup group = OpGroup::Tensor;           // for communication
  Seconds forward, backward, weightGradient; // device (or link) time per micro-batch
  Seconds forwardLink, backwardLink; // for communication: time of the full exchange, with the part that overlaps with
                                     // compute
  Seconds forwardCut, backwardCut;   // time of a matmul in tp chunks, two at a time, if the stack chunks it; else
                                     // unchunked
  int forwardKernels = 1, backwardKernels = 1;
  Flops flops;                // FLOPs of forward, on this rank
  double passes = 3;          // how often these are done without recomputation: forward, input and weight gradient
  Bytes traffic;              // bytes of forward: memory for compute, link for communication
  Bytes saved;                // kept from forward to backward
  Bytes weightOperands;       // operands of the weight gradient: the input and the gradient of the output
  Bytes weightInputs;         // input among them
  Seconds gatheredAgain;      // in backward: all-gather of a value of which `saved` is a part; not when the layer is
                              // recomputed
  bool attentionCore = false; // recomputed with Recompute::Selective
  bool recomputed = false;    // a module that the stack always recomputes; `saved` is what it still saves
  bool unrecorded = false;    // launched one by one where graphs record the rest
  bool leavesUnit = false;    // communication through network adapters
  bool byExpert = false;      // its time depends on the sharding of experts, not only on their number of rows
  // Entries of compiled programs for their accounting.
  llvm::SmallVector<LayerTransfer, 0> transfers;
  llvm::SmallVector<LayerProduct, 0> products;
  bool endsLayer = false; // backward reads no part of it: it is not recomputed with its layer
};

/// Ranks over which gradients are summed, in compiled programs: of the shard group, of its copies, of a
/// context-parallel group; and tensor-parallel ranks (CompiledState.cpp). Sums count elements of all parameter tensors
/// on one rank, padding included, added up over layers.
struct SumMembers {
  bool copies = false, shards = false, ofExperts = false;
  bool outer = false; // gradients are sharded over a part of the shard group: `shards` is that part, and this the rest
  bool sequence = false;
  int tensor = 0; // which tensor-parallel ranks
  bool operator==(const SumMembers &other) const {
    return copies == other.copies && shards == other.shards && ofExperts == other.ofExperts && outer == other.outer &&
           sequence == other.sequence && tensor == other.tensor;
  }
};
/// A collective over them: elements of all blocks.
struct PlannedSum {
  TransferKind kind;
  SumMembers members;
  double elements = 0;
};

struct GradientSums {
  double reduced = 0;           // gradients summed over the data-parallel ranks
  double reducedBefore = 0;     // over those with other batches, before the gradient of a parameter is made of them
  double reducedOverTensor = 0; // over these and all tensor-parallel ranks
  double reducedOverShared = 0; // over these and the ranks of a shared key-value head
  double reducedOverHeads = 0;  // over these and the ranks that do not
  double scattered = 0;         // reduce-scattered over the data-parallel ranks (ZeRO-1), all blocks
  // For parameters that all tensor-parallel ranks hold alike and update together: over these, and over all ranks of a
  // stage.
  double reducedInTensor = 0, scatteredInTensor = 0, gatheredInTensor = 0;
  double scatteredOverTensor = 0, gatheredOverTensor = 0, gatheredOverData = 0;
  double reducedOfExperts = 0, scatteredOfExperts = 0; // gradients of experts, over the ranks that hold the same ones
  llvm::SmallVector<PlannedSum, 0> planned;            // if the sharded state has copies; of learned positions

  GradientSums &add(const GradientSums &other, double times) {
    for (double GradientSums::*size :
         {&GradientSums::reduced, &GradientSums::reducedBefore, &GradientSums::reducedOverTensor,
          &GradientSums::reducedOverShared, &GradientSums::reducedOverHeads, &GradientSums::scattered,
          &GradientSums::reducedInTensor, &GradientSums::scatteredInTensor, &GradientSums::gatheredInTensor,
          &GradientSums::scatteredOverTensor, &GradientSums::gatheredOverTensor, &GradientSums::gatheredOverData,
          &GradientSums::reducedOfExperts, &GradientSums::scatteredOfExperts})
      this->*size += times * (other.*size);
    for (const PlannedSum &sum : other.planned)
      addPlanned(sum.kind, sum.members, times * sum.elements);
    return *this;
  }
  void addPlanned(TransferKind kind, const SumMembers &members, double elements) {
    for (PlannedSum &sum : planned)
      if (sum.kind == kind && sum.members == members) {
        sum.elements += elements;
        return;
      }
    planned.push_back({kind, members, elements});
  }
};

/// Elements of parameters, all blocks, that are all-gathered: in f32 after the update, or cast to bf16 before the first
/// micro-batch; with ZeRO-3 for forward and for backward of each micro-batch, in f32 and in bf16. `again`: in f32, by
/// backward if a layer is recomputed, in addition. If the blocks that ranks store are not parts of the update's blocks,
/// the update reads blocks that other ranks store, and gathers its results over the shard group.
struct ParameterGathers {
  double updated = 0, rounded = 0, readByUpdate = 0, updatedByAll = 0, roundedByAll = 0;
  double forward = 0, forwardRounded = 0, backward = 0, backwardRounded = 0, again = 0;

  ParameterGathers &add(const ParameterGathers &other, double times) {
    for (double ParameterGathers::*size :
         {&ParameterGathers::updated, &ParameterGathers::rounded, &ParameterGathers::readByUpdate,
          &ParameterGathers::updatedByAll, &ParameterGathers::roundedByAll, &ParameterGathers::forward,
          &ParameterGathers::forwardRounded, &ParameterGathers::backward, &ParameterGathers::backwardRounded,
          &ParameterGathers::again})
      this->*size += times * (other.*size);
    return *this;
  }
};

/// Sums over everything that is exchanged and stored in a step.
struct StateSizes {
  GradientSums once, each;                    // after the last micro-batch; in each micro-batch (gradients that ZeRO-2
                                              // shards)
  ParameterGathers gathers, gathersOfExperts; // over the data-parallel ranks; over those that hold the same experts
  double parameters = 0, states = 0, gradients = 0; // held, in f32: gradients with their accumulators
  double prepared = 0;                              // held, rounded

  /// Number of tensors whose gradient is sharded over exactly that set of axes, as bits (CompiledState.cpp).
  std::array<double, 32> tensorsCutOver = {};

  StateSizes &add(const StateSizes &other, double times) {
    for (size_t axes = 0; axes < tensorsCutOver.size(); ++axes)
      tensorsCutOver[axes] += times * other.tensorsCutOver[axes];
    once.add(other.once, times);
    each.add(other.each, times);
    gathers.add(other.gathers, times);
    gathersOfExperts.add(other.gathersOfExperts, times);
    for (double StateSizes::*size :
         {&StateSizes::parameters, &StateSizes::states, &StateSizes::gradients, &StateSizes::prepared})
      this->*size += times * (other.*size);
    return *this;
  }
};

/// One layer (or the embedding, or the head) on one rank.
struct LayerProgram {
  llvm::SmallVector<LayerOp, 40> ops;
  Bytes input;                      // the activation that enters, as kept under full recompute
  double parameters = 0;            // dense elements on this rank
  double expertParameters = 0;      // expert elements on this rank
  double roundedParameters = 0;     // with arenas: elements that matmuls read, cast if they read less than f32
  double f32Parameters = 0;         // with arenas: dense elements that are read as they are; tied embeddings are both
  bool recomputeStopsEarly = false; // as the stack says
  size_t meeting = 0;      // the op before which the host waits for the device, for sizes that it computed; 0: none
  Bytes backwardWorkspace; // largest temporaries besides saved activations

  Seconds forward() const;
  Seconds backward() const; // without the weight gradient
  Seconds weightGradient() const;
  /// Time of partial recomputation in backward: attention scores with `selective`, and the modules of the stack.
  Seconds recomputePartial(bool selective) const;
  /// Time to recompute the full layer, or up to the last value that backward reads, without gathers that it then saves.
  Seconds recomputeFull() const;
  Seconds communication() const;      // exposed, of forward
  Seconds communicationAgain() const; // part of that which is repeated if the full layer is recomputed
  Bytes saved() const;
  Bytes savedSelective() const;
  Bytes weightOperands() const; // bytes that wait for deferred weight gradients
  Bytes weightInputs() const;   // part of that which forward made
  /// Kernels that the host launches one by one: all, or with `recorded` those that graphs do not hold.
  int forwardKernels(bool recorded = false) const, backwardKernels(bool recorded = false) const;
};

/// Inputs of the builders of layer programs. Refers to objects that the caller owns for the time of the call.
struct PricingContext {
  const ModelShape &model;
  const TrainingJob &job;
  const Cluster &cluster;
  const ParallelLayout &layout;
  Stack stack;    // as it works in the layout's precision
  int64_t slices; // slices that the schedule splits a sequence into; each runs separately
  /// Bytes that two stages exchange per micro-batch if the model is not a transformer; std::nullopt: its residual
  /// stream.
  std::optional<Bytes> message;
  bool isTransformer = true; // layers belong to `model`, tensor by tensor
  GroupPlacement tensorGroup, contextGroup, expertGroup, expertTensorGroup;

  PricingContext(const ModelShape &model, const TrainingJob &job, const Cluster &cluster, const ParallelLayout &layout,
                 const Stack &stack, int64_t slices = 1);
  /// Context for a layout of the same degrees and precision, whose state may be kept differently.
  PricingContext(const PricingContext &like, const ParallelLayout &layout);
  const Device &device() const { return cluster.device(); }
  /// Whether gradients are sharded while micro-batches add to them, so each micro-batch's are reduced at once (ZeRO-2
  /// and 3 of stacks that do so).
  bool reducesEveryMicroBatch() const {
    return layout.zero >= 2 && layout.gradientGroup != 1 && stack.reduceGradientsEveryMicroBatch &&
           layout.microBatches(job) > 1;
  }
  /// Activations leave for the host: chunk by chunk in pipelines, layer by layer where the stack does so.
  bool copiesActivations() const {
    return layout.copiesActivations() || (stack.offloadsLayers && layout.offload == Offload::Activations);
  }
  /// Bytes of a parameter as it is kept and gathered.
  double weightBytes() const {
    return stack.frozenBits < 16 ? stack.frozenBits / 8 : layout.precision == Precision::F32 ? 4 : 2;
  }
  /// Bytes per element of a parameter that ZeRO-3 gathers.
  double wireBytes() const { return stack.frozenBits < 16 ? stack.frozenBits / 8 : 2 * activationScale(); }
  /// Rows of the embedding and columns of the logits that there are: of every tensor-parallel rank together.
  double paddedVocabulary() const;
  /// Layers are written down in bytes of 16-bit activations; in f32 and tf32 there are twice as many.
  double activationScale() const { return elementBytes(layout.precision) >= 4 ? 2 : 1; }
  /// An element of the residual stream, of sums over tensor-parallel ranks and of messages, before activationScale.
  double streamBytes() const { return stack.residualF32 ? 4 / activationScale() : 2; }
  /// Precision of matmuls of two activations: 16 bits, or f32.
  Precision activationPrecision() const {
    return elementBytes(layout.precision) >= 4 ? layout.precision : Precision::Bf16;
  }
};

/// Time of a collective of a compiled program, all calls together: a function of its entry alone.
Seconds transferTime(const PricingContext &context, const TransferRow &row);
/// Time of a matmul, all calls together: a function of it alone.
Seconds productTime(const Device &device, const LayerProduct &product);
/// The row of a layer's transfer, of one micro-batch.
TransferRow rowOf(const LayerTransfer &transfer);

/// Adapts a complete program to frozen weights (fine-tuning): adapters instead of weight gradients, weights that are
/// widened before use, layers that backward does not reach. Does nothing if every weight is trained.
void freezeWeights(const PricingContext &context, LayerProgram &program, bool isLayer);

LayerProgram buildEmbedding(const PricingContext &context);
/// `layer` chooses between dense and expert feed-forward, and the sliding window.
LayerProgram buildLayer(const PricingContext &context, int64_t layer);
/// Final norm, logits, loss.
LayerProgram buildHead(const PricingContext &context);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_LAYERPROGRAM_H
