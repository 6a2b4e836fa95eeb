"""Model shapes: `model_dims.csv` of the measured data, in the columns of an --evaluate row."""
import json
import os

from .row import integer, note, read_csv


def gpt(layers, hidden, heads, vocab, ffn=None):
    """GPT-2/3 as Megatron-LM builds it: GELU, inner width 4 x hidden, learned positions, tied embeddings."""
    return dict(layers=layers, hidden=hidden, heads=heads, kv_heads=heads, ffn=ffn or 4 * hidden, gated=0, vocab=vocab,
                tied=1)


def llama(layers, hidden, heads, kv_heads, ffn, vocab):
    return dict(layers=layers, hidden=hidden, heads=heads, kv_heads=kv_heads, ffn=ffn, gated=1, vocab=vocab, tied=0)


class ShapeTable:
    """Shapes by the names of model_dims.csv. `folder` is where shapes that the columns cannot say (latent attention,
    a head dimension of its own, sliding windows) are written as config.json files."""

    def __init__(self, measured, folder):
        self.rows = {row["model"]: row for row in read_csv(os.path.join(measured, "model_dims.csv"))}
        self.folder = folder

    def llama(self, name):
        row = self.rows[name]
        return llama(*(integer(row[key]) for key in ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")))

    def gpt(self, name):
        row = self.rows[name]
        return gpt(integer(row["layers"]), integer(row["hidden"]), integer(row["heads"]), integer(row["vocab"]),
                   integer(row["ffn"]))

    def experts(self, name, top_k=2):
        """Mixtral and its like: all layers have `experts` gated experts of the table's inner width."""
        row = self.rows[name]
        shape = self.llama(name)
        shape.update(experts=integer(note(r"(\d+) experts", row["extra"])), top_k=top_k, moe_ffn=shape["ffn"])
        return shape

    def gpt2(self, layers, hidden, heads, vocab, positions, dropout):
        """GPT with dropout, which the columns cannot say: its masks are kept for the backward pass."""
        return self.config(f"gpt-{layers}x{hidden}-{heads}-{vocab}-{positions}", dict(
            architectures=["GPT2LMHeadModel"], model_type="gpt2", n_layer=layers, n_embd=hidden, n_head=heads,
            n_inner=4 * hidden, n_positions=positions, vocab_size=vocab, activation_function="gelu_new",
            tie_word_embeddings=True, resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout))

    def config(self, name, config):
        """Writes `config` as a config.json of its own and returns the column that names it."""
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file, indent=1, sort_keys=True)
        return dict(model=path)


def parameters(shape):
    """Trained values of a dense shape, biases and norms left out; tied embeddings once. For conventions only."""
    hidden, head_dim = shape["hidden"], shape["hidden"] // shape["heads"]
    attention = hidden * head_dim * (2 * shape["heads"] + 2 * shape["kv_heads"])
    ffn = hidden * shape["ffn"] * (3 if shape["gated"] else 2)
    return shape["layers"] * (attention + ffn) + shape["vocab"] * hidden * (1 if shape["tied"] else 2)


def palm_flops_per_token(parameter_count, layers, hidden, seq_len):
    """6 N + 12 L h s (PaLM, arXiv 2204.02311, appendix B): full attention, recomputation not counted."""
    return 6 * parameter_count + 12 * layers * hidden * seq_len
