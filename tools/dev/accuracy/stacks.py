"""Behaviour of the measured software that differs from the stacks in lib/CostModel/Stacks: the same file with other switches.
docs/performance/sources.md has the sources of each."""
import os
import re

STACKS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../lib/CostModel/Stacks")

KEMPNER = dict(
    execution="compiled", fused_rotary="true", fused_activation="true", fused_residual="true", master_bytes=0, moment_bytes=4,
    vocabulary_parallel_loss="false", reduce_gradients_every_micro_batch="false", recompute_stops_early="true",
    loss_in_16_bits="true", replicates_embedding="true", reports_allocated="true")

TITAN = dict(
    execution="compiled", fused_rotary="true", fused_activation="true", fused_residual="true", fused_loss="false",
    recompute_stops_early="true", gradient_reduce_bytes=4)

AUTOMODEL = dict(gradient_reduce_bytes=4, fused_rotary="true", node_dispatch="true")

# name: (base, switches)
# DeepSpeed's ZeRO-1 accumulates and reduces in the 16-bit type, 5e8 elements at a time (its default).
DEEPSPEED_16_BITS = dict(bucket_elements=5e8, gradient_bytes=2, gradient_reduce_bytes=2, low_precision_gradient_bytes=0)

VARIANTS = {
    # Up to 02-27: stages count layers only.
    "megatron-deepspeed-16-bits": ("megatron-deepspeed", dict(DEEPSPEED_16_BITS, stage_split="full-layers")),
    # Without ZeRO each gradient is cast to f32 and then appended to the others: both copies live at once.
    "megatron-deepspeed-unsharded": ("megatron-deepspeed", dict(DEEPSPEED_16_BITS, stage_split="full-layers", update_bytes=8)),
    # 02-27: the same with `type:transformer|embed`.
    "megatron-deepspeed-embedding": ("megatron-deepspeed", dict(DEEPSPEED_16_BITS, stage_split="embedding-as-layer")),
    # 02-28: the BF16 optimizer accumulates in f32 in addition to the bf16 gradients, "4bytes x params and it's not sharded" more.
    "megatron-deepspeed-bf16": ("megatron-deepspeed", dict(stage_split="embedding-as-layer", bucket_elements=5e8)),
    # vTrain's model: a vocabulary that nothing pads.
    "vtrain": ("megatron-2021", dict(vocabulary_multiple=1)),
    # bf16 without ZeRO: gradients accumulate and are reduced in f32.
    "megatron-deepspeed-unsharded-bf16": ("megatron-deepspeed", dict(stage_split="full-layers", bucket_elements=5e8)),
    # PyTorch's DistributedDataParallel instead of Megatron-LM's: reductions of buckets of fp16 gradients overlap with backward.
    "megatron-torch-ddp": ("megatron-2021", dict(
        overlap_gradient_reduction="true", gradient_bytes=2, gradient_reduce_bytes=2)),
    # Megatron-LM of 2023 as the zero-bubble fork builds on it: first and last stage hold a layer less; fp16 gradients.
    # Memory is what PyTorch has allocated.
    "megatron-2023": ("megatron-2021", dict(
        stage_split="embedding-as-layer", gradient_bytes=2, gradient_reduce_bytes=2, reports_allocated="true")),
    # Its zero-bubble schedules send without waiting, are searched for the measured durations, and validate the update afterwards.
    "zero-bubble": ("megatron-2021", dict(
        stage_split="embedding-as-layer", gradient_bytes=2, gradient_reduce_bytes=2, blocking_sends="false",
        reports_allocated="true", fitted_schedules="true", validates_update_afterwards="true")),
    # Zero bubble with the update after a reduction of all norms (Table 10).
    "zero-bubble-synchronous": ("megatron-2021", dict(
        stage_split="embedding-as-layer", gradient_bytes=2, gradient_reduce_bytes=2, blocking_sends="false",
        reports_allocated="true", fitted_schedules="true")),
    # Composer's mixed_precision DEFAULT: parameters gathered in bf16, gradients reduced in f32; PURE is `fsdp`.
    "fsdp-f32-reduce": ("fsdp", dict(gradient_reduce_bytes=4)),
    # torch.compile.
    "fsdp-compiled": ("fsdp", dict(
        execution="compiled", fused_rotary="true", fused_activation="true", fused_residual="true", fused_loss="true",
        recompute_stops_early="true")),
    # JAX: compiled, and parameters are arrays of their own.
    "jax-fsdp": ("fsdp", dict(
        execution="compiled", fused_rotary="true", fused_activation="true", fused_residual="true", fused_loss="true",
        recompute_stops_early="true", copies_shards="false", copies_sequence="false")),
    # torchtitan: PyTorch's FSDP2, each layer compiled, gradients reduced in f32; under a pipeline parameters are gathered once a
    # step and gradients reduced by the last micro-batch.
    "torchtitan": ("fsdp", dict(TITAN)),
    "torchtitan-pipeline": ("fsdp", dict(
        TITAN, gather_parameters_once_per_step="true", reduce_gradients_every_micro_batch="false")),
    # NeMo AutoModel: FSDP2, Transformer Engine's kernels, DeepEP; pipelines as torchtitan's (reshard_after_forward: false).
    "automodel": ("fsdp", dict(AUTOMODEL)),
    "automodel-pipeline": ("fsdp", dict(
        AUTOMODEL, gather_parameters_once_per_step="true", reduce_gradients_every_micro_batch="false")),
    # KempnerForge: parameters and both moments in bf16. With FSDP gradients accumulate unsharded, in f32, until the last micro-batch
    # reduces them; without, in bf16, and the model is one compiled graph, whose gradients are all live before they are added. Every
    # tensor-parallel rank holds all logits.
    "kempnerforge": ("fsdp", dict(KEMPNER, gradient_bytes=4, gradient_reduce_bytes=4)),
    "kempnerforge-unsharded": ("fsdp", dict(
        KEMPNER, gradient_bytes=2, gradient_reduce_bytes=2, low_precision_gradient_bytes=2)),
    # NeMo's and Megatron-Bridge's performance recipes: grad_reduce_in_fp32 = False.
    "nemo-performance": ("megatron-core", dict(gradient_bytes=2, gradient_reduce_bytes=2)),
    # NeMo without userbuffers: tensor-parallel communication is not hidden (DeepSeek-V3's recipe, tp_comm_overlap=False).
    "nemo-plain": ("megatron-core", dict(
        gradient_bytes=2, gradient_reduce_bytes=2, overlap_tensor_parallel="false")),
    # Megatron's FSDP: gradients are reduced and dropped after each micro-batch.
    # Transformer Engine offloads activations layer by layer (cpu_offloading_num_layers).
    "nemo-fsdp": ("megatron-core", dict(
        gradient_bytes=2, gradient_reduce_bytes=2, reduce_gradients_every_micro_batch="true", offloads_layers="true")),
    # Experts with a capacity factor: tokens over it are dropped, so that all experts work on equal numbers. Megatron-Core by
    # itself accumulates and reduces in f32.
    "megatron-core-capacity": ("megatron-core", dict(capacity_experts="true")),
    # "In FSDP, the communication of parameters and gradients cannot be effectively overlapped" (arXiv 2504.14960, 4.2).
    "megatron-fsdp-capacity": ("megatron-core", dict(
        capacity_experts="true", reduce_gradients_every_micro_batch="true", overlap_gradient_reduction="false",
        overlap_parameter_gather="false")),
    "nemo-capacity": ("megatron-core", dict(gradient_bytes=2, gradient_reduce_bytes=2, capacity_experts="true")),
}


