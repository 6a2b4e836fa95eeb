"""Generates layouts for a module: micro-batches, meshes, stages, slices of the sequence, schedules, and plan files that shard dimensions by name."""
import os
import re

SCHEDULES = ["1f1b"] * 4 + ["gpipe", "zb1p", "zb2p", "seq1f1b", "seq1f1b", "interleaved", "breadth-first", "chimera", "dualpipe"]
RANKS = 8


def divisors(number):
    return [part for part in range(1, number + 1) if number % part == 0]


def axes(text):
    """The names of dimensions in the module, and sizes of the inputs' first two."""
    names = sorted(set(re.findall(r'"([^"]*)"', " ".join(re.findall(r"ppc\.dims = \[([^\]]*)\]", text)))))
    batch, sequence = re.search(r"%ids: tensor<(\d+)x(\d+)xi32>", text).groups()
    return names, int(batch), int(sequence)


def draw(pick, text):
    names, batch, sequence = axes(text)
    layout = {"micro-batch": batch}
    layers = max((int(layer) for layer in re.findall(r"ppc\.layer = (\d+)", text)), default=0)
    if pick.random() < 0.75:
        layout["dp"] = pick.choice([dp for dp in (1, 1, 2, 2, 3, 4) if batch % dp == 0])
    each = batch // layout.get("dp", 1)
    layout["micro-batch"] = pick.choice(divisors(each))
    if pick.random() < 0.4:
        layout["tp"] = pick.choice([2, 2, 3, 4])
        layout["sp"] = pick.random() < 0.3
    if pick.random() < 0.25:
        layout["cp"] = pick.choice([2, 2, 3])
        layout["context"] = pick.choice(["all-gather", "ulysses"])
    if layers and pick.random() < 0.55:
        layout["pp"] = pick.choice([2, 2, 3])
        layout["schedule"] = pick.choice(SCHEDULES)
        if layout["schedule"] in ("interleaved", "breadth-first"):
            layout["vp"] = 2
    if pick.random() < 0.35:
        layout["zero"] = pick.choice([1, 1, 2, 3, 3])
    if pick.random() < 0.15:
        layout["recompute"] = pick.choice(["full", "selective"])
    if pick.random() < 0.1:
        layout["offload"] = pick.choice(["optimizer", "activations"])
    if pick.random() < 0.4:
        layout["overlap"] = True
    while ranks(layout) > RANKS:
        layout[pick.choice([key for key in ("dp", "tp", "cp", "pp") if layout.get(key, 1) > 1])] = 1
    if batch % (layout.get("dp", 1) * layout["micro-batch"]):
        layout["micro-batch"] = 1
    return {key: value for key, value in layout.items() if value is not False and (value != 1 or key == "micro-batch")}


def ranks(layout):
    return layout.get("dp", 1) * layout.get("tp", 1) * layout.get("cp", 1) * layout.get("pp", 1)


def plan_file(pick, text):
    """A plan that shards dimensions by name, over one axis or two."""
    names, batch, _ = axes(text)
    grid = pick.choice([{"tp": 2}, {"tp": 3}, {"dp": 2, "tp": 2}, {"tp": 4}])
    micro = pick.choice(divisors(batch // grid.get("dp", 1)))
    lines = ["grid: { " + ", ".join(f"{axis}: {size}" for axis, size in grid.items()) + " }", "stages: [ 0 ]", "schedule: 1f1b", f"micro_batches: {micro}", "dimensions:"]
    if "dp" in grid:
        lines.append("  batch: [ dp ]")
    others = [name for name in names if name != "batch"]
    for name in pick.sample(others, min(len(others), pick.choice([1, 1, 2, 3]))):
        lines.append(f'  "{name}": [ tp ]')
    return "\n".join(lines) + "\n"


def some(pick, text, count, folder, name):
    """The module on one rank without micro-batches, then random layouts; those with a plan file have its text under "plan"."""
    _, batch, _ = axes(text)
    result = [{"micro-batch": batch}]
    if pick.random() < 0.35 and count > 1:
        plan = plan_file(pick, text)
        path = os.path.join(folder, f"{name}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(plan)
        result.append({"plan-file": path, "overlap": pick.random() < 0.5})
    tries = 0
    while len(result) < count and tries < 50:
        tries += 1
        layout = draw(pick, text)
        if layout not in result:
            result.append(layout)
    return result
