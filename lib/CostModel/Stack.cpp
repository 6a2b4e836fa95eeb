#include "ppc/CostModel/Stack.h"

#include "ppc/Support/Spelling.h"
#include "ppc/Support/YamlReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::ppc;

namespace {
struct EmbeddedFile {
  const char *name, *contents;
};
constexpr EmbeddedFile embedded[] = {
#include "Stacks.inc"
};
} // namespace

/// What holds where a file says nothing else. An interpreter launches each op as a kernel; what its caching allocator
/// cannot hand out again and what communicators and libraries take is as BLOOM's runs have it (megatron-deepspeed),
/// which the other eager frameworks with figures of whole devices agree with (docs/performance/accuracy.md).
static void setDefaults(Stack &stack) {
  if (stack.execution != Execution::Eager)
    return;
  stack.fusedRotary = stack.fusedActivation = stack.fusedResidual = stack.fusedGradientAccumulation = false;
  stack.fragmentation = 0.24;
  stack.extraBytes = 4e9;
  stack.memoryMargin = 0.06;
}

static llvm::Expected<Stack> readStack(llvm::StringRef name, llvm::Expected<YamlReader> reader,
                                       bool changesKnown = false) {
  if (!reader)
    return reader.takeError();
  Stack stack;
  stack.name = reader->string("name", name.str());
  bool isKnown = false;
  if (changesKnown)
    for (const EmbeddedFile &file : embedded)
      if (stack.name == file.name) {
        llvm::Expected<Stack> known = parseStack(file.name, file.contents);
        if (!known)
          return known.takeError();
        stack = std::move(*known);
        isKnown = true;
      }
  stack.software = reader->string("software", stack.software);
  stack.execution =
      static_cast<Execution>(reader->choice("execution", {"eager", "compiled", "graphs"}, size_t(stack.execution)));
  if (!isKnown)
    setDefaults(stack);
  stack.stageSplit = static_cast<StageSplit>(reader->choice(
      "stage_split", {"layers", "modules", "embedding-as-layer", "full-layers", "later-layers", "balanced"},
      size_t(stack.stageSplit)));
  stack.attention = static_cast<AttentionKernel>(
      reader->choice("attention", {"unfused", "fused-softmax", "flash1", "flash2", "flash3", "cudnn", "flash1-triton"},
                     size_t(stack.attention)));
  struct {
    const char *key;
    bool Stack::*field;
  } switches[] = {
      {"fused_rotary", &Stack::fusedRotary},
      {"fused_activation", &Stack::fusedActivation},
      {"fused_residual", &Stack::fusedResidual},
      {"fused_loss", &Stack::fusedLoss},
      {"fused_gradient_accumulation", &Stack::fusedGradientAccumulation},
      {"attention_of_products", &Stack::attentionOfProducts},
      {"residual_f32", &Stack::residualF32},
      {"logits_f32", &Stack::logitsF32},
      {"arena", &Stack::arena},
      {"overlap_gradient_reduction", &Stack::overlapGradientReduction},
      {"reduces_in_buckets", &Stack::reducesInBuckets},
      {"overlap_parameter_gather", &Stack::overlapParameterGather},
      {"parameter_broadcasts", &Stack::parameterBroadcasts},
      {"launch_blocking", &Stack::launchBlocking},
      {"async_tensor_backward", &Stack::asyncTensorBackward},
      {"reduces_input_gradients_apart", &Stack::reducesInputGradientsApart},
      {"overlap_tensor_parallel", &Stack::overlapTensorParallel},
      {"overlap_experts", &Stack::overlapExperts},
      {"blocking_sends", &Stack::blockingSends},
      {"fitted_schedules", &Stack::fittedSchedules},
      {"validates_update_afterwards", &Stack::validatesUpdateAfterwards},
      {"scatter_gather_sends", &Stack::scatterGatherSends},
      {"copies_sequence", &Stack::copiesSequence},
      {"loss_in_16_bits", &Stack::lossIn16Bits},
      {"replicates_embedding", &Stack::replicatesEmbedding},
      {"vocabulary_parallel_loss", &Stack::vocabularyParallelLoss},
      {"reduce_scatter_gradients", &Stack::reduceScatterGradients},
      {"gather_parameters_once_per_step", &Stack::gatherParametersOncePerStep},
      {"copies_shards", &Stack::copiesShards},
      {"reshard_after_forward", &Stack::reshardAfterForward},
      {"causal_softmax", &Stack::causalSoftmax},
      {"reduce_gradients_every_micro_batch", &Stack::reduceGradientsEveryMicroBatch},
      {"reports_allocated", &Stack::reportsAllocated},
      {"offloads_layers", &Stack::offloadsLayers},
      {"keeps_stage_outputs", &Stack::keepsStageOutputs},
      {"keeps_residual_copies", &Stack::keepsResidualCopies},
      {"keeps_gathered_sequence", &Stack::keepsGatheredSequence},
      {"fused_experts", &Stack::fusedExperts},
      {"separate_expert_biases", &Stack::separateExpertBiases},
      {"clamped_gate", &Stack::clampedGate},
      {"node_dispatch", &Stack::nodeDispatch},
      {"eager_experts", &Stack::eagerExperts},
      {"capacity_experts", &Stack::capacityExperts},
      {"recompute_stops_early", &Stack::recomputeStopsEarly},
      {"recompute_norms", &Stack::recomputeNorms},
      {"recompute_latent_projections", &Stack::recomputeLatentProjections},
      {"recompute_expert_activation", &Stack::recomputeExpertActivation},
      {"gradient_f32_copy", &Stack::gradientF32Copy},
  };
  for (auto &entry : switches)
    stack.*entry.field = reader->boolean(entry.key, stack.*entry.field);
  stack.vocabularyMultiple = reader->number("vocabulary_multiple", 1, 65536, stack.vocabularyMultiple);
  stack.gradientBytes = reader->number("gradient_bytes", 1, 8, stack.gradientBytes);
  stack.gradientReduceBytes = reader->number("gradient_reduce_bytes", 1, 8, stack.gradientReduceBytes);
  stack.masterBytes = reader->number("master_bytes", 0, 8, stack.masterBytes);
  stack.momentBytes = reader->number("moment_bytes", 0, 16, stack.momentBytes);
  stack.lowPrecisionGradientBytes =
      reader->number("low_precision_gradient_bytes", 0, 8, stack.lowPrecisionGradientBytes);
  stack.fp16GradientBytes = reader->number("fp16_gradient_bytes", 0, 8, stack.fp16GradientBytes);
  stack.fragmentation = reader->number("fragmentation", 0, 1, stack.fragmentation);
  stack.updateBytes = reader->number("update_bytes", 0, 32, stack.updateBytes);
  stack.extraBytes = reader->number("extra_bytes", 0, 1e11, stack.extraBytes);
  stack.communicatorBytes = reader->number("communicator_bytes", 0, 1e10, stack.communicatorBytes);
  stack.hostLaunch = reader->number("host_launch", 0, 1000, stack.hostLaunch);
  stack.memoryMargin = reader->number("memory_margin", 0, 0.9, stack.memoryMargin);
  stack.bucketElements = reader->number("bucket_elements", 0, 1e12, stack.bucketElements);
  reader->finish();
  if (llvm::Error error = reader->takeError())
    return std::move(error);
  return stack;
}

