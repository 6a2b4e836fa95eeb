// torchtitan: names as in the sections [training], [parallelism], [activation_checkpoint] of its TOML (JobConfig).
#include "ppc/Reporting/FrameworkArguments.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::ppc;

/// PyTorch's name of a pipeline schedule; empty: it has none.
static llvm::StringRef scheduleName(llvm::StringRef schedule) {
  return llvm::StringSwitch<llvm::StringRef>(schedule)
      .Case("gpipe", "GPipe")
      .Case("1f1b", "1F1B")
      .Case("interleaved", "Interleaved1F1B")
      .Case("breadth-first", "LoopedBFS")
      .Case("zbv", "ZBVZeroBubble")
      .Case("dualpipe-v", "DualPipeV")
      .Default("");
}

static std::string stageModules(llvm::ArrayRef<int64_t> counts) {
  std::vector<std::string> stages;
  int64_t layer = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    std::vector<std::string> names;
    if (i == 0)
      names.push_back("\"tok_embeddings\"");
    for (int64_t j = 0; j < counts[i]; ++j)
      names.push_back("\"layers." + std::to_string(layer++) + "\"");
    if (i + 1 == counts.size())
      names.insert(names.end(), {"\"norm\"", "\"output\""});
    stages.push_back("[" + llvm::join(names, ", ") + "]");
  }
  return "[" + llvm::join(stages, ", ") + "]";
}

static void addPipeline(const ModelShape &model, const ParallelLayout &layout, llvm::raw_ostream &out, std::vector<std::string> &notes) {
  out << "pipeline_parallel_degree = " << layout.pp << '\n';
  if (layout.pp == 1)
    return;
  if (!llvm::all_equal(layout.stageGroups))
    notes.push_back("stages on groups of different devices: start the ranks of each stage on the devices of its group; no key says so");
  llvm::StringRef name = scheduleName(layout.schedule);
  if (name.empty()) {
    notes.push_back("schedule " + layout.schedule + " is none of PyTorch's; 1F1B is written, and the predicted time does not hold");
    name = layout.vp > 1 ? "Interleaved1F1B" : "1F1B";
  }
  out << "pipeline_parallel_schedule = \"" << name << "\"\n"
      << "pipeline_parallel_microbatch_size = " << layout.microBatch << '\n';
  llvm::ArrayRef<int64_t> counts = layout.stageLayers;
  bool even = !counts.empty() ? llvm::all_of(counts, [&](int64_t count) { return count == counts[0]; })
                              : model.layers % (layout.pp * layout.vp) == 0;
  if (even)
    out << "pipeline_parallel_layers_per_stage = " << model.layers / (layout.pp * layout.vp)
        << "\npipeline_parallel_first_stage_less_layers = 0\npipeline_parallel_last_stage_less_layers = 0\n";
  else if (!counts.empty())
    out << "module_fqns_per_model_part = " << stageModules(counts) << '\n';
  else
    notes.push_back("the layers do not divide evenly over the stages, and the plan does not say how they are cut");
}

static void addState(const ParallelLayout &layout, llvm::raw_ostream &out, std::vector<std::string> &notes) {
  // torchtitan counts context-parallel ranks apart, and shards state over both.
  int64_t shard = layout.zero == 0 ? 1 : layout.shardGroup ? std::max<int64_t>(1, layout.shardGroup / layout.cp) : layout.dp;
  out << "data_parallel_replicate_degree = " << layout.dp / std::max<int64_t>(1, shard) << '\n'
      << "data_parallel_shard_degree = " << shard << '\n';
  if (layout.zero == 0 && layout.cp > 1)
    notes.push_back("state is cut over the context-parallel ranks there, and nowhere in the plan");
  if (layout.zero == 1 || layout.zero == 2)
    notes.push_back("ZeRO-" + std::to_string(layout.zero) +
                    " is not there: fsdp_reshard_after_forward = \"never\" keeps gathered parameters until backward, which is nearest");
  if (layout.zero)
    out << "fsdp_reshard_after_forward = \"" << (layout.zero == 3 ? "always" : "never") << "\"\n";
}

FrameworkArguments mlir::ppc::torchtitanConfig(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout) {
  FrameworkArguments result;
  llvm::raw_string_ostream out(result.text);
  std::vector<std::string> &notes = result.notes;
  int64_t localBatch = layout.pp > 1 ? job.globalBatch / layout.dp : layout.microBatch;
  out << "[training]\nlocal_batch_size = " << localBatch << "\nglobal_batch_size = " << job.globalBatch << "\nseq_len = " << job.sequence
      << "\nmixed_precision_param = \"" << (layout.precision == Precision::F32 || layout.precision == Precision::Tf32 ? "float32" : "bfloat16")
      << "\"\nmixed_precision_reduce = \"float32\"\n";
  if (layout.offload == Offload::Optimizer) {
    out << "enable_cpu_offload = true\n";
    notes.push_back("enable_cpu_offload moves parameters and gradients to the host as well");
  } else if (layout.offload == Offload::Activations) {
    notes.push_back("offload of activations is not there");
  }
  if (layout.precision == Precision::Fp16)
    notes.push_back("products in fp16 are not there; bfloat16 is written");
  out << "\n[parallelism]\n";
  addState(layout, out, notes);
  out << "tensor_parallel_degree = " << layout.tp << '\n';
  if (layout.tp > 1 && !layout.sequenceParallel)
    notes.push_back("tensor parallelism always comes with sequence parallelism there; the plan has none");
  addPipeline(model, layout, out, notes);
  out << "context_parallel_degree = " << layout.cp << '\n';
  if (layout.cp > 1) {
    out << "context_parallel_rotate_method = \"" << (layout.contextKind == ContextKind::AllGather ? "allgather" : "alltoall") << "\"\n";
    if (layout.contextKind == ContextKind::Ulysses)
      notes.push_back("exchange of heads (Ulysses) is not there; alltoall passes keys and values around");
  }
  if (model.moe) {
    out << "expert_parallel_degree = " << layout.ep << "\nexpert_tensor_parallel_degree = " << layout.etp << '\n';
    if (layout.etp != 1 && layout.etp != layout.tp)
      notes.push_back("expert_tensor_parallel_degree may be 1 or the tensor-parallel degree only");
  }
  out << "\n[activation_checkpoint]\nmode = \"" << toString(layout.recompute) << "\"\n";
  if (layout.recompute == Recompute::Selective) {
    out << "selective_ac_option = \"op\"\n";
    notes.push_back("selective recomputation there keeps every second product and the attention; the plan recomputes attention only");
  }
  if (!layout.stageRecomputedLayers.empty())
    notes.push_back("a number of recomputed layers for each stage is not there; every layer is recomputed");
  else if (layout.recompute == Recompute::Full && layout.recomputedLayers >= 0)
    notes.push_back("recomputation of only " + std::to_string(layout.recomputedLayers) +
                    " layers per stage is not there; every layer is recomputed");
  if (layout.precision == Precision::Fp8)
    out << "\n[float8]\nrecipe_name = \"tensorwise\"\nenable_fsdp_float8_all_gather = true\nprecompute_float8_dynamic_scale_for_fsdp = true\n";
  else if (layout.precision == Precision::Mxfp8)
    out << "\n[mx]\nrecipe_name = \"mxfp8\"\n";
  else if (layout.precision == Precision::Fp4)
    notes.push_back("products in fp4 are not there");
  notes.push_back("[model] name and flavor, data, learning rate and length of training are not part of a plan");
  return result;
}
