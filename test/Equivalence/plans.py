"""Plans of all kinds for the tests of the equivalence check: (name, config or path of one, shape options, layout options)."""
import glob
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../Integration"))
import equivalence  # noqa: E402  (the layouts that are trained)

CASES = os.path.join(HERE, "../Integration/Reference/Cases")
EXPERTS = os.path.join(HERE, "../Integration/Inputs/expert-parallel.yaml")
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 8, "hidden_size": 8, "intermediate_size": 8,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0, "hidden_act": "silu", "initializer_range": 0.05, "tie_word_embeddings": False,
}
GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 9, "n_embd": 8, "n_layer": 2, "n_head": 4, "n_positions": 8,
        "n_inner": 12, "attn_pdrop": 0, "resid_pdrop": 0, "embd_pdrop": 0}
UNEVEN = {**LLAMA, "vocab_size": 7, "num_attention_heads": 5, "num_key_value_heads": 5, "hidden_size": 10, "intermediate_size": 9}


def trained():
    """Every layout that test/Integration trains."""
    inputs = os.path.join(HERE, "../Integration/Inputs")
    return [(name, os.path.join(inputs, model + ".json"), equivalence.SHAPE, options) for name, model, options in equivalence.LAYOUTS]


def families():
    """Every family of models in layouts of each kind; not all can be sharded so."""
    layouts = ["--dp 2 --tp 2 --micro-batch 2", "--tp 4 --micro-batch 2", "--tp 3 --micro-batch 4", "--pp 2 --tp 2 --micro-batch 2",
               "--dp 2 --pp 2 --micro-batch 1 --schedule zb1p", "--dp 2 --tp 2 --pp 2 --micro-batch 1 --recompute full",
               "--dp 2 --tp 2 --micro-batch 2 --sp --zero 1", "--ranks 4",
               "--dp 2 --tp 2 --pp 2 --micro-batch 1 --sp --zero 1 --precision bf16",
               "--cp 4 --micro-batch 2", "--dp 2 --cp 2 --tp 2 --pp 2 --micro-batch 1 --sp --zero 1 --precision bf16"]
    return [(os.path.basename(config)[:-5] + " " + layout, config, ["--seq-len", "8", "--global-batch", "8"], layout)
            for config in sorted(glob.glob(os.path.join(CASES, "*.json"))) for layout in layouts]


