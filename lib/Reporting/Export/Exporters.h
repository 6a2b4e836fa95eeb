// One function per target. Each returns the body of its file and notes what the body cannot say.
#ifndef PPC_LIB_REPORTING_EXPORT_EXPORTERS_H
#define PPC_LIB_REPORTING_EXPORT_EXPORTERS_H

#include "ppc/Reporting/PlanExport.h"

namespace mlir::ppc {

/// What stands above the body of one file.
class ExportNotes {
public:
  explicit ExportNotes(ExportTarget target) : target(target) {}
  /// The target must comment on the part (Unsaid.cpp). A sentence without a period.
  void comment(Unsaid part, const llvm::Twine &sentence);
  /// The target must refuse the part.
  llvm::Error refuse(Unsaid part, const llvm::Twine &message) const;

  const ExportTarget target;
  std::vector<Unsaid> parts;
  std::vector<std::string> sentences; // one per part
};

llvm::Expected<std::string> megatronArguments(const ExportInput &input, ExportNotes &notes);
llvm::Expected<std::string> megatronBridgeRecipe(const ExportInput &input, ExportNotes &notes);
llvm::Expected<std::string> torchtitanConfig(const ExportInput &input, ExportNotes &notes);
llvm::Expected<std::string> torchtitanToml(const ExportInput &input, ExportNotes &notes);
llvm::Expected<std::string> accelerateYaml(const ExportInput &input, ExportNotes &notes);
llvm::Expected<std::string> nanotronYaml(const ExportInput &input, ExportNotes &notes);
/// JSON has no comments: they are its last key.
llvm::Expected<std::string> deepSpeedJson(const ExportInput &input, ExportNotes &notes);

/// What Megatron-LM cannot say of a model, whatever the file; success: nothing.
llvm::Error checkMegatronModel(const ModelShape &model, const ExportNotes &notes);
/// Of targets whose files lay no stages on groups of devices.
void noteGroups(const ParallelLayout &layout, ExportNotes &notes);
/// Of targets whose files do not name the kernel of attention; `instead`: what decides it there.
void noteAttention(const ParallelLayout &layout, llvm::StringRef instead, ExportNotes &notes);
/// Of targets whose training script enables recomputation.
void noteScriptedRecompute(const ParallelLayout &layout, ExportNotes &notes);
/// Of targets whose training script loads the model.
void noteLoadedModel(const ModelShape &model, ExportNotes &notes);
/// Where products are in f32 or tf32.
void noteWideProducts(const ParallelLayout &layout, ExportNotes &notes);
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
  int64_t positions; // that 0.3.0 has of rotary positions, whatever is asked for
};
const TorchtitanModel *torchtitanModel(const ModelShape &model);
/// rope_theta of all flavors of its module, which no option changes.
int64_t ropeBase(const TorchtitanModel &model);

} // namespace mlir::ppc

#endif // PPC_LIB_REPORTING_EXPORT_EXPORTERS_H
