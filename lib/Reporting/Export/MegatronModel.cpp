// What Megatron-LM's arguments and Megatron-Bridge's recipes say alike.
#include "Exporters.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

llvm::Error mlir::ppc::checkMegatronModel(const ModelShape &model, const ExportNotes &notes) {
  const char *part = nullptr;
  if (model.position == PositionKind::Alibi)
    part = "ALiBi positions";
  else if (model.embeddingNorm)
    part = "a norm behind the embedding";
  else if (model.parallelResidual)
    part = "attention and feed-forward side by side (parallel residual)";
  else if (model.gated && model.activation != ActivationKind::Silu)
    part = "a gated feed-forward other than SwiGLU";
  else if (!model.gated && model.activation == ActivationKind::Silu)
    part = "SiLU without a gate";
  else if (model.ffnBias != model.outputBias)
    part = "biases in only one of feed-forward and attention's output";
  else if (model.index)
    part = "the index branch of sparse attention";
  if (part)
    return notes.refuse(Unsaid::Architecture,
                        llvm::formatv("Megatron-LM has no argument for {0}, which {1} has", part, model.name).str());
  return llvm::Error::success();
}

std::string mlir::ppc::megatronPipelineLayout(llvm::ArrayRef<int64_t> counts, int64_t predictionLayers) {
  auto repeat = [](char what, int64_t count) {
    return count == 0 ? "" : count == 1 ? std::string(1, what) : std::string(1, what) + "*" + std::to_string(count);
  };
  std::string text = "E";
  for (size_t i = 0; i < counts.size(); ++i)
    text += (i ? "|" : "") + repeat('t', counts[i]);
  return text + repeat('m', predictionLayers) + "L";
}
