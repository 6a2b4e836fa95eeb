// torchtitan 0.3.0: a function as in its config_registry files, which start from one of these and change it.
#include "Exporters.h"

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

static void writeParallelism(const ExportInput &input, llvm::raw_ostream &out, ExportComments &comments) {
  const ParallelLayout &layout = input.layout;
  DataDegrees data = dataDegrees(layout);
  out << "    config.parallelism = ParallelismConfig(\n        data_parallel_replicate_degree=" << data.replicate
      << ",\n        data_parallel_shard_degree=" << data.shard << ",\n";
  if (layout.zero)
    out << "        fsdp_reshard_after_forward=\"" << (layout.zero == 3 ? "always" : "never") << "\",\n";
  if (layout.zero == 2)
    comments.push_back(
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

llvm::Expected<std::string> mlir::ppc::torchtitanConfig(const ExportInput &input, ExportComments &comments) {
  const ParallelLayout &layout = input.layout;
  const TorchtitanModel *model = torchtitanModel(input.model);
  if (!model)
    return llvm::createStringError(
        "torchtitan 0.3.0 has no flavor of " + input.model.name +
        "'s sizes among llama3, qwen3 and deepseek_v3; --emit torchtitan-0.2.2 leaves its name open");
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::StringRef convert = converter(layout.precision);
  out << "from torchtitan.config import CompileConfig, ParallelismConfig\n"
      << "from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC\n";
  if (!convert.empty())
    out << "from torchtitan.components.quantization import " << convert << '\n';
  out << "from torchtitan.models." << model->module << " import model_registry\n"
      << "from torchtitan.models." << model->module << ".config_registry import " << model->base << "\n\n\n"
      << "def ppc_plan():\n    config = " << model->base << "()\n    config.model_spec = model_registry(\""
      << model->flavor << '"';
  if (!convert.empty())
    out << ", converters=[" << convert << ".Config(model_compile_enabled=True)]";
  out << ")\n";
  bool wide = layout.precision == Precision::F32 || layout.precision == Precision::Tf32;
  out << "    config.training.local_batch_size = "
      << (layout.pp > 1 ? input.job.globalBatch / layout.dp : layout.microBatch)
      << "\n    config.training.global_batch_size = " << input.job.globalBatch
      << "\n    config.training.seq_len = " << input.job.sequence << "\n    config.training.mixed_precision_param = \""
      << (wide ? "float32" : "bfloat16") << "\"\n";
  if (layout.pp > 1)
    out << "    config.training.disable_cuda_graphs = True\n";
  writeParallelism(input, out, comments);
  out << "    config.activation_checkpoint = "
      << (layout.recompute == Recompute::Full        ? "FullAC.Config()"
          : layout.recompute == Recompute::Selective ? "SelectiveAC.Config()"
                                                     : "None")
      << "\n    config.compile = CompileConfig(enable=True)\n    return config\n";
  if (layout.recompute == Recompute::Selective)
    comments.push_back(
        "selective recomputation there keeps products and attention by its own list; the plan recomputes "
        "attention only");
  comments.push_back("data, tokenizer, learning rate and length of training are those of " + model->base.str() + "()");
  return text;
}
