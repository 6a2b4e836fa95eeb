#!/usr/bin/env python3
"""Makes small byte-level tokenizers in the styles of well-known models, random texts, and the ids that the library `tokenizers`
gives them: what test/Runtime/TokenizerTest.cpp compares with.

    make_tokenizers.py [--output FOLDER] [--texts 120] [--seed 1] [CORPUS...]

Needs the package tokenizers (0.23 made those in the tree). A tokenizer that is in FOLDER is kept. More texts than are in the tree, once:

    make_tokenizers.py --output more --texts 20000 --seed 7 docs/*.md
    PPC_TOKENIZERS=more build/dev/bin/ppc-runtime-tests --gtest_filter='TokenizerTest*'
"""
import argparse
import json
import os
import random
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT4O = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
WORDS = "héllo naïve café ÅÄÖ straße 北京 東京 こんにちは мир привет 한국어 안녕 हिन्दी ภาษาไทย 🎉🚀 it's we'll 'S 12345 ½ ² "


def special(text):
    return AddedToken(text, special=True, normalized=False)


def byte_level(prefix=False, regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def split(*patterns):
    return splits(*((p, "isolated") for p in patterns))


def splits(*steps):
    return pre_tokenizers.Sequence([*(pre_tokenizers.Split(Regex(p), *how) for p, *how in steps), byte_level()])


STYLES = {  # pre-tokenizer, normalizer, added tokens, ignore_merges
    "gpt2": (byte_level(regex=True), None, [special("<|endoftext|>")], False),
    "prefix": (byte_level(prefix=True, regex=True), None, [special("<s>")], False),
    "llama3": (split(LLAMA3), None, [special("<|begin_of_text|>"), special("<|end_of_text|>")], True),
    "qwen2": (split(QWEN2), normalizers.NFC(), [special("<|im_start|>"), AddedToken("<tool>", special=False, normalized=False),
                                                 AddedToken("café", special=False, normalized=True)], False),
    "gpt4o": (split(GPT4O), None, [special("<|endoftext|>")], False),
    "deepseek": (split(*DEEPSEEK), None, [special("<｜begin▁of▁sentence｜>")], False),
    "starcoder": (pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level(regex=True)]), None,
                  [special("<|endoftext|>"), AddedToken("  ", special=False, normalized=True)], False),
    "affixes": (split(LLAMA3), normalizers.NFC(), [
        AddedToken("<mask>", special=True, normalized=False, lstrip=True), AddedToken("<end>", special=True, normalized=False, rstrip=True),
        AddedToken("<both>", special=False, normalized=True, lstrip=True, rstrip=True), AddedToken("  ", special=False, normalized=True),
        AddedToken("we", special=False, normalized=False, single_word=True),
        AddedToken("café", special=False, normalized=True, single_word=True, lstrip=True)], False),
    "previous": (splits((r"\s+", "merged_with_previous"), (r"\p{N}", "merged_with_previous", True)), None, [], False),
    "next": (splits((r"\s", "merged_with_next"), (r"\p{Lu}*", "merged_with_next")), None, [], False),
    "contiguous": (splits((r"[\s'😀-🙏]", "contiguous"), (r"\p{L}", "contiguous", True)), None, [], False),
}


def train(style, corpus, path):
    if os.path.exists(path):
        return Tokenizer.from_file(path)
    before, normalizer, added, ignore = STYLES[style]
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore))
    tokenizer.pre_tokenizer = before
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=440, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=[token for token in added if token.special]))
    tokenizer.add_tokens([token for token in added if not token.special])
    tokenizer.save(path, pretty=False)
    return tokenizer


def random_texts(count, draw):
    assigned = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) not in ("Cn", "Co")]
    pools = [list(range(32, 127)), [9, 10, 13, 32, 32, 32], list(range(0xA0, 0x250)), list(range(0x300, 0x370)), assigned,
             list(range(0x4E00, 0x4F00)) + list(range(0xAC00, 0xAD00)), list(range(0x1100, 0x1200)), list(range(0x900, 0x980)),
             [0x85, 0xA0, 0x180E, 0x2028, 0x2029, 0x200B, 0x3000, 0x1680, 0x2000, 0x17F, 0x212A, 0xFEFF],
             [ord(c) for c in "'sStTrReEvVmMlLdD"], list(range(0x1F300, 0x1F400)), list(range(0x30, 0x3A))]
    names = ["<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>", "<s>", "<|im_start|>", "<tool>", "café", "cafe\u0301",
             "<｜begin▁of▁sentence｜>", "  ", "<|endof", *3 * ["<mask>", "<end>", "<both>", "we", " \t", "\u3000"], *WORDS.split()]
    texts = []
    while len(texts) < count:
        parts = [draw.choice(names) if draw.random() < 0.2 else
                 "".join(chr(draw.choice(pool)) for _ in range(draw.randrange(1, 9)))
                 for pool in draw.choices(pools, k=draw.randrange(1, 12))]
        texts.append("".join(parts))
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default=HERE)
    parser.add_argument("--texts", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("corpus", nargs="*", default=[os.path.join(HERE, "../../../../README.md")])
    arguments = parser.parse_args()
    os.makedirs(arguments.output, exist_ok=True)
    corpus = [open(path, encoding="utf-8").read() for path in arguments.corpus] + [WORDS] * 200
    texts = random_texts(arguments.texts, random.Random(arguments.seed))
    found = {"texts": texts, "ids": {}}
    for style in STYLES:
        tokenizer = train(style, corpus, os.path.join(arguments.output, style + ".json"))
        found["ids"][style] = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    with open(os.path.join(arguments.output, "expected.json"), "w") as file:
        json.dump(found, file, separators=(",", ":"))


main()