def small():
    """Programs that run in milliseconds on the interpreter."""
    shape = ["--seq-len", "4", "--global-batch", "8"]
    case = lambda name: os.path.join(CASES, name + ".json")  # noqa: E731
    return [
        ("llama dp2 tp2", LLAMA, shape, "--dp 2 --tp 2 --micro-batch 2"),
        ("llama dp2 tp2 pp2", LLAMA, shape, "--dp 2 --tp 2 --pp 2 --micro-batch 1"),
        ("uneven dp2 tp3", UNEVEN, shape, "--dp 2 --tp 3 --micro-batch 2"),
        ("tied tp2 pp2", {**LLAMA, "tie_word_embeddings": True}, shape, "--tp 2 --pp 2 --micro-batch 2"),
        ("gpt2 tp2 pp2", GPT2, shape, "--tp 2 --pp 2 --micro-batch 2"),
        ("llama dp2 pp4 zb1p", {**LLAMA, "num_hidden_layers": 4}, shape, "--dp 2 --pp 4 --micro-batch 1 --schedule zb1p"),
        ("recompute tp2 pp2", LLAMA, shape, "--tp 2 --pp 2 --micro-batch 2 --recompute full"),
        ("llama dp2 tp2 sp zero", LLAMA, shape, "--dp 2 --tp 2 --micro-batch 2 --sp --zero 1"),
        ("uneven dp2 tp2 pp2 sp zero", UNEVEN, shape, "--dp 2 --tp 2 --pp 2 --micro-batch 2 --sp --zero 1"),
        ("llama dp2 cp2 tp2", LLAMA, shape, "--dp 2 --cp 2 --tp 2 --micro-batch 2"),
        ("uneven cp2 tp2 sp zero", UNEVEN, shape, "--cp 2 --tp 2 --micro-batch 2 --sp --zero 1"),
        ("llama dp2 ulysses2 tp2 sp", {**LLAMA, "num_key_value_heads": 4}, shape, "--dp 2 --cp 2=ulysses --tp 2 --sp --micro-batch 2"),
        ("llama ulysses4 over groups", {**LLAMA, "num_key_value_heads": 1}, shape, "--cp 4=ulysses --micro-batch 2 --zero 1"),
        ("bloom ulysses2 pp2", case("bloom"), shape, "--cp 2=ulysses --pp 2 --micro-batch 2"),
        ("bloom cp2 pp2", case("bloom"), shape, "--cp 2 --pp 2 --micro-batch 2"),
        ("window cp4", case("sliding-window"), ["--seq-len", "8", "--global-batch", "4"], "--cp 4 --micro-batch 2"),
        ("experts over tp", case("mixtral"), ["--seq-len", "4", "--global-batch", "4"], "--plan tp"),
        ("experts over dp", case("mixtral"), ["--seq-len", "4", "--global-batch", "4", "--expert-capacity-factor", "1"], "--plan dp"),
        ("deepseek dp2 tp2", case("deepseek-v3"), shape, "--dp 2 --tp 2 --micro-batch 2"),
        ("bloom tp2 pp2", case("bloom"), shape, "--tp 2 --pp 2 --micro-batch 2"),
        ("llama dp2 zero 2", LLAMA, shape, "--dp 2 --micro-batch 1 --zero 2"),
        ("uneven dp2 tp2 sp zero 3", UNEVEN, shape, "--dp 2 --tp 2 --micro-batch 2 --sp --zero 3"),
        ("llama dp4 zero 3 in groups", LLAMA, shape, "--dp 4 --micro-batch 1 --zero 3 --shard-group 2"),
        ("llama dp2 pp2 interleaved zero 3", {**LLAMA, "num_hidden_layers": 4}, shape, "--dp 2 --pp 2 --vp 2 --micro-batch 1 --zero 3"),
        ("tied pp2 zbv", {**LLAMA, "tie_word_embeddings": True}, shape, "--pp 2 --micro-batch 1 --schedule zbv"),
        ("llama pp2 wave recompute", LLAMA, shape, "--pp 2 --micro-batch 1 --schedule wave --recompute full"),
        ("llama pp2 chimera", LLAMA, shape, "--pp 2 --micro-batch 1 --schedule chimera"),
        ("tied dp2 pp2 dualpipe zero 2", {**LLAMA, "tie_word_embeddings": True}, shape, "--dp 2 --pp 2 --micro-batch 1 --schedule dualpipe --zero 2"),
        ("llama dp2 tp4 in rows", LLAMA, shape, "--dp 2 --tp 4 --tp-rows 2 --micro-batch 2"),
        ("llama dp2 tp4 in rows sp zero 3", LLAMA, shape, "--dp 2 --tp 4 --tp-rows 2 --sp --zero 3 --micro-batch 2"),
        ("tied tp8 in rows and depth pp2", {**LLAMA, "tie_word_embeddings": True}, shape, "--tp 8 --tp-rows 2 --tp-depth 2 --pp 2 --micro-batch 2"),
        ("llama tp2 in 2 chunks", LLAMA, shape, "--tp 2 --product-pieces 2 --micro-batch 1"),
        ("uneven dp2 tp3 in 3 chunks", UNEVEN, shape, "--dp 2 --tp 3 --product-pieces 3 --micro-batch 1"),
        ("gpt2 tp2 pp2 in 6 chunks", GPT2, shape, "--tp 2 --pp 2 --product-pieces 6 --micro-batch 2 --recompute full"),
        ("bf16 dp2 tp2 zero3 4 chunks", LLAMA, shape, "--dp 2 --tp 2 --zero 3 --product-pieces 4 --micro-batch 1 --precision bf16"),
        ("llama dp2 tp2 sp in 3 chunks", LLAMA, ["--seq-len", "8", "--global-batch", "4"], "--dp 2 --tp 2 --sp --product-pieces 3 --micro-batch 1"),
        ("bf16 dp2 tp2 sp zero", LLAMA, shape, "--dp 2 --tp 2 --micro-batch 2 --sp --zero 1 --precision bf16"),
        ("bf16 tied tp2 pp2", {**LLAMA, "tie_word_embeddings": True}, shape, "--tp 2 --pp 2 --micro-batch 2 --precision bf16"),
    ]
