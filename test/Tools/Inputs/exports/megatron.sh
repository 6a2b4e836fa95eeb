# arguments of Megatron-LM's pretrain_gpt.py: source this file, then torchrun ... pretrain_gpt.py "${MEGATRON_ARGS[@]}".
# Plan: llama-3-8b, dp 2 x tp 2 x pp 2 x cp 2, sp, all-gather, micro-batch 1, 1f1b, zero 1, recompute none
# - data parallelism takes the remaining ranks: 2 on 16
# - data, tokenizer, learning rate and length of training are not part of a plan; the last line of the array tries it without
export CUDA_DEVICE_MAX_CONNECTIONS=1
MEGATRON_ARGS=(
  --num-layers 32
  --hidden-size 4096
  --ffn-hidden-size 14336
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 8
  --max-position-embeddings 8192
  --position-embedding-type rope
  --rotary-base 500000
  --attention-dropout 0
  --hidden-dropout 0
  --normalization RMSNorm
  --norm-epsilon 1e-05
  --init-method-std 0.02
  --swiglu
  --disable-bias-linear
  --untie-embeddings-and-output-weights
  --seq-length 8192
  --micro-batch-size 1
  --global-batch-size 64
  --tensor-model-parallel-size 2
  --sequence-parallel
  --pipeline-model-parallel-size 2
  --context-parallel-size 2
  --cp-comm-type all_gather
  --use-distributed-optimizer
  --overlap-grad-reduce
  --overlap-param-gather
  --bf16
  --transformer-impl transformer_engine
  --attention-backend fused
  # --mock-data --tokenizer-type NullTokenizer --vocab-size 128255 --train-iters 10 --lr 1e-4
)
