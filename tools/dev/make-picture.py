#!/usr/bin/env python3
"""Draws the picture of README, docs/images/plan.svg: a plan of ppc-plan, and the timeline of its simulated step.

usage: make-picture.py --plan-tool build/dev/bin/ppc-plan [--check]

Without --check the file is written. With it, exits with 1 if the file differs from a new picture.
"""
import argparse
import html
import json
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
PICTURE = "docs/images/plan.svg"
REQUEST = ["test/Inputs/Models/llama-3-70b.json", "--cluster", "dgx-h100:8", "--seq-len", "8192", "--global-batch", "32", "--stack", "megatron-core",
           "--tp", "4", "--pp", "4", "--dp", "4", "--vp", "1", "--cp", "1", "--schedule", "1f1b", "--micro-batch", "1", "--offload", "none"]
LEFT, WIDTH, TOP = 90, 890, 104  # of the timeline, in pixels
COMPUTE, LINE, STAGE = 22, 6, 46  # heights of a row of compute, of communication, and of a stage
COLOURS = {"forward": "#4e79a7", "backward": "#59a14f", "optimizer": "#e15759", "collectives of layers": "#9c9ede", "parameters and gradients": "#f28e2b", "sends": "#76b7b2"}
ROWS = {1: "collectives of layers", 2: "parameters and gradients", 3: "sends", 4: "sends"}  # by thread of the trace; 0 is compute
GAP = 2  # pixels between two spans of communication that are drawn as one


def ask(tool, form):
    done = subprocess.run([os.path.abspath(tool), *REQUEST, "--emit", form, "-o", "-"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"error: ppc-plan {' '.join(REQUEST)} --emit {form}: {done.stderr}")
    return json.loads(done.stdout)


def compute_blocks(events):
    """(stage, kind, micro-batch) -> first and last microsecond, waiting for collectives included."""
    blocks = {}
    for event in events:
        if event["tid"] > 1:
            continue
        key = event["pid"], event["cat"], event["args"].get("micro_batch", 0)
        first, last = blocks.get(key, (event["ts"], 0))
        blocks[key] = min(first, event["ts"]), max(last, event["ts"] + event["dur"])
    return blocks


def lines(events, scale):
    """(stage, kind) -> spans of communication in whole pixels, close ones joined."""
    spans = {}
    for event in sorted((each for each in events if each["tid"] in ROWS), key=lambda each: each["ts"]):
        first, last = round(event["ts"] * scale), round((event["ts"] + event["dur"]) * scale)
        row = spans.setdefault((event["pid"], ROWS[event["tid"]]), [])
        if row and first <= row[-1][1] + GAP:
            row[-1][1] = max(row[-1][1], last)
        else:
            row.append([first, max(last, first + 1)])
    return spans


def text(x, y, words, size=13, more=""):
    return f'<text x="{x}" y="{y}" font-size="{size}"{more}>{html.escape(words)}</text>'


def box(x, y, width, height, kind):
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{COLOURS[kind]}"/>'


def heading(answer):
    model, cluster, job, plan = answer["model"], answer["cluster"], answer["job"], answer["plans"][0]
    stages = ", ".join(map(str, plan["layout"]["stage_layers"]))
    low, high = plan["interval_90"]["low_s"], plan["interval_90"]["high_s"]
    return [text(10, 24, f"{model['name']} on {cluster['devices']} x {cluster['device']}, {job['global_batch']} sequences of {job['sequence_tokens']} tokens per step", 16,
                 ' font-weight="bold"'),
            text(10, 46, "plan: " + plan["summary"]),
            text(10, 66, f"layers per stage {stages}; predicted step {plan['step_time_s']:.2f} s (90 % range {low:.2f} to {high:.2f} s), "
                         f"MFU {100 * plan['mfu']:.0f} %, {plan['peak_memory_bytes'] / 2**30:.0f} GiB per rank")]


def picture(answer, trace):
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    scale = WIDTH / max(event["ts"] + event["dur"] for event in events)
    count = 1 + max(event["pid"] for event in events)
    parts = heading(answer)
    for stage in range(count):
        parts.append(text(10, TOP + STAGE * stage + 16, f"stage {stage}"))
    for (stage, kind, batch), (first, last) in sorted(compute_blocks(events).items()):
        x, end, y = LEFT + round(first * scale), LEFT + round(last * scale), TOP + STAGE * stage
        parts.append(box(x, y, max(end - x - 1, 1), COMPUTE, kind))
        if kind != "optimizer":
            parts.append(text((x + end) // 2, y + 15, str(batch), 11, ' fill="white" text-anchor="middle"'))
    for (stage, kind), spans in sorted(lines(events, scale).items()):
        y = TOP + STAGE * stage + COMPUTE + 1 + LINE * list(dict.fromkeys(ROWS.values())).index(kind)
        parts += [box(LEFT + first, y, last - first, LINE - 1, kind) for first, last in spans]
    bottom = TOP + STAGE * count + 14
    x = LEFT
    for kind in COLOURS:
        parts += [box(x, bottom - 10, 12, 12, kind), text(x + 17, bottom, kind, 12)]
        x += 35 + 7 * len(kind)
    parts.append(text(LEFT + WIDTH, bottom, "numbers: micro-batches", 12, ' text-anchor="end"'))
    size = f'width="{LEFT + WIDTH + 20}" height="{bottom + 12}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {LEFT + WIDTH + 20} {bottom + 12}" font-family="sans-serif" role="img">\n'
            f'<title>A plan for {html.escape(answer["model"]["name"])} and the timeline of its step</title>\n'
            f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-tool", required=True, help="ppc-plan")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    options = parser.parse_args()
    drawn = picture(ask(options.plan_tool, "json"), ask(options.plan_tool, "trace"))
    path = os.path.join(ROOT, PICTURE)
    if not options.check:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(drawn)
        return
    held = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    if held != drawn:
        sys.exit(f"{PICTURE} shows another plan or timeline: python3 tools/dev/make-picture.py --plan-tool build/dev/bin/ppc-plan writes it anew")
    print(f"{PICTURE} is up to date")


main()
