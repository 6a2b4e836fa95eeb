// Export of a plan to files that other training programs read. A decision that the program does not support is an
// error; a decision that it makes differently, or that a plan does not have, is a comment in the file
// (docs/guide/Export.md).
#ifndef PPC_REPORTING_PLANEXPORT_H
#define PPC_REPORTING_PLANEXPORT_H

#include "ppc/Cluster/Cluster.h"
#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/Model/ModelConfig.h"
#include "ppc/Planning/FineTuning.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

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

/// A fact of a plan, its model or its job that the file of some target cannot express.
enum class Unsaid {
  Architecture,     // a model that the target does not have, or a part of one
  ModelFacts,       // sizes, router: they stand elsewhere
  UnknownFacts,     // facts that a model in MLIR does not have either
  Positions,        // their scaling
  EmbeddingFactor,  // on the rows of the embedding
  Activation,       // activation of a feed-forward without gate
  Router,           // how it weighs a token's experts and balances them
  PredictionLayers, // layers that do not exist, or not with some parallelism
  Data,             // data, tokenizer, learning rate, length of training
  DataParallelism,  // its degree
  Batches,          // micro-batches, sequence length
  Processes,        // how many, and where
  ZeroTwo,          // gradients sharded, parameters not
  Recompute,
  Context, // the kind of context parallelism
  Stages,  // layers of each stage
  Groups,  // on which kind of device a stage lies
  Attention,
  WideProducts,   // in f32 or tf32
  NarrowProducts, // which are in 8 or 4 bits
  Tuning          // adapters, frozen layers, packing, DPO, GRPO
};
constexpr int unsaidCount = int(Unsaid::Tuning) + 1;
/// Whether some file of the target has a comment about it.
bool commentsOn(ExportTarget target, Unsaid part);
/// Whether the target refuses some plans for it.
bool refuses(ExportTarget target, Unsaid part);
/// All of that as a table in Markdown (docs/guide/Export.md).
void printUnsaid(llvm::raw_ostream &out);

struct ExportInput {
  const ModelShape &model;
  const ModelConfig *config; // facts that a shape does not have; null: the model is not a config.json
  TrainingJob job;
  const ParallelLayout &layout; // `stageLayers` filled where pp x vp > 1
  int64_t devicesPerNode = 8;
  FineTuning tuning = {};
};

struct ExportedPlan {
  std::string text;             // text of the file
  std::vector<Unsaid> comments; // subjects of its comments, in their order
};

/// Errors: the target cannot be asked for a part of the layout, or does not have the model; they name it.
llvm::Expected<ExportedPlan> exportPlan(ExportTarget target, const ExportInput &input);

} // namespace mlir::ppc

#endif // PPC_REPORTING_PLANEXPORT_H
