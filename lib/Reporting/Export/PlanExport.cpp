#include "Exporters.h"

#include "ppc/Planning/TrainingSoftware.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

namespace {
struct Target {
  llvm::StringLiteral name, stack, use;
  llvm::Expected<std::string> (*write)(const ExportInput &input, ExportNotes &notes);
};
} // namespace

static constexpr Target targets[exportTargetCount] = {
    {"megatron", "megatron-core",
     "arguments of Megatron-LM's pretrain_gpt.py: source this file, then torchrun ... pretrain_gpt.py "
     "\"${MEGATRON_ARGS[@]}\"",
     megatronArguments},
    {"megatron-bridge", "megatron-core", "recipe of Megatron-Bridge: a function that returns its ConfigContainer",
     megatronBridgeRecipe},
    {"torchtitan", "torchtitan",
     "configuration of torchtitan 0.3.0: put this file on PYTHONPATH as ppc_plan.py, then --module ppc_plan --config "
     "ppc_plan",
     torchtitanConfig},
    {"torchtitan-0.2.2", "torchtitan", "configuration of torchtitan 0.2.2: --job.config_file", torchtitanToml},
    {"deepspeed", "deepspeed", "configuration of DeepSpeed", deepSpeedJson},
    {"accelerate", "fsdp", "configuration of Accelerate: accelerate launch --config_file", accelerateYaml},
    {"nanotron", "nanotron", "configuration of nanotron: run_train.py --config-file", nanotronYaml},
};

llvm::StringRef mlir::ppc::toString(ExportTarget target) { return targets[int(target)].name; }
llvm::StringRef mlir::ppc::stackOf(ExportTarget target) { return targets[int(target)].stack; }

bool mlir::ppc::isEven(llvm::ArrayRef<int64_t> stageLayers) { return llvm::all_equal(stageLayers); }

DataDegrees mlir::ppc::dataDegrees(const ParallelLayout &layout) {
  int64_t shard = layout.zero == 0    ? 1
                  : layout.shardGroup ? std::max<int64_t>(1, layout.shardGroup / layout.cp)
                                      : layout.dp;
  return {layout.dp / shard, shard};
}

void mlir::ppc::noteGroups(const ParallelLayout &layout, ExportNotes &notes) {
  if (!llvm::all_equal(layout.stageGroups))
    notes.comment(Unsaid::Groups,
                  "stages on groups of different devices: start the ranks of each stage on the devices of its "
                  "group; nothing here selects them");
}

void mlir::ppc::noteAttention(const ParallelLayout &layout, llvm::StringRef instead, ExportNotes &notes) {
  notes.comment(Unsaid::Attention, "the plan assumes the attention kernel " +
                                       planValueText(PlanKey::Attention, planValue(layout, PlanKey::Attention)) + "; " +
                                       instead + " decides it");
}

void mlir::ppc::noteWideProducts(const ParallelLayout &layout, ExportNotes &notes) {
  if (layout.precision == Precision::Tf32 || layout.precision == Precision::F32)
    notes.comment(Unsaid::WideProducts, "matmuls in " + toString(layout.precision) +
                                            ": torch.backends.cuda.matmul.allow_tf32 decides between f32 and tf32");
}

void mlir::ppc::noteScriptedRecompute(const ParallelLayout &layout, ExportNotes &notes) {
  notes.comment(Unsaid::Recompute,
                layout.recompute == Recompute::None
                    ? "no layer is recomputed: the script leaves gradient checkpointing off"
                    : "every layer is recomputed: model.gradient_checkpointing_enable(), which is not in this file");
}

void mlir::ppc::noteLoadedModel(const ModelShape &model, ExportNotes &notes) {
  notes.comment(Unsaid::ModelFacts, "the model, with its router, is the one that the training script loads");
  if (model.predictionLayers)
    notes.comment(Unsaid::PredictionLayers,
                  "the predicted cost includes prediction layers; models of the transformers library leave them out");
}

/// Notes fine-tuning that neither the file nor another note expresses.
static void noteTuning(FineTuning tuning, ExportNotes &notes) {
  if (notes.target == ExportTarget::MegatronBridge || notes.target == ExportTarget::Torchtitan)
    tuning.adapterRank = 0; // the file has them
  if (std::string text = tuningText(tuning); !text.empty())
    notes.comment(Unsaid::Tuning, "the plan is for " + text + ", which the training script says, not this file");
}

llvm::Expected<ExportedPlan> mlir::ppc::exportPlan(ExportTarget target, const ExportInput &input) {
  const Target &to = targets[int(target)];
  const TrainingSoftware *software =
      llvm::find_if(trainingSoftware(), [&](const TrainingSoftware &each) { return each.name == to.stack; });
  if (std::string part = lackingPart(*software, input.model, input.layout); !part.empty())
    return llvm::createStringError(
        llvm::formatv("{0} ({1}) cannot be asked for {2}: --stack {3} plans only what it runs", software->title,
                      software->version, part, to.stack)
            .str());
  ExportNotes notes(target);
  noteTuning(input.tuning, notes);
  llvm::Expected<std::string> body = to.write(input, notes);
  if (!body)
    return body.takeError();
  if (target == ExportTarget::DeepSpeed)
    return ExportedPlan{std::move(*body), std::move(notes.parts)};
  std::string text = ("# " + to.use + ".\n# Plan: " + input.model.name + ", " + toString(input.layout) + "\n").str();
  for (const std::string &sentence : notes.sentences)
    text += "# - " + sentence + "\n";
  return ExportedPlan{text + *body, std::move(notes.parts)};
}
