#!/usr/bin/env python3
"""The best plan of every model of test/Inputs/Models, and the best per pipeline schedule and per ZeRO level, as a table that is kept.

    best_plans.py --build BUILD [--against TABLE] [--write TABLE] [--compile host|cuda|both] [NAME...]

Plans for four nodes of eight H100, 128 for models above 100 billion parameters, by `ppc-plan` without a --target: all layouts that it can estimate. A row lists
the step time by formulas, the memory of a device, and the layout. --against compares with a kept table (Inputs/best-plans.csv) and
fails where a step is predicted slower than there by more than 0.1 %. --compile gives the plan of every row to ppc-compile at full
size, with the proof, and says what became of it; plans that are the same layout are compiled once. Dropout is turned off, which programs do not
have.
"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

import all_models

SCHEDULES = ["gpipe", "1f1b", "interleaved", "breadth-first", "zb1p", "zb2p", "zbv", "v-half", "v-min", "wave", "dualpipev", "chimera",
             "dualpipe", "seq1f1b"]
PINS = ["any"] + [f"schedule={name}" for name in SCHEDULES] + [f"zero={level}" for level in range(4)]
COLUMNS = ["model", "pin", "step_s", "memory_GiB", "layout"]
SLOWER = 1.001


def command(arguments, model, config, pin):
    shape = ["--seq-len", str(model["positions"]), "--global-batch", str(all_models.BATCH)]
    pins = [] if pin == "any" else ["--pin", pin]
    if pin.startswith("schedule="):
        pins += ["--forbid", "pp=1"]  # without a pipeline there is no schedule
    return [os.path.join(arguments.build, "bin/ppc-plan"), config, "--cluster", f"dgx-h100:{model['nodes']}", *shape, *pins]


def prepare(arguments, name, folder):
    """The configuration without dropout, and what its size asks for."""
    with open(os.path.join(all_models.MODELS, name + ".json")) as file:
        keys = json.load(file)
    keys.update({key: 0 for key in all_models.DROPOUT if keys.get(key, "n_embd" in keys and key.endswith("_pdrop"))})
    config = os.path.join(folder, name + ".json")
    with open(config, "w") as file:
        json.dump(keys, file)
    described = json.loads(subprocess.run([os.path.join(arguments.build, "bin/ppc-plan"), config, "--describe", "--emit", "json"],
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    parameters = described["parameters"]["total"] if isinstance(described["parameters"], dict) else described["parameters"]
    positions = min(all_models.SEQUENCE, keys.get("max_position_embeddings", keys.get("n_positions", all_models.SEQUENCE)))
    return config, {"positions": positions, "nodes": 128 if parameters > all_models.LARGE else 4}


def best(arguments, name, config, model, pin):
    done = subprocess.run([*command(arguments, model, config, pin), "--brief", "--top", "1", "--emit", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return {"model": name, "pin": pin, "step_s": "", "memory_GiB": "", "layout": refusal(done.stderr)}
    plan = json.loads(done.stdout)["plans"][0]
    return {"model": name, "pin": pin, "step_s": f"{plan['formulas_step_time_s']:.4f}",
            "memory_GiB": f"{plan['peak_memory_bytes'] / 2**30:.2f}", "layout": plan["summary"]}


def refusal(text):
    said = [line for line in text.splitlines() if "error:" in line]
    return re.sub(r"\s+", " ", said[0] if said else "no word").replace(",", ";")[:120]


def compiled(arguments, config, model, pin, folder):
    """ppc-compile's result for the best plan under a pin, for each target."""
    path = os.path.join(folder, "plan.yaml")
    subprocess.run([*command(arguments, model, config, pin), "--brief", "--emit", "plan", "-o", path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(path) as file:
        lacking = re.search(r"^# ppc-compile cannot run this: (.*)$", file.read(), re.M)
    if lacking:
        return f"lacks {lacking[1]}"
    shape = ["--seq-len", str(model["positions"]), "--global-batch", str(all_models.BATCH)]
    outcomes = []
    for target in ["host", "cuda"] if arguments.compile == "both" else [arguments.compile]:
        done = subprocess.run([os.path.join(arguments.build, "bin/ppc-compile"), config, *shape, "--plan", path, "--target", target,
                               "--emit=object", "-o", os.path.join(folder, "object")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            outcomes.append(f"{target}: {refusal(done.stdout.replace(path, 'plan'))}")
    return "; ".join(outcomes) or "compiles"


def compare(rows, kept):
    """Lines about steps that are predicted slower than in the kept table."""
    before = {(row["model"], row["pin"]): row for row in kept}
    for row in rows:
        old = before.get((row["model"], row["pin"]))
        if not old or not old["step_s"]:
            continue
        if not row["step_s"]:
            yield f"{row['model']} {row['pin']}: no plan any more: {row['layout']}"
        elif float(row["step_s"]) > SLOWER * float(old["step_s"]):
            yield f"{row['model']} {row['pin']}: {old['step_s']} -> {row['step_s']} s: {old['layout']} -> {row['layout']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-plan")
    parser.add_argument("--against", help="table to compare with")
    parser.add_argument("--write", help="file for the table")
    parser.add_argument("--compile", choices=["host", "cuda", "both"], help="also compile the plan of every row, for this target or for both")
    parser.add_argument("--pins", nargs="*", default=PINS, help="any, schedule=NAME, zero=N (all)")
    parser.add_argument("names", nargs="*", help="models, or parts of their names (all)")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    names = sorted(file[:-len(".json")] for file in os.listdir(all_models.MODELS))
    names = [name for name in names if not arguments.names or any(part in name for part in arguments.names)]
    if not names:
        parser.error("no model has such a name")
    rows, outcomes = [], {}  # by model and layout
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            config, model = prepare(arguments, name, folder)
            for pin in arguments.pins:
                row = best(arguments, name, config, model, pin)
                rows.append(row)
                print(" | ".join(row.values()), flush=True)
                layout = (name, row["layout"])
                if not arguments.compile or not row["step_s"] or layout in outcomes:
                    continue
                outcomes[layout] = compiled(arguments, config, model, pin, folder)
                print(f"{name}: the best plan{'' if pin == 'any' else ' with ' + pin} for {arguments.compile}: {outcomes[layout]}", flush=True)
    if arguments.write:
        with open(arguments.write, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    if arguments.compile:
        compiling = list(outcomes.values()).count("compiles")
        print(f"{compiling} of {len(outcomes)} layouts compile for {arguments.compile}")
    worse = []
    if arguments.against:
        with open(arguments.against, newline="") as file:
            worse = list(compare(rows, csv.DictReader(file)))
        print("\n".join(worse + [f"{len(worse)} of {len(rows)} steps are predicted slower than in the table"]))
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
