// torchtitan 0.2.2, the last release that reads TOML: names as in its JobConfig.
#include "Exporters.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir::ppc;

static void writeModel(const ExportInput &input, llvm::raw_ostream &out, ExportNotes &notes) {
  out << "\n[model]\n";
  const TorchtitanModel *model = torchtitanModel(input.model);
  if (model && input.config && input.config->ropeTheta != double(ropeBase(*model)))
    notes.comment(Unsaid::Architecture, "torchtitan's flavors of " + input.model.name +
                                            "'s sizes have another rope_theta: register one, and name it as [model] "
                                            "name and flavor");
  else if (model)
    out << "name = \"" << model->module << "\"\nflavor = \"" << model->flavor << "\"\n";
  else
    notes.comment(Unsaid::Architecture, "torchtitan has no flavor of " + input.model.name +
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

static void writePipeline(const ExportInput &input, llvm::raw_ostream &out, ExportNotes &notes) {
  const ParallelLayout &layout = input.layout;
  out << "pipeline_parallel_degree = " << layout.pp << '\n';
  if (layout.pp == 1)
    return;
  noteGroups(layout, notes);
  out << "pipeline_parallel_schedule = \"" << torchSchedule(layout.schedule)
      << "\"\npipeline_parallel_microbatch_size = " << layout.microBatch << '\n'
      << "module_fqns_per_model_part = " << torchStages(layout.stageLayers, {"norm", "output"}) << '\n';
}

llvm::Expected<std::string> mlir::ppc::torchtitanToml(const ExportInput &input, ExportNotes &notes) {
  const ParallelLayout &layout = input.layout;
  if (layout.precision == Precision::Fp4)
    return notes.refuse(Unsaid::NarrowProducts,
                        "torchtitan 0.2.2 has no products in fp4; --emit torchtitan writes for 0.3.0, which has");
  if (input.tuning.adapterRank)
    return notes.refuse(Unsaid::Tuning,
                        "torchtitan 0.2.2 has no adapters (LoRA); --emit torchtitan writes for 0.3.0, which has");
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
    notes.comment(Unsaid::ZeroTwo,
                  "zero 2 is written as fsdp_reshard_after_forward = \"never\": parameters are gathered in "
                  "forward and kept until "
                  "backward, not over the step");
  out << "tensor_parallel_degree = " << layout.tp << '\n';
  writePipeline(input, out, notes);
  out << "context_parallel_degree = " << layout.cp << '\n';
  if (layout.cp > 1)
    out << "context_parallel_rotate_method = \"allgather\"\n";
  if (input.model.moe)
    out << "expert_parallel_degree = " << layout.ep << "\nexpert_tensor_parallel_degree = " << layout.etp << '\n';
  out << "\n[activation_checkpoint]\nmode = \"" << toString(layout.recompute) << "\"\n";
  if (layout.recompute == Recompute::Selective) {
    out << "selective_ac_option = \"op\"\n";
    notes.comment(Unsaid::Recompute,
                  "selective recomputation there keeps every second product and the attention; the plan recomputes "
                  "attention only");
  }
  out << "\n[compile]\nenable = true\n";
  writeModel(input, out, notes);
  notes.comment(Unsaid::ModelFacts, "sizes, positions and router of the model are those of the flavor");
  if (input.model.predictionLayers)
    notes.comment(Unsaid::PredictionLayers, "there are no prediction layers there: the model is trained without them");
  if (input.model.moe && layout.precision != Precision::Bf16 && !wide)
    notes.comment(Unsaid::NarrowProducts, "products of experts run in bf16 there");
  noteAttention(layout, "the flavor", notes);
  noteWideProducts(layout, notes);
  notes.comment(Unsaid::Data, "data, tokenizer, learning rate and length of training are no part of a plan");
  return text;
}