AttentionKernel mlir::ppc::defaultAttention(const Device &device, const Stack &stack) {
  bool hasFlash3 = device.attention[static_cast<int>(FusedAttention::Flash3)].forward[0] > 0;
  return stack.attention == AttentionKernel::Flash3 && !hasFlash3 ? AttentionKernel::Flash2 : stack.attention;
}

llvm::Expected<Stack> mlir::ppc::parseStack(llvm::StringRef name, llvm::StringRef text) {
  return readStack(name, YamlReader::fromText(name, text));
}

std::vector<std::string> mlir::ppc::stackNames() {
  std::vector<std::string> names;
  for (const EmbeddedFile &file : embedded)
    names.push_back(file.name);
  return names;
}

llvm::Expected<Stack> mlir::ppc::findStack(llvm::StringRef spelling) {
  for (const EmbeddedFile &file : embedded)
    if (spelling == file.name)
      return parseStack(file.name, file.contents);
  if (spelling.ends_with(".yaml") || spelling.ends_with(".yml"))
    return readStack(spelling, YamlReader::fromFile(spelling), /*changesKnown=*/true);
  return llvm::createStringError("unknown stack '" + spelling + "'; known are " + llvm::join(stackNames(), ", ") +
                                 ", or a file ending in .yaml" + didYouMean(spelling, stackNames()));
}
