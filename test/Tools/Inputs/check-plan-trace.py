"""Checks ppc-plan --emit trace against --emit json. usage: check-plan-trace.py TRACE JSON"""
import collections
import json
import math
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
with open(sys.argv[2], encoding="utf-8") as file:
    plan = json.load(file)["plans"][0]

spans = [event for event in events if event["ph"] == "X"]
names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
stages = plan["layout"]["pp"]
if sorted(names) != [(device, track) for device in range(stages) for track in range(4)]:
    sys.exit(f"tracks are {names}")
end = max(event["ts"] + event["dur"] for event in spans)
if not math.isclose(end, plan["step_time_s"] * 1e6, rel_tol=1e-6):
    sys.exit(f"the trace ends at {end} us, the step at {plan['step_time_s']} s")
compute = collections.defaultdict(list)
for event in spans:
    if names[event["pid"], event["tid"]] == "compute":
        compute[event["pid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
for device, actions in compute.items():
    actions.sort()
    for one, two in zip(actions, actions[1:]):
        if two[0] < one[1] - 1e-3:
            sys.exit(f"device {device}: {one} and {two} overlap")
    forwards = [name for _, _, name in actions if name.startswith("F")]
    if len(forwards) != 16 * plan["layout"]["vp"]:
        sys.exit(f"device {device}: {len(forwards)} forwards")
