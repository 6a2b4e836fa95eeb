// torchtitan 0.2.2, the last release that reads TOML: names as in its JobConfig.
#include "Exporters.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir::ppc;

static void writeModel(const ExportInput &input, llvm::raw_ostream &out, ExportComments &comments) {
  out << "\n[model]\n";
  if (const TorchtitanModel *model = torchtitanModel(input.model))
    out << "name = \"" << model->module << "\"\nflavor = \"" << model->flavor << "\"\n";
  else
    comments.push_back("torchtitan has no flavor of " + input.model.name +
                       "'s sizes: register one, and name it as [model] name and flavor");
  Precision precision = input.layout.precision;
  if (precision == Precision::Fp8)
    out << "converters = [\"quantize.linear.float8\"]\n";
  else if (precision == Precision::Mxfp8)
    out << "converters = [\"quantize.linear.mx\"]\n";
  if (precision == Precision::Fp8)
    out << "\n[quantize.linear.float8]\nrecipe_name = \"tensorwise\"\nenable_fsdp_float8_all_gather = "
           "true\nprecompute_float8_dynamic_scale_for_fsdp = true\n";
}

static void writePipeline(const ExportInput &input, llvm::raw_ostream &out, ExportComments &comments) {
  const ParallelLayout &layout = input.layout;
  out << "pipeline_parallel_degree = " << layout.pp << '\n';
  if (layout.pp == 1)
    return;
  if (layout.stageGroups.size() > 1)
    comments.push_back(
        "stages on groups of different devices: start the ranks of each stage on the devices of its group; "
        "no key says so");
  out << "pipeline_parallel_schedule = \"" << torchSchedule(layout.schedule)
      << "\"\npipeline_parallel_microbatch_size = " << layout.microBatch << '\n'
      << "module_fqns_per_model_part = " << torchStages(layout.stageLayers, {"norm", "output"}) << '\n';
}

llvm::Expected<std::string> mlir::ppc::torchtitanToml(const ExportInput &input, ExportComments &comments) {
  const ParallelLayout &layout = input.layout;
  if (layout.precision == Precision::Fp4)
    return llvm::createStringError(
        "torchtitan 0.2.2 has no products in fp4; --emit torchtitan writes for 0.3.0, which has");
  std::string text;
  llvm::raw_string_ostream out(text);
  bool wide = layout.precision == Precision::F32 || layout.precision == Precision::Tf32;
  int64_t localBatch = layout.pp > 1 ? input.job.globalBatch / layout.dp : layout.microBatch;
  out << "[training]\nlocal_batch_size = " << localBatch << "\nglobal_batch_size = " << input.job.globalBatch
      << "\nseq_len = " << input.job.sequence << "\nmixed_precision_param = \"" << (wide ? "float32" : "bfloat16")
      << "\"\nmixed_precision_reduce = \"float32\"\n";
  DataDegrees data = dataDegrees(layout);
  out << "\n[parallelism]\ndata_parallel_replicate_degree = " << data.replicate
      << "\ndata_parallel_shard_degree = " << data.shard << '\n';
  if (layout.zero)
    out << "fsdp_reshard_after_forward = \"" << (layout.zero == 3 ? "always" : "never") << "\"\n";
  if (layout.zero == 2)
    comments.push_back("zero 2 is written as fsdp_reshard_after_forward = \"never\": parameters are gathered in "
                       "forward and kept until "
                       "backward, not over the step");
  out << "tensor_parallel_degree = " << layout.tp << '\n';
  writePipeline(input, out, comments);
  out << "context_parallel_degree = " << layout.cp << '\n';
  if (layout.cp > 1)
    out << "context_parallel_rotate_method = \"allgather\"\n";
  if (input.model.moe)
    out << "expert_parallel_degree = " << layout.ep << "\nexpert_tensor_parallel_degree = " << layout.etp << '\n';
  out << "\n[activation_checkpoint]\nmode = \"" << toString(layout.recompute) << "\"\n";
  if (layout.recompute == Recompute::Selective) {
    out << "selective_ac_option = \"op\"\n";
    comments.push_back(
        "selective recomputation there keeps every second product and the attention; the plan recomputes "
        "attention only");
  }
  out << "\n[compile]\nenable = true\n";
  writeModel(input, out, comments);
  if (input.model.moe.scoreBias == false && input.model.moe)
    comments.push_back("numbers of the router are those of the flavor");
  comments.push_back("data, tokenizer, learning rate and length of training are no part of a plan");
  return text;
}
