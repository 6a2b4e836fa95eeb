// Megatron-Bridge: names as in its ConfigContainer (main at 067f987d). The model's facts are read from its Hugging Face
// config by Megatron-Bridge itself.
#include "Exporters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::ppc;

static llvm::StringRef mixedPrecision(Precision precision) {
  switch (precision) {
  case Precision::Fp16:
    return "fp16_mixed";
  case Precision::Fp8:
    return "bf16_with_fp8_current_scaling_mixed";
  case Precision::Mxfp8:
    return "bf16_with_mxfp8_mixed";
  case Precision::Fp4:
    return "bf16_with_nvfp4_mixed";
  default:
    return "bf16_mixed";
  }
}

/// Files of several parts, and of classes of their own, are others there than the model that is planned.
static llvm::Error checkFile(const ExportInput &input, const ExportNotes &notes) {
  if (!input.config)
    return llvm::Error::success();
  if (input.config->isTextPart)
    return notes.refuse(Unsaid::Architecture, "Megatron-Bridge reads all parts of the model's config.json, and " +
                                                  input.model.name +
                                                  " is the text part alone: give that as a file of " +
                                                  "its own, as --save-weights writes it");
  if (llvm::is_contained({"mimo", "yi", "Yi"}, input.config->modelType))
    return notes.refuse(Unsaid::Architecture, "Megatron-Bridge has no bridge from models of type " +
                                                  input.config->modelType + ", which " + input.model.name +
                                                  " is; --emit megatron writes all facts of it");
  return llvm::Error::success();
}

/// Model families of ours that Megatron-Bridge has a bridge for.
static constexpr llvm::StringLiteral bridged[] = {"llama", "mistral",   "gemma",      "qwen2",
                                                  "qwen3", "qwen3_moe", "deepseek_v3"};

static void writeModel(const ExportInput &input, llvm::raw_ostream &out) {
  const ParallelLayout &layout = input.layout;
  out << "    cfg.model.seq_length = " << input.job.sequence << "\n    cfg.dataset.seq_length = " << input.job.sequence
      << "\n    cfg.model.tensor_model_parallel_size = " << layout.tp
      << "\n    cfg.model.sequence_parallel = " << (layout.sequenceParallel && layout.tp > 1 ? "True" : "False")
      << "\n    cfg.model.pipeline_model_parallel_size = " << layout.pp
      << "\n    cfg.model.context_parallel_size = " << layout.cp << '\n';
  if (layout.pp > 1) {
    out << "    cfg.model.pipeline_dtype = torch." << (layout.precision == Precision::Fp16 ? "float16" : "bfloat16")
        << '\n';
    if (!isEven(layout.stageLayers))
      out << "    cfg.model.pipeline_model_parallel_layout = \""
          << megatronPipelineLayout(layout.stageLayers, input.model.predictionLayers) << "\"\n";
    if (layout.vp > 1)
      out << "    cfg.model.virtual_pipeline_model_parallel_size = " << layout.vp << '\n';
  }
  if (layout.cp > 1)
    out << "    cfg.model.cp_comm_type = \""
        << (layout.contextKind == ContextKind::Ring      ? "p2p"
            : layout.contextKind == ContextKind::Ulysses ? "a2a"
                                                         : "all_gather")
        << "\"\n";
  if (input.model.moe)
    out << "    cfg.model.expert_model_parallel_size = " << layout.ep
        << "\n    cfg.model.expert_tensor_parallel_size = " << layout.etp
        << "\n    cfg.model.moe_grouped_gemm = True\n    cfg.model.moe_token_dispatcher_type = \"alltoall\"\n";
  if (input.model.predictionLayers)
    out << "    cfg.model.mtp_num_layers = " << input.model.predictionLayers << '\n';
  bool unfused = layout.attention == AttentionKernel::Unfused || layout.attention == AttentionKernel::FusedSoftmax;
  out << "    cfg.model.attention_backend = AttnBackend."
      << (unfused                                      ? "unfused"
          : layout.attention == AttentionKernel::Cudnn ? "fused"
                                                       : "flash")
      << '\n';
  if (layout.recompute == Recompute::None)
    return;
  out << "    cfg.model.recompute_granularity = \"" << toString(layout.recompute) << "\"\n";
  if (layout.recompute == Recompute::Full)
    out << "    cfg.model.recompute_method = \"" << (layout.recomputedLayers < 0 ? "uniform" : "block")
        << "\"\n    cfg.model.recompute_num_layers = " << (layout.recomputedLayers < 0 ? 1 : layout.recomputedLayers)
        << '\n';
}

