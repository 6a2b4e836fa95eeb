#include "ppc/Planning/FineTuning.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir::ppc;

template <typename... Values> static llvm::Error refuse(const char *format, Values &&...values) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Values>(values)...).str());
}

llvm::Error mlir::ppc::verifyTuning(const FineTuning &tuning, const ModelShape &model, const TrainingJob &job,
                                    const Stack &stack) {
  if (!tuning.isAny())
    return llvm::Error::success();
  if (stack.arena)
    return refuse("programs of stack {0} train every weight on next tokens; --stack says whose fine-tuning is planned",
                  stack.name);
  if (tuning.baseBits != 16 && !tuning.adapterRank)
    return refuse("frozen weights of {0} bits need adapters: give --lora", tuning.baseBits);
  if (tuning.adapterRank && tuning.frozenLayers)
    return refuse("adapters leave every weight frozen: --lora and --freeze-layers exclude each other");
  if (tuning.adapterRank > std::min(model.hidden, model.ffn))
    return refuse("adapters of rank {0} are wider than the model ({1})", tuning.adapterRank,
                  std::min(model.hidden, model.ffn));
  if (tuning.frozenLayers >= model.layers)
    return refuse("{0} of {1} layers frozen leave none to train", tuning.frozenLayers, model.layers);
  if (tuning.packedLength > job.sequence)
    return refuse("documents of {0} tokens do not fit into sequences of {1}", tuning.packedLength, job.sequence);
  if (tuning.objective == Objective::Dpo && job.globalBatch % 2)
    return refuse("DPO trains pairs of sequences; the global batch of {0} is odd", job.globalBatch);
  if (tuning.objective == Objective::Grpo && (tuning.promptLength < 1 || tuning.promptLength >= job.sequence))
    return refuse("GRPO generates what follows a prompt of --prompt-length tokens: expected 1 to {0}, found {1}",
                  job.sequence - 1, tuning.promptLength);
  return llvm::Error::success();
}

std::string mlir::ppc::tuningText(const FineTuning &tuning) {
  std::vector<std::string> parts;
  if (tuning.adapterRank)
    parts.push_back(llvm::formatv("LoRA of rank {0}", tuning.adapterRank).str() +
                    (tuning.baseBits < 16 ? llvm::formatv(" on base weights of {0} bits", tuning.baseBits).str() : ""));
  if (tuning.frozenLayers)
    parts.push_back(llvm::formatv("the first {0} layers frozen", tuning.frozenLayers).str());
  if (tuning.packedLength)
    parts.push_back(llvm::formatv("documents of {0} tokens packed", tuning.packedLength).str());
  if (tuning.objective != Objective::NextToken)
    parts.push_back(tuning.objective == Objective::Dpo ? "DPO" : "GRPO");
  return llvm::join(parts, ", ");
}

/// An adapter of rank r beside a product of n columns and k rows has r (n + k) elements.
static double adapterElements(const ModelShape &model, int64_t layer, int64_t rank) {
  double hidden = double(model.hidden), sum = 0;
  auto beside = [&](double n, double k) { sum += n + k; };
  double heads = double(model.heads);
  if (const LatentAttention &latent = model.latent) {
    double query = latent.queryRank ? double(latent.queryRank) : hidden;
    if (latent.queryRank)
      beside(query, hidden);
    beside(heads * double(model.queryHeadDim()), query);
    beside(double(latent.keyValueRank + latent.ropeHeadDim), hidden);
    beside(heads * double(latent.nopeHeadDim + latent.valueHeadDim), double(latent.keyValueRank));
    beside(hidden, heads * double(latent.valueHeadDim));
  } else {
    beside(heads * double(model.headDim), hidden);
    beside(double(model.kvHeads * model.headDim), hidden);
    beside(double(model.kvHeads * model.headDim), hidden);
    beside(hidden, heads * double(model.headDim));
  }
  // Of expert layers the shared part only: routed experts stay as they are.
  double width = model.hasExperts(layer) ? double(model.moe.sharedFfn) : double(model.ffn);
  if (width > 0)
    for (int i = 0; i < (model.gated ? 3 : 2); ++i)
      beside(width, hidden);
  return double(rank) * sum;
}

double mlir::ppc::trainedParameters(const FineTuning &tuning, const ModelShape &model) {
  double trained = 0;
  if (tuning.adapterRank) {
    for (int64_t layer = 0; layer < model.layers; ++layer)
      trained += adapterElements(model, layer, tuning.adapterRank);
    return trained;
  }
  ParameterCounts all = countParameters(model);
  trained = double(all.total);
  if (tuning.frozenLayers) {
    trained -= double(model.tiedEmbeddings ? 0 : all.embedding);
    for (int64_t layer = 0; layer < tuning.frozenLayers; ++layer)
      trained -= double(countLayerParameters(model, layer).total);
  }
  return trained;
}

void mlir::ppc::applyTuning(const FineTuning &tuning, const TrainingJob &job, ModelShape &model, Stack &stack,
                            PlanConstraints &constraints) {
  if (!tuning.isAny())
    return;
  double share = trainedParameters(tuning, model) / double(countParameters(model).total);
  // Bytes per element of the whole model, of state that only trained elements have.
  for (double Stack::*bytes :
       {&Stack::gradientBytes, &Stack::gradientReduceBytes, &Stack::fp16GradientBytes, &Stack::masterBytes,
        &Stack::momentBytes, &Stack::lowPrecisionGradientBytes, &Stack::updateBytes})
    stack.*bytes *= share;
  stack.trainedShare = share;
  if (tuning.adapterRank) {
    stack.adapterRank = tuning.adapterRank;
    stack.frozenBits = double(tuning.baseBits);
  }
  if (tuning.frozenLayers) {
    stack.backwardShare = double(model.layers - tuning.frozenLayers) / double(model.layers);
    (void)constraints.forbid("pp");
  }
  // Beside adapters the reference is the policy without them.
  if (tuning.objective != Objective::NextToken && !tuning.adapterRank)
    stack.referenceBytes = 2;
  // A query meets the keys of its own document before it, (m + 1) / 2 on average: as many as in a window of that width.
  if (tuning.packedLength && tuning.packedLength < job.sequence) {
    int64_t window = (tuning.packedLength + 1) / 2;
    model.slidingWindow = model.slidingWindow ? std::min(model.slidingWindow, window) : window;
    model.slidingWindowEvery = 1;
  }
}
