#!/usr/bin/env python3
"""Losses of data that is not trained on.

    evaluate.py --build BUILD

Each sample counts once, also those that do not fill a batch: the loss is the mean of those that a program of one sample at a time
finds one by one. Saved gradients belong to the last step, whether something is evaluated after it or not. With a learning rate of 0 the loss that is evaluated is, bit for bit, the mean of the losses of a run that trains on that data in
the order of the file. Evaluating leaves training as it is, bit for bit, and layouts agree within LOSS_TOLERANCE.
"""
import argparse
import json
import os
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
MODEL = os.path.join(HERE, "Inputs", "uneven.json")
SHAPE = ["--seq-len", "16", "--global-batch", "8"]
LAYOUTS = {
    "single": ["--dp", "1"],
    "micro-batches": ["--dp", "1", "--micro-batch", "2", "--recompute", "full"],
    "dp2-zero1": ["--dp", "2", "--zero", "1"],
    "tp2-sp": ["--tp", "2", "--sp"],
    "pp2-tp2": ["--pp", "2", "--tp", "2", "--micro-batch", "2"],
    "pp4-gpipe": ["--pp", "4", "--schedule", "gpipe", "--micro-batch", "1"],
    "bf16": ["--dp", "2", "--precision", "bf16"],
}
# A model with the initial values of seed 0; the loss of its first 5 and 10 samples, each counted once, as measured from outside.
KNOWN_MODEL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 259, "hidden_size": 48, "intermediate_size": 100,
               "num_hidden_layers": 4, "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 64,
               "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True}
KNOWN = {5: 5.592065, 10: 5.462883}
KNOWN_BATCHES = [1, 8, 10]
SAMPLES = [3, 8, 13]  # samples of a global batch of 8
LOSS_TOLERANCE = {"bf16": 1e-2}  # relative; 1e-5 otherwise


def held_out(scratch, samples):
    """The first of the same samples of 16 tokens."""
    path = os.path.join(scratch, f"held-{samples}")
    with open(path, "wb") as file:
        file.write(programs.english(8000, 3)[:16 * samples + 1])
    return path


def evaluated(program, held, **options):
    """Evaluation of a program before training."""
    with tempfile.NamedTemporaryFile() as log:
        programs.run([program, "--steps", "0", "--eval-data", held, "--log", log.name, "--quiet"]
                     + [f"--{name.replace('_', '-')}={value}" for name, value in options.items()])
        return json.loads(log.read())["eval_loss"]


def one_by_one(build, scratch):
    """The loss of each sample, by differences of the means of the first ones."""
    program = programs.compile_model(build, MODEL, ["--seq-len", "16", "--global-batch", "1"], os.path.join(scratch, "one"))
    count = max(SAMPLES)
    held = held_out(scratch, count)
    sums = [0.0] + [evaluated(program, held, eval_batches=n + 1) * (n + 1) for n in range(count)]
    return [b - a for a, b in zip(sums, sums[1:])]


def golden_losses(build, scratch):
    """Problems of held-out samples that are fewer than a batch, or no whole number of batches, against KNOWN, for all batches alike."""
    config, text = os.path.join(scratch, "known.json"), " ".join(str(number) for number in range(1, 100)).encode()
    with open(config, "w") as file:
        json.dump(KNOWN_MODEL, file)
    problems = []
    for batch in KNOWN_BATCHES:
        program = programs.compile_model(build, config, ["--seq-len", "32", "--global-batch", str(batch), "--micro-batch", "1"],
                                         os.path.join(scratch, f"known-{batch}"))
        for samples, wanted in KNOWN.items():
            held = os.path.join(scratch, "known")
            with open(held, "wb") as file:
                file.write(text[:161] if samples == 5 else text[:257] + b"z" * 64)
            found = evaluated(program, held)
            if not abs(found - wanted) <= 2e-6:
                problems.append(f"{samples} samples in batches of {batch}: {found}, not {wanted}")
    return problems


def gradients(program, data, scratch, **options):
    path = os.path.join(scratch, "gradients.safetensors")
    programs.train(program, data, 2, save_gradients=path, **options)
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    arguments = parser.parse_args()
    failed, single = 0, None
    with tempfile.TemporaryDirectory() as scratch:
        data, held = os.path.join(scratch, "text"), os.path.join(scratch, "held")
        for path, seed in ((data, 1), (held, 2)):
            with open(path, "wb") as file:
                file.write(programs.english(8000, seed))
        for text in golden_losses(arguments.build, scratch):
            print(text)
            failed += 1
        losses = one_by_one(arguments.build, scratch)
        for name, layout in LAYOUTS.items():
            program = programs.compile_model(arguments.build, MODEL, SHAPE + layout, os.path.join(scratch, name))
            options = {"lr": "1e-2", "min_lr": "1e-2", "warmup": "1"}
            plain = programs.train(program, data, 6, **options)
            lines = programs.train(program, data, 6, eval_data=held, eval_every=2, eval_batches=3, **options)
            still = programs.train(program, data, 1, lr="0", warmup="0", eval_data=held, eval_batches=3)
            expected = [line["loss"] for line in programs.train(program, held, 3, lr="0", warmup="0", order="sequential")]
            found = [line["eval_loss"] for line in lines if "eval_loss" in line]
            single = single or found
            worst = max(abs(a - b) / b for a, b in zip(found, single))
            problems = []
            if [line["loss"] for line in lines] != [line["loss"] for line in plain]:
                problems.append("evaluating changes the losses of training")
            if len(found) != 3 or found[0] == found[1]:
                problems.append(f"evaluated {found}")
            if abs(still[-1]["eval_loss"] - sum(expected) / 3) > 1e-12:
                problems.append(f"the loss is {still[-1]['eval_loss']!r}, but training finds {sum(expected) / 3!r}")
            for samples in SAMPLES:
                mean, seen = sum(losses[:samples]) / samples, evaluated(program, held_out(scratch, samples))
                if abs(seen - mean) / mean > LOSS_TOLERANCE.get(name, 1e-5):
                    problems.append(f"the loss of {samples} samples is {seen}, one by one {mean}")
            saved = gradients(program, data, scratch)
            if not any(saved[-256:]) or saved != gradients(program, data, scratch, eval_data=held, eval_batches=1):
                problems.append("evaluating changes the gradients that are saved")
            if worst > LOSS_TOLERANCE.get(name, 1e-5):
                problems.append(f"the losses {found} are not those of one rank, {single}")
            failed += bool(problems)
            print(f"{'FAILED' if problems else 'ok':6} {name}: {worst:.1e}")
            for problem in problems:
                print("    " + problem)
    sys.exit(1 if failed else 0)


main()
