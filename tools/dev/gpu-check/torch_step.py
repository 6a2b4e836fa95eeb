#!/usr/bin/env python3
"""Times a training step of a LLaMA in PyTorch on one GPU: torch_step.py facts.json. Prints {"version", "ms"}.

The computation of PPC's program, written plainly: bf16 matmuls with weights and sums in f32 (autocast), attention by
scaled_dot_product_attention, AdamW (fused), gradients clipped to norm 1, micro-batches added up; everything compiled.
"""
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Norm(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return functional.rms_norm(x, (x.shape[-1],), self.weight, self.epsilon)


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.heads, self.shared = config["num_attention_heads"], config["num_key_value_heads"]
        self.dim = width // self.heads
        linear = lambda rows, columns: nn.Linear(rows, columns, bias=False)  # noqa: E731
        self.q, self.k, self.v = linear(width, width), linear(width, self.shared * self.dim), linear(width, self.shared * self.dim)
        self.o, self.gate, self.up, self.down = linear(width, width), linear(width, inner), linear(width, inner), linear(inner, width)
        self.first, self.second = Norm(width, config["rms_norm_eps"]), Norm(width, config["rms_norm_eps"])

    def rotate(self, x, cosine, sine):
        a, b = x.chunk(2, dim=-1)
        return x * cosine + torch.cat((-b, a), dim=-1) * sine

    def forward(self, x, cosine, sine):
        batch, tokens, width = x.shape
        y = self.first(x)
        q, k, v = (part.view(batch, tokens, -1, self.dim).transpose(1, 2) for part in (self.q(y), self.k(y), self.v(y)))
        q, k = self.rotate(q, cosine, sine).to(v.dtype), self.rotate(k, cosine, sine).to(v.dtype)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, tokens, width))
        y = self.second(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.table = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.norm = Norm(config["hidden_size"], config["rms_norm_eps"])
        self.head = nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)
        dim = config["hidden_size"] // config["num_attention_heads"]
        angles = torch.outer(torch.arange(config["max_position_embeddings"]).float(),
                             config["rope_theta"] ** (-torch.arange(0, dim, 2).float() / dim))
        self.register_buffer("cosine", torch.cat((angles, angles), -1).cos())
        self.register_buffer("sine", torch.cat((angles, angles), -1).sin())

    def forward(self, tokens, targets):
        x = self.table(tokens)
        for layer in self.layers:
            x = layer(x, self.cosine[:tokens.shape[1]], self.sine[:tokens.shape[1]])
        return functional.cross_entropy(self.head(self.norm(x)).float().flatten(0, 1), targets.flatten())


def main():
    with open(sys.argv[1]) as file:
        facts = json.load(file)["large"]
    torch.manual_seed(1)
    model = Llama(facts["config"]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    compiled = torch.compile(model)
    parts = facts["global-batch"] // facts["micro-batch"]
    times = []
    for _ in range(12):
        torch.cuda.synchronize()
        start = time.monotonic()
        for _ in range(parts):
            tokens = torch.randint(facts["config"]["vocab_size"], (facts["micro-batch"], facts["seq-len"] + 1), device="cuda")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = compiled(tokens[:, :-1], tokens[:, 1:]) / parts
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(time.monotonic() - start)
    print(json.dumps({"version": torch.__version__, "ms": 1e3 * statistics.median(times[2:])}))


if __name__ == "__main__":
    main()
