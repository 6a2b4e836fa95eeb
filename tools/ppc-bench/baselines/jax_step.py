"""One training step of a LLaMA in JAX on the CPU: one jitted function with donated buffers, for `ppc-bench step`."""
import json
import os

import step_worker

options = step_worker.arguments()
os.environ["JAX_PLATFORMS"] = "cpu"
try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    step_worker.absent(error, "jax")

config = json.load(open(options.config))
compute = jnp.float32 if options.precision == "f32" else jnp.bfloat16
heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
head = config["hidden_size"] // heads
epsilon = config["rms_norm_eps"]


def rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    normal = wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + epsilon)
    return (normal * weight).astype(x.dtype)


def rotation(length):
    frequency = config["rope_theta"] ** (-jnp.arange(0, head, 2, dtype=jnp.float32) / head)
    angle = jnp.arange(length, dtype=jnp.float32)[:, None] * frequency
    return jnp.cos(angle)[None, :, None, :], jnp.sin(angle)[None, :, None, :]


def rotate(x, cos, sin):
    a, b = jnp.split(x.astype(jnp.float32), 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)


def loss_of(parameters, inputs, targets):
    batch, length = inputs.shape
    cos, sin = rotation(length)

    def product(x, name):
        return jnp.einsum("bsi,oi->bso", x, parameters[name].astype(compute))

    x = parameters["model.embed_tokens.weight"].astype(compute)[inputs]
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        y = rms_norm(x, parameters[layer + "input_layernorm.weight"])
        q = product(y, layer + "self_attn.q_proj.weight").reshape(batch, length, heads, head)
        k = product(y, layer + "self_attn.k_proj.weight").reshape(batch, length, kv_heads, head)
        v = product(y, layer + "self_attn.v_proj.weight").reshape(batch, length, kv_heads, head)
        y = jax.nn.dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
        x = x + product(y.reshape(batch, length, heads * head), layer + "self_attn.o_proj.weight")
        y = rms_norm(x, parameters[layer + "post_attention_layernorm.weight"])
        gate, up = product(y, layer + "mlp.gate_proj.weight"), product(y, layer + "mlp.up_proj.weight")
        x = x + product(jax.nn.silu(gate) * up, layer + "mlp.down_proj.weight")
    x = rms_norm(x, parameters["model.norm.weight"])
    logits = product(x, "lm_head.weight").astype(jnp.float32)
    picked = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)


def train_step(parameters, first, second, number, inputs, targets):
    """AdamW with clipping by the global norm; returns what it was given, updated, and the loss."""
    adam = step_worker.AdamW
    loss, gradients = jax.value_and_grad(loss_of)(parameters, inputs, targets)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in gradients.values()))
    scale = jnp.minimum(1.0, adam.max_norm / (norm + 1e-6))
    new = ({}, {}, {})
    for name, p in parameters.items():
        g = gradients[name] * scale
        m = adam.beta1 * first[name] + (1 - adam.beta1) * g
        v = adam.beta2 * second[name] + (1 - adam.beta2) * g * g
        change = m / (1 - adam.beta1**number) / (jnp.sqrt(v / (1 - adam.beta2**number)) + adam.epsilon)
        if step_worker.decays(name):
            change = change + adam.weight_decay * p
        new[0][name], new[1][name], new[2][name] = p - options.learning_rate * change, m, v
    return *new, number + 1, loss


weights = step_worker.read_safetensors(options.weights)
state = [
    {name: jnp.array(value) for name, value in weights.items()},
    {name: jnp.zeros_like(value) for name, value in weights.items()},
    {name: jnp.zeros_like(value) for name, value in weights.items()},
    jnp.float32(1),
]
del weights
batches = step_worker.Batches(options)
jitted = jax.jit(train_step, donate_argnums=(0, 1, 2, 3))


def step():
    global state
    *state, loss = jax.block_until_ready(jitted(*state, *batches.take()))
    return float(loss)


step_worker.serve(f"JAX {jax.__version__}, jit", step)
