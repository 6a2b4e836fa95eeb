// Accelerate's YAML for FSDP2: names as in its ClusterConfig and its launcher (1.15.0).
#include "Exporters.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir::ppc;

llvm::Expected<std::string> mlir::ppc::accelerateYaml(const ExportInput &input, ExportNotes &notes) {
  const ParallelLayout &layout = input.layout;
  std::string text;
  llvm::raw_string_ostream out(text);
  int64_t devices = layout.devices(), machines = (devices + input.devicesPerNode - 1) / input.devicesPerNode;
  bool shards = layout.zero > 0;
  llvm::StringRef precision = layout.precision == Precision::Bf16   ? "bf16"
                              : layout.precision == Precision::Fp16 ? "fp16"
                              : layout.precision == Precision::Fp8  ? "fp8"
                                                                    : "no";
  out << "compute_environment: LOCAL_MACHINE\ndistributed_type: "
      << (shards        ? "FSDP"
          : devices > 1 ? "MULTI_GPU"
                        : "NO")
      << "\nmixed_precision: \"" << precision << "\"\nnum_machines: " << machines << "\nnum_processes: " << devices
      << "\nmachine_rank: 0\nuse_cpu: false\n";
  if (shards) {
    out << "fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
        << "  fsdp_reshard_after_forward: " << (layout.zero == 3 ? "true" : "false")
        << "\n  fsdp_activation_checkpointing: " << (layout.recompute == Recompute::Full ? "true" : "false")
        << "\n  fsdp_offload_params: false\n  fsdp_cpu_ram_efficient_loading: true\n"
        << "  fsdp_state_dict_type: SHARDED_STATE_DICT\n";
    if (layout.zero == 2)
      notes.comment(
          Unsaid::ZeroTwo,
          "zero 2 is written as fsdp_reshard_after_forward: false: parameters are gathered in forward and kept until "
          "backward, not over the step");
  } else {
    noteScriptedRecompute(layout, notes);
  }
  DataDegrees data = dataDegrees(layout);
  if (shards || layout.tp > 1) {
    out << "parallelism_config:\n  parallelism_config_dp_replicate_size: " << data.replicate
        << "\n  parallelism_config_dp_shard_size: " << data.shard << "\n  parallelism_config_tp_size: " << layout.tp
        << "\n  parallelism_config_cp_size: " << layout.cp << '\n';
    if (layout.cp > 1)
      out << "  parallelism_config_cp_backend: torch\n  parallelism_config_cp_comm_strategy: "
          << (layout.contextKind == ContextKind::AllGather ? "allgather" : "alltoall") << '\n';
  }
  notes.comment(Unsaid::Batches, "per_device_train_batch_size " + std::to_string(layout.microBatch) +
                                     ", gradient_accumulation_steps " + std::to_string(layout.microBatches(input.job)) +
                                     " and sequences of " + std::to_string(input.job.sequence) +
                                     " tokens are arguments of the training script");
  if (machines > 1)
    notes.comment(Unsaid::Processes,
                  "main_process_ip and main_process_port, and machine_rank of each machine, are to be added");
  noteLoadedModel(input.model, notes);
  noteAttention(layout, "attn_implementation of from_pretrained", notes);
  noteWideProducts(layout, notes);
  if (layout.precision == Precision::Fp8)
    notes.comment(Unsaid::NarrowProducts, "fp8_config is left to Accelerate's defaults");
  notes.comment(Unsaid::Data,
                "data, tokenizer, optimizer, learning rate and length of training are not part of a plan");
  return text;
}
