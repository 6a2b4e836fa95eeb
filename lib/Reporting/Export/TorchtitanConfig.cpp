// torchtitan 0.3.0: a function as in its config_registry files, which start from one of these and change it.
#include "Exporters.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::ppc;

static llvm::StringRef converter(Precision precision) {
  switch (precision) {
  case Precision::Fp8:
    return "Float8LinearConverter";
  case Precision::Mxfp8:
    return "MXFP8LinearConverter";
  case Precision::Fp4:
    return "NVFP4LinearConverter";
  default:
    return "";
  }
}

/// Whether the file asks for prediction layers: torchtitan has them beside no pipeline and no context parallelism.
static bool predictsTokens(const ExportInput &input) {
  return input.model.predictionLayers && input.layout.pp == 1 && input.layout.cp == 1;
}

static void writeConverters(const ExportInput &input, llvm::raw_ostream &out) {
  std::vector<std::string> converters; // adapters come last
  if (llvm::StringRef convert = converter(input.layout.precision); !convert.empty())
    converters.push_back(convert.str() + ".Config(model_compile_enabled=True)");
  if (int64_t rank = input.tuning.adapterRank)
    converters.push_back(llvm::formatv("LoRAConverter.Config(rank={0}, alpha={0}.0)", rank).str());
  if (!converters.empty())
    out << ", converters=[" << llvm::join(converters, ", ") << ']';
}

static void noteModel(const ExportInput &input, ExportNotes &notes) {
  const ParallelLayout &layout = input.layout;
  notes.comment(Unsaid::ModelFacts, "sizes, positions and router of the model are those of the flavor");
  if (input.model.predictionLayers && !predictsTokens(input))
    notes.comment(Unsaid::PredictionLayers,
                  "prediction layers run beside no pipeline and no context parallelism there: the "
                  "model is trained without them");
  if (input.model.moe && !converter(layout.precision).empty())
    notes.comment(Unsaid::NarrowProducts, "products of experts run in bf16 there");
  if (input.tuning.adapterRank && input.tuning.baseBits < 16)
    notes.comment(Unsaid::Tuning, "weights beside adapters stay in 16 bits there");
  noteAttention(layout, "model_registry's attn_backend", notes);
  noteWideProducts(layout, notes);
  noteGroups(layout, notes);
}

/// The first width of the model's products that those in fp4 cannot have; 0: none.
static int64_t unevenWidth(const ModelShape &model) {
  const LatentAttention &latent = model.latent;
  for (int64_t width : {model.hidden, model.ffn, model.heads * model.queryHeadDim(), model.heads * model.valueHeadDim(),
                        latent ? latent.keyValueRank + latent.ropeHeadDim : model.kvHeads * model.headDim,
                        latent.queryRank, latent.keyValueRank, model.moe.sharedFfn})
    if (width % 128)
      return width;
  return 0;
}

static void writeParallelism(const ExportInput &input, llvm::raw_ostream &out, ExportNotes &notes) {
  const ParallelLayout &layout = input.layout;
  DataDegrees data = dataDegrees(layout);
  out << "    config.parallelism = ParallelismConfig(\n        data_parallel_replicate_degree=" << data.replicate
      << ",\n        data_parallel_shard_degree=" << data.shard << ",\n";
  if (layout.zero)
    out << "        fsdp_reshard_after_forward=\"" << (layout.zero == 3 ? "always" : "never") << "\",\n";
  if (layout.zero == 2)
    notes.comment(
        Unsaid::ZeroTwo,
        "zero 2 is written as fsdp_reshard_after_forward=\"never\": parameters are gathered in forward and kept until "
        "backward, not over the step");
  out << "        tensor_parallel_degree=" << layout.tp
      << ",\n        enable_sequence_parallel=" << (layout.sequenceParallel || layout.tp == 1 ? "True" : "False")
      << ",\n        pipeline_parallel_degree=" << layout.pp << ",\n";
  if (layout.pp > 1)
    out << "        pipeline_parallel_schedule=\"" << torchSchedule(layout.schedule)
        << "\",\n        pipeline_parallel_microbatch_size=" << layout.microBatch
        << ",\n        module_fqns_per_model_part=" << torchStages(layout.stageLayers, {"norm", "lm_head"}) << ",\n";
  out << "        context_parallel_degree=" << layout.cp << ",\n";
  if (input.model.moe)
    out << "        expert_parallel_degree=" << layout.ep << ",\n";
  out << "    )\n";
}

