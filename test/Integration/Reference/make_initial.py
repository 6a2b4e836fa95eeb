#!/usr/bin/env python3
"""Writes initial.json: how transformers begins each parameter of each model of Cases/, as check_initial.py compares it.

Runs where make_goldens.py does:
    ENV/bin/python make_initial.py
"""
import collections
import glob
import json
import os

import torch
import transformers
from make_goldens import known_class, named_parameters

HERE = os.path.dirname(os.path.realpath(__file__))
SEEDS = 12


def values(fields):
    """{parameter: values of all seeds, [seed, ...]}, router biases included."""
    drawn, fields = collections.defaultdict(list), known_class(fields)
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        config = transformers.AutoConfig.for_model(fields["model_type"]).from_dict(dict(fields))
        model = getattr(transformers, fields["architectures"][0])(config).float()
        for name, value in named_parameters(model):
            drawn[name].append(value.detach().clone())
    return {name: torch.stack(list_of) for name, list_of in drawn.items()}


def figures(drawn):
    """Number of values, their mean and deviation, and the rows that are zero if others are not."""
    rows = drawn.reshape(SEEDS, drawn.shape[1], -1)
    zero = [row for row in range(rows.shape[1]) if not rows[:, row].any()]
    zero = zero if len(zero) < rows.shape[1] else []
    rest = rows[:, [row for row in range(rows.shape[1]) if row not in zero]]
    return {"count": rest.numel(), "mean": float(f"{rest.mean():.6g}"), "deviation": float(f"{rest.std():.6g}"), "zero_rows": zero}


def main():
    found = {}
    for path in sorted(glob.glob(os.path.join(HERE, "Cases", "*.json"))):
        with open(path) as file:
            fields = json.load(file)
        found[os.path.basename(path)[:-len(".json")]] = {name: figures(drawn) for name, drawn in values(fields).items()}
    text = ",\n".join(f'"{name}": {{\n' + ",\n".join(f'  "{parameter}": {json.dumps(row)}' for parameter, row in rows.items()) + "}"
                      for name, rows in found.items())
    with open(os.path.join(HERE, "initial.json"), "w") as file:
        file.write("{\n" + text + "\n}\n")


main()
