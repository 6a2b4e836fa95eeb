# configuration of torchtitan 0.3.0: put this file on PYTHONPATH as ppc_plan.py, then --module ppc_plan --config ppc_plan.
# Plan: llama-3-8b, dp 4 x tp 2 x pp 2 x vp 2, sp, micro-batch 1, dualpipev, zero 3, recompute full
# - the flavor sets sizes, positions and router of the model
# - the plan assumes the attention kernel flash2; model_registry's attn_backend decides it
# - llama3_8b() sets data, tokenizer, learning rate and length of training
from torchtitan.config import CompileConfig, ParallelismConfig
from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC
from torchtitan.models.llama3 import model_registry
from torchtitan.models.llama3.config_registry import llama3_8b


def ppc_plan():
    config = llama3_8b()
    config.model_spec = model_registry("8B")
    config.training.local_batch_size = 16
    config.training.global_batch_size = 64
    config.training.seq_len = 8192
    config.training.mixed_precision_param = "bfloat16"
    config.training.disable_cuda_graphs = True
    config.parallelism = ParallelismConfig(
        data_parallel_replicate_degree=1,
        data_parallel_shard_degree=4,
        fsdp_reshard_after_forward="always",
        tensor_parallel_degree=2,
        enable_sequence_parallel=True,
        pipeline_parallel_degree=2,
        pipeline_parallel_schedule="DualPipeV",
        pipeline_parallel_microbatch_size=1,
        module_fqns_per_model_part=[["tok_embeddings", "layers.0", "layers.1", "layers.2", "layers.3", "layers.4", "layers.5", "layers.6", "layers.7"], ["layers.8", "layers.9", "layers.10", "layers.11", "layers.12", "layers.13", "layers.14", "layers.15"], ["layers.16", "layers.17", "layers.18", "layers.19", "layers.20", "layers.21", "layers.22", "layers.23"], ["layers.24", "layers.25", "layers.26", "layers.27", "layers.28", "layers.29", "layers.30", "layers.31", "norm", "lm_head"]],
        context_parallel_degree=1,
    )
    config.activation_checkpoint = FullAC.Config()
    config.compile = CompileConfig(enable=True)
    return config