static void writeState(const ParallelLayout &layout, llvm::raw_ostream &out) {
  out << "    cfg.ddp.use_distributed_optimizer = " << (layout.zero ? "True" : "False")
      << "\n    cfg.ddp.overlap_grad_reduce = True\n    cfg.ddp.overlap_param_gather = "
      << (layout.zero ? "True" : "False") << '\n';
  if (layout.zero >= 2)
    out << "    cfg.ddp.use_megatron_fsdp = True\n    cfg.ddp.data_parallel_sharding_strategy = \""
        << (layout.zero == 2 ? "optim_grads" : "optim_grads_params")
        << "\"\n    cfg.checkpoint.ckpt_format = \"fsdp_dtensor\"\n    cfg.model.gradient_accumulation_fusion = "
           "False\n";
  else
    out << "    cfg.ddp.data_parallel_sharding_strategy = \"no_shard\"\n";
  if (layout.zero && layout.shardGroup && layout.shardGroup != layout.dataRanks())
    out << "    cfg.ddp.num_distributed_optimizer_instances = " << layout.dataRanks() / layout.shardGroup << '\n';
  if (layout.offload == Offload::Optimizer)
    out << "    cfg.optimizer.optimizer_cpu_offload = True\n    cfg.optimizer.use_precision_aware_optimizer = True\n";
}

llvm::Expected<std::string> mlir::ppc::megatronBridgeRecipe(const ExportInput &input, ExportNotes &notes) {
  if (llvm::Error error = checkMegatronModel(input.model, notes))
    return std::move(error);
  if (!input.model.family.empty() && !llvm::is_contained(bridged, input.model.family))
    return notes.refuse(Unsaid::Architecture, "Megatron-Bridge has no bridge from models of type " +
                                                  input.model.family + ", which " + input.model.name +
                                                  " is; --emit megatron writes all facts of it");
  if (llvm::Error error = checkFile(input, notes))
    return std::move(error);
  const ParallelLayout &layout = input.layout;
  if (layout.precision == Precision::F32 || layout.precision == Precision::Tf32)
    return notes.refuse(Unsaid::WideProducts, "Megatron-Bridge trains in 16 bits or fewer: give --precision bf16");
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "import torch\n\nfrom megatron.bridge import AutoBridge\nfrom megatron.bridge.recipes.common import "
         "_pretrain_common\nfrom megatron.bridge.training.config import ConfigContainer\nfrom "
         "megatron.core.transformer.enums import "
         "AttnBackend\n";
  if (input.tuning.adapterRank)
    out << "from megatron.bridge.peft.lora import LoRA\n";
  out << "\n"
      << "# The folder or the name on the Hub of the model's config.json: its facts are read from there.\n"
      << "HF_MODEL = \"" << input.model.name << "\"\n\n\n"
      << "def ppc_plan() -> ConfigContainer:\n    cfg = _pretrain_common()\n"
      << "    cfg.model = AutoBridge.from_hf_pretrained(HF_MODEL).to_megatron_provider(load_weights=False)\n"
      << "    cfg.tokenizer.tokenizer_model = HF_MODEL\n"
      << "    cfg.train.global_batch_size = " << input.job.globalBatch
      << "\n    cfg.train.micro_batch_size = " << layout.microBatch << '\n';
  writeModel(input, out);
  writeState(layout, out);
  out << "    cfg.mixed_precision = \"" << mixedPrecision(layout.precision) << "\"\n";
  if (layout.zero < 2 && (layout.tp > 1 || layout.cp > 1))
    out << "    cfg.env_vars = {\"CUDA_DEVICE_MAX_CONNECTIONS\": 1}\n";
  if (int64_t rank = input.tuning.adapterRank) {
    out << "    cfg.peft = LoRA(dim=" << rank << ", alpha=" << rank << ")\n";
    notes.comment(Unsaid::Tuning,
                  "adapters: start it by finetune, with the weights that cfg.checkpoint.pretrained_checkpoint "
                  "names; those stay in 16 bits there");
  }
  out << "    return cfg\n";
  noteGroups(layout, notes);
  notes.comment(Unsaid::ModelFacts,
                "sizes, positions and router of the model are those that Megatron-Bridge reads and sets for it");
  notes.comment(Unsaid::DataParallelism, "data parallelism is what is left of the ranks: " + std::to_string(layout.dp) +
                                             " on " + std::to_string(layout.devices()));
  notes.comment(Unsaid::Data, "data (mock data as it is), learning rate and length of training are no part of a plan");
  return text;
}
