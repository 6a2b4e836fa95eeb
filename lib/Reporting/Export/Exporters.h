// One function per target. Each returns the body of its file and adds to `comments` what the body cannot say.
#ifndef PPC_LIB_REPORTING_EXPORT_EXPORTERS_H
#define PPC_LIB_REPORTING_EXPORT_EXPORTERS_H

#include "ppc/Reporting/PlanExport.h"

namespace mlir::ppc {

using ExportComments = std::vector<std::string>; // one sentence each

llvm::Expected<std::string> megatronArguments(const ExportInput &input, ExportComments &comments);
llvm::Expected<std::string> megatronBridgeRecipe(const ExportInput &input, ExportComments &comments);
llvm::Expected<std::string> torchtitanConfig(const ExportInput &input, ExportComments &comments);
llvm::Expected<std::string> torchtitanToml(const ExportInput &input, ExportComments &comments);
llvm::Expected<std::string> accelerateYaml(const ExportInput &input, ExportComments &comments);
llvm::Expected<std::string> nanotronYaml(const ExportInput &input, ExportComments &comments);
/// JSON has no comments: they are its last key.
llvm::Expected<std::string> deepSpeedJson(const ExportInput &input, ExportComments &comments);

/// What Megatron-LM cannot say of a model, whatever the file; success: nothing.
llvm::Error checkMegatronModel(const ModelShape &model);
/// "Et*8|t*8|...|t*7L" of layers per virtual stage: E the embedding, t a layer, m a prediction layer, L the loss.
std::string megatronPipelineLayout(llvm::ArrayRef<int64_t> counts, int64_t predictionLayers);
bool isEven(llvm::ArrayRef<int64_t> stageLayers);

/// Ranks that torchtitan and Accelerate count as replicas and as shards: context-parallel ranks are apart from both.
struct DataDegrees {
  int64_t replicate = 1, shard = 1;
};
DataDegrees dataDegrees(const ParallelLayout &layout);
/// PyTorch's name of a pipeline schedule.
llvm::StringRef torchSchedule(llvm::StringRef schedule);
/// [["tok_embeddings", "layers.0"], ...] with `last` behind the last layer, as TOML, JSON and Python spell it.
std::string torchStages(llvm::ArrayRef<int64_t> counts, llvm::ArrayRef<llvm::StringRef> last);
/// A model of torchtitan's: `module` "llama3", `flavor` "8B", `base` a function of its config_registry; null: it has
/// none of these sizes.
struct TorchtitanModel {
  llvm::StringLiteral module, flavor, base;
  int64_t layers, hidden, experts;
};
const TorchtitanModel *torchtitanModel(const ModelShape &model);

} // namespace mlir::ppc

#endif // PPC_LIB_REPORTING_EXPORT_EXPORTERS_H
