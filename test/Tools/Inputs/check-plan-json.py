"""Checks what must add up in ppc-plan --emit json. usage: check-plan-json.py FILE"""
import json
import math
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    data = json.load(file)


def same(what, a, b, tolerance=1e-6):
    if not math.isclose(a, b, rel_tol=tolerance):
        sys.exit(f"{what}: {a} and {b} differ")


for plan in data["plans"]:
    layout = plan["layout"]
    same("time", sum(plan["time_s"].values()), plan["formulas_step_time_s"])
    if plan["clock"] != "replayed" or plan["step_time_s"] != plan["simulated"]["step_time_s"]:
        sys.exit(f"the step takes {plan['step_time_s']} s by the clock {plan['clock']}, {plan['simulated']['step_time_s']} s replayed")
    if min(plan["time_s"].values()) < -1e-9 * plan["step_time_s"]:
        sys.exit(f"a kind of time is negative: {plan['time_s']}")
    for stage in plan["stages"]:
        parts = dict(stage["memory_bytes"])
        total = parts.pop("total")
        same("memory", sum(parts.values()), total)
    same("peak memory", max(stage["memory_bytes"]["total"] for stage in plan["stages"]), plan["peak_memory_bytes"])
    same("devices", layout["dp"] * layout["tp"] * layout["pp"] * layout["cp"], layout["devices"])
    if layout["pp"] * layout["vp"] > 1:
        same("layers", sum(layout["stage_layers"]), data["model"]["layers"])
        same("stages", len(layout["stage_layers"]), layout["pp"] * layout["vp"])
    tokens = data["job"]["sequence_tokens"] * data["job"]["global_batch"]
    step = plan.get("simulated", plan)["step_time_s"]  # rates are of the replayed step
    same("tokens", plan["tokens_per_s_per_device"] * layout["devices"] * step, tokens)
    # Ops are the compute kinds and the collectives of the layers, but for recomputation.
    compute = sum(op["step_s"] for op in plan["ops"] if op["class"] != "communication")
    same("ops", compute, sum(plan["time_s"][kind] for kind in ("matmul", "attention", "memory-bound")))
    # The replay holds the memory that the formulas say, and no device is busy for longer than the step.
    simulated = plan["simulated"]
    for stage, device in zip(plan["stages"], simulated["devices"], strict=True):
        same("replayed memory", device["peak_memory_bytes"], stage["memory_bytes"]["total"])
        same("replayed compute", max(device["busy_s"]["compute"] + device["idle_s"], simulated["step_time_s"]), simulated["step_time_s"])
        for stream, seconds in device["exposed_s"].items():
            if seconds > device["busy_s"][stream] * (1 + 1e-9):
                sys.exit(f"{stream} is exposed for {seconds} s and busy for less")
best = [plan["simulated"]["step_time_s"] for plan in data["plans"]]
if best != sorted(best) or not data["simplest"] < data["ties"]:
    sys.exit(f"plans are not in order: {best}")
