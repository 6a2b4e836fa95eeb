"""One training step of a LLaMA in PyTorch on the CPU, eager or compiled, for `ppc-bench step`."""
import json
import os

import step_worker

options = step_worker.arguments()
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no worker processes besides those that are measured
try:
    import torch
    from torch.nn import functional as F
except ImportError as error:
    step_worker.absent(error, "torch")

torch.set_num_threads(options.threads)
config = json.load(open(options.config))
compute = torch.float32 if options.precision == "f32" else torch.bfloat16
heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
head = config["hidden_size"] // heads
epsilon = config["rms_norm_eps"]


def rotation(length):
    frequency = config["rope_theta"] ** (-torch.arange(0, head, 2, dtype=torch.float32) / head)
    angle = torch.arange(length, dtype=torch.float32)[:, None] * frequency
    return torch.cos(angle), torch.sin(angle)


cos, sin = rotation(options.sequence)


def rms_norm(x, weight):
    return F.rms_norm(x.float(), weight.shape, weight, epsilon).to(x.dtype)


def rotate(x):
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


def loss_of(parameters, inputs, targets):
    batch, length = inputs.shape

    def product(x, name):
        return F.linear(x, parameters[name].to(compute))

    def split(x, count):
        return x.view(batch, length, count, head).transpose(1, 2)

    x = F.embedding(inputs, parameters["model.embed_tokens.weight"]).to(compute)
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        y = rms_norm(x, parameters[layer + "input_layernorm.weight"])
        q = rotate(split(product(y, layer + "self_attn.q_proj.weight"), heads))
        k = rotate(split(product(y, layer + "self_attn.k_proj.weight"), kv_heads))
        v = split(product(y, layer + "self_attn.v_proj.weight"), kv_heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != kv_heads)
        y = y.transpose(1, 2).reshape(batch, length, heads * head)
        x = x + product(y, layer + "self_attn.o_proj.weight")
        y = rms_norm(x, parameters[layer + "post_attention_layernorm.weight"])
        gate, up = product(y, layer + "mlp.gate_proj.weight"), product(y, layer + "mlp.up_proj.weight")
        x = x + product(F.silu(gate) * up, layer + "mlp.down_proj.weight")
    x = rms_norm(x, parameters["model.norm.weight"])
    logits = product(x, "lm_head.weight").float()
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


weights = step_worker.read_safetensors(options.weights)
parameters = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in weights.items()}
del weights
adam = step_worker.AdamW
decayed = [p for name, p in parameters.items() if step_worker.decays(name)]
others = [p for name, p in parameters.items() if not step_worker.decays(name)]
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": adam.weight_decay}, {"params": others, "weight_decay": 0.0}],
    lr=options.learning_rate, betas=(adam.beta1, adam.beta2), eps=adam.epsilon, fused=True)
batches = step_worker.Batches(options)
loss_function = torch.compile(loss_of) if options.compile else loss_of


def step():
    inputs, targets = (torch.from_numpy(rows).long() for rows in batches.take())
    loss = loss_function(parameters, inputs, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters.values(), adam.max_norm)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


step_worker.serve(f"PyTorch {torch.__version__}, {'torch.compile' if options.compile else 'eager'}", step)
