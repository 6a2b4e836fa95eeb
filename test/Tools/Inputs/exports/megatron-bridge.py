# recipe of Megatron-Bridge: a function that returns its ConfigContainer.
# Plan: llama-3-8b, dp 2 x tp 2 x pp 2 x cp 2, sp, all-gather, micro-batch 1, 1f1b, zero 1, recompute none
# - sizes, positions and router of the model are those that Megatron-Bridge reads and sets for it
# - data parallelism takes the remaining ranks: 2 on 16
# - data (mock data as it is), learning rate and length of training are not part of a plan
import torch

from megatron.bridge import AutoBridge
from megatron.bridge.recipes.common import _pretrain_common
from megatron.bridge.training.config import ConfigContainer
from megatron.core.transformer.enums import AttnBackend

# The folder or the name on the Hub of the model's config.json: its facts are read from there.
HF_MODEL = "llama-3-8b"


def ppc_plan() -> ConfigContainer:
    cfg = _pretrain_common()
    cfg.model = AutoBridge.from_hf_pretrained(HF_MODEL).to_megatron_provider(load_weights=False)
    cfg.tokenizer.tokenizer_model = HF_MODEL
    cfg.train.global_batch_size = 64
    cfg.train.micro_batch_size = 1
    cfg.model.seq_length = 8192
    cfg.dataset.seq_length = 8192
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.sequence_parallel = True
    cfg.model.pipeline_model_parallel_size = 2
    cfg.model.context_parallel_size = 2
    cfg.model.pipeline_dtype = torch.bfloat16
    cfg.model.cp_comm_type = "all_gather"
    cfg.model.attention_backend = AttnBackend.fused
    cfg.ddp.use_distributed_optimizer = True
    cfg.ddp.overlap_grad_reduce = True
    cfg.ddp.overlap_param_gather = True
    cfg.ddp.data_parallel_sharding_strategy = "no_shard"
    cfg.mixed_precision = "bf16_mixed"
    cfg.env_vars = {"CUDA_DEVICE_MAX_CONNECTIONS": 1}
    return cfg
