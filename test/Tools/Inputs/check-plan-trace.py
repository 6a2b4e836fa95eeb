"""Checks ppc-plan --emit trace against --emit json. usage: check-plan-trace.py TRACE JSON"""
import collections
import json
import math
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    plan = json.load(file)["plans"][0]

events = trace["traceEvents"]
spans = [event for event in events if event["ph"] == "X"]
names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
stages = plan["layout"]["pp"]
for device in range(stages):
    tracks = {name for (pid, _), name in names.items() if pid == device}
    wanted = {"compute", "layer collectives", "state collectives", "messages forward", "messages backward"}
    if tracks != wanted:
        sys.exit(f"device {device} has the tracks {tracks}")
step = trace["otherData"]["step_time_s"]
if not math.isclose(step, plan["simulated"]["step_time_s"], rel_tol=0.02):  # there tasks are chunks, here ops
    sys.exit(f"the step takes {step} s in the trace and {plan['simulated']['step_time_s']} s in the plan")
by_stream = collections.defaultdict(list)
for event in spans:
    by_stream[event["pid"], names[event["pid"], event["tid"]]].append((event["ts"], event["ts"] + event["dur"], event))
for (device, stream), slices in by_stream.items():
    slices.sort(key=lambda item: item[:2])
    for one, two in zip(slices, slices[1:]):
        if stream != "layer collectives" and two[0] < one[1] - 1e-3:
            sys.exit(f"device {device}, {stream}: {one} and {two} overlap")
for device in range(stages):
    compute = [event for _, _, event in by_stream[device, "compute"]]
    forwards = {(event["args"]["stage"], event["args"]["micro_batch"]) for event in compute if event["cat"] == "forward"}
    if len(forwards) != 16 * plan["layout"]["vp"]:
        sys.exit(f"device {device}: {len(forwards)} forwards")
    # For the first micro-batch every op of every layer has an event with its details.
    products = [event for event in compute if event["cat"] == "forward" and event["args"]["micro_batch"] == 0
                and event["name"] == "qkv projection"]
    layers = sum(plan["layout"]["stage_layers"][stage] for stage in range(device, len(plan["layout"]["stage_layers"]), stages))
    if len(products) != layers or not all(event["args"]["forward_flops"] > 0 for event in products):
        sys.exit(f"device {device}: {len(products)} qkv projections in {layers} layers")
    held = [event["args"]["bytes"] for event in events if event["ph"] == "C" and event["pid"] == device]
    if not math.isclose(max(held), plan["stages"][device]["memory_bytes"]["total"], rel_tol=1e-6):
        sys.exit(f"device {device} holds up to {max(held)} bytes, not {plan['stages'][device]['memory_bytes']['total']}")
    updates = [event for event in compute if event["cat"] == "optimizer"]
    if len(updates) != 1:
        sys.exit(f"device {device}: {len(updates)} updates")
if not {event["id"] for event in events if event["ph"] == "s"} == {event["id"] for event in events if event["ph"] == "f"}:
    sys.exit("an arrow has one end only")
