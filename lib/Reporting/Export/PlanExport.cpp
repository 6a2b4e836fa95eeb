#include "Exporters.h"

#include "ppc/Planning/TrainingSoftware.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

namespace {
struct Target {
  llvm::StringLiteral name, stack, use;
  llvm::Expected<std::string> (*write)(const ExportInput &input, ExportComments &comments);
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

llvm::Expected<std::string> mlir::ppc::exportPlan(ExportTarget target, const ExportInput &input) {
  const Target &to = targets[int(target)];
  const TrainingSoftware *software =
      llvm::find_if(trainingSoftware(), [&](const TrainingSoftware &each) { return each.name == to.stack; });
  if (std::string part = lackingPart(*software, input.model, input.layout); !part.empty())
    return llvm::createStringError(
        llvm::formatv("{0} ({1}) cannot be asked for {2}: --stack {3} plans only what it runs", software->title,
                      software->version, part, to.stack)
            .str());
  ExportComments comments;
  if (!input.tuning.empty())
    comments.push_back("the plan is for " + input.tuning + ", which the training script says, not this file");
  llvm::Expected<std::string> body = to.write(input, comments);
  if (!body)
    return body.takeError();
  if (target == ExportTarget::DeepSpeed)
    return body;
  std::string text = ("# " + to.use + ".\n# Plan: " + input.model.name + ", " + toString(input.layout) + "\n").str();
  for (const std::string &comment : comments)
    text += "# - " + comment + "\n";
  return text + *body;
}