# Options that recipes of one variant add: "nemo-performance+graphs+overlap".
OPTIONS = {
    "launching-ahead": dict(launch_blocking="false"),
    "async-tp": dict(overlap_tensor_parallel="true"),  # chunked matmuls that hide their communication
    "graphs": dict(execution="graphs"),  # the whole iteration is recorded
    "partial-graphs": dict(execution="graphs", eager_experts="true"),  # attention and router are
    "te-loss": dict(fused_loss="true"),  # cross_entropy_fusion_impl: te
    "blocking": dict(blocking_sends="true"),  # without virtual stages, Megatron waits for its sends and receives
    "overlap": dict(overlap_experts="true"),  # the all-to-all of one micro-batch is hidden by another
    "hybrid-ep": dict(node_dispatch="true"),  # HybridEP, DeepEP
    "fused-experts": dict(fused_experts="true"),  # grouped matmuls with gate and quantization in them
    "biases": dict(separate_expert_biases="true"),  # TEGroupedMLP where experts have biases
    "clamped": dict(clamped_gate="true"),  # a gate with clamped inputs, outside of the fused experts
    "yarn": dict(fused_rotary="false"),  # scaled rotary embedding, which the fused kernel cannot do
    "latent": dict(recompute_latent_projections="true"),  # recompute_modules: mla_up_proj
    "norms": dict(recompute_norms="true"),  # layernorm
    "gates": dict(recompute_expert_activation="true"),  # moe_act
}


def variant_text(name, base_text):
    """The base's file with the variant's switches in it."""
    variant, *options = name.split("+")
    base, switches = VARIANTS[variant]
    switches = dict(switches)
    for option in options:
        switches.update(OPTIONS[option])
    lines = [line for line in base_text.splitlines()
             if not line.startswith("#") and line.split(":")[0] not in switches and not re.match(r"name\s*:", line)]
    return "\n".join([f"# {base} with other switches.", f"name: {name}"] + lines +
                     [f"{key}: {value}" for key, value in switches.items()]) + "\n"


class StackTable:
    """Names stacks in rows: one of lib/CostModel/Stacks, or the path of a variant, written to `folder`."""

    def __init__(self, folder, stacks=STACKS):
        self.folder, self.stacks = folder, stacks

    def name(self, stack):
        if stack.split("+")[0] not in VARIANTS:
            return stack
        base = VARIANTS[stack.split("+")[0]][0]
        source = os.path.join(self.stacks, base + ".yaml")
        if not os.path.exists(source):
            return base
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, stack + ".yaml")
        with open(source, encoding="utf-8") as file, open(path, "w", encoding="utf-8") as target:
            target.write(variant_text(stack, file.read()))
        return path