llvm::Expected<std::string> mlir::ppc::torchtitanConfig(const ExportInput &input, ExportNotes &notes) {
  const ParallelLayout &layout = input.layout;
  const TorchtitanModel *model = torchtitanModel(input.model);
  if (!model)
    return notes.refuse(
        Unsaid::Architecture,
        "torchtitan 0.3.0 has no flavor of " + input.model.name +
            "'s sizes among llama3, qwen3 and deepseek_v3; --emit torchtitan-0.2.2 leaves its name open");
  if (input.config && input.config->ropeTheta != double(ropeBase(*model)))
    return notes.refuse(Unsaid::Architecture,
                        llvm::formatv("torchtitan 0.3.0 has rope_theta {0} in its flavor {1} of {2}; {3} has {4:f0}",
                                      ropeBase(*model), model->flavor, model->module, input.model.name,
                                      input.config->ropeTheta)
                            .str());
  if (input.job.sequence > model->positions)
    return notes.refuse(
        Unsaid::Architecture,
        llvm::formatv("torchtitan 0.3.0 has {0} positions in its flavor {1} of {2}, sequences of {3} tokens need more",
                      model->positions, model->flavor, model->module, input.job.sequence)
            .str());
  if (int64_t width = unevenWidth(input.model); width && layout.precision == Precision::Fp4)
    return notes.refuse(
        Unsaid::NarrowProducts,
        llvm::formatv("torchtitan 0.3.0 has products in fp4 of multiples of 128 columns; {0} has some of {1}",
                      input.model.name, width)
            .str());
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::StringRef convert = converter(layout.precision);
  out << "from torchtitan.config import CompileConfig, ParallelismConfig\n"
      << "from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC\n";
  bool predicts = predictsTokens(input);
  if (input.tuning.adapterRank)
    out << "from torchtitan.components.lora import LoRAConverter\n";
  if (!convert.empty())
    out << "from torchtitan.components.quantization import " << convert << '\n';
  if (predicts)
    out << "from torchtitan.models.common.config_utils import decoder_vocab_size\n"
        << "from torchtitan.models.deepseek_v3.mtp import MTPLoss\n";
  out << "from torchtitan.models." << model->module << " import model_registry\n"
      << "from torchtitan.models." << model->module << ".config_registry import " << model->base << "\n\n\n"
      << "def ppc_plan():\n    config = " << model->base << "()\n    config.model_spec = model_registry(\""
      << model->flavor << '"';
  writeConverters(input, out);
  if (predicts)
    out << ", num_mtp_layers=" << input.model.predictionLayers;
  out << ")\n";
  if (predicts)
    out << "    config.loss = MTPLoss.Config(global_vocab_size=decoder_vocab_size(config.model_spec))\n";
  bool wide = layout.precision == Precision::F32 || layout.precision == Precision::Tf32;
  out << "    config.training.local_batch_size = "
      << (layout.pp > 1 ? input.job.globalBatch / layout.dp : layout.microBatch)
      << "\n    config.training.global_batch_size = " << input.job.globalBatch
      << "\n    config.training.seq_len = " << input.job.sequence << "\n    config.training.mixed_precision_param = \""
      << (wide ? "float32" : "bfloat16") << "\"\n";
  if (layout.pp > 1 || layout.ep > 1) // graphs hold neither pipelines nor its all-to-all of tokens
    out << "    config.training.disable_cuda_graphs = True\n";
  writeParallelism(input, out, notes);
  out << "    config.activation_checkpoint = "
      << (layout.recompute == Recompute::Full        ? "FullAC.Config()"
          : layout.recompute == Recompute::Selective ? "SelectiveAC.Config()"
                                                     : "None")
      << "\n    config.compile = CompileConfig(enable=True)\n    return config\n";
  noteModel(input, notes);
  if (layout.recompute == Recompute::Selective)
    notes.comment(Unsaid::Recompute,
                  "selective recomputation there keeps products and attention by its own list; the plan recomputes "
                  "attention only");
  notes.comment(Unsaid::Data,
                "data, tokenizer, learning rate and length of training are those of " + model->base.str() + "()");
  return text;
}
