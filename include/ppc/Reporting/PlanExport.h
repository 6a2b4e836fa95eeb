// A plan in the words of other training programs: files that these programs read. What one of them cannot be asked for
// is an error; what it does otherwise than the plan, or what is no part of a plan, stands as a comment in the file
// (docs/Planning.md, Writing plans).
#ifndef PPC_REPORTING_PLANEXPORT_H
#define PPC_REPORTING_PLANEXPORT_H

#include "ppc/Cluster/Cluster.h"
#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/Model/ModelConfig.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace mlir::ppc {

enum class ExportTarget { Megatron, MegatronBridge, Torchtitan, TorchtitanToml, DeepSpeed, Accelerate, Nanotron };
constexpr int exportTargetCount = 7;
/// As --emit spells it: "megatron", "megatron-bridge", "torchtitan", "torchtitan-0.2.2", "deepspeed", "accelerate",
/// "nanotron".
llvm::StringRef toString(ExportTarget target);
/// The stack whose limits hold for it (ppc/Planning/TrainingSoftware.h): "megatron-core".
llvm::StringRef stackOf(ExportTarget target);

struct ExportInput {
  const ModelShape &model;
  const ModelConfig *config; // what a shape does not say; null: the model is no config.json
  TrainingJob job;
  const ParallelLayout &layout; // `stageLayers` filled where pp x vp > 1
  int64_t devicesPerNode = 8;
  std::string tuning = {}; // "LoRA of rank 16": what is planned and no key here says; empty: training of every weight
};

/// The file. Errors: the target cannot be asked for a part of the layout, or does not have the model; they name it.
llvm::Expected<std::string> exportPlan(ExportTarget target, const ExportInput &input);

} // namespace mlir::ppc

#endif // PPC_REPORTING_PLANEXPORT_H
