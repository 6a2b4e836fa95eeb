"""Asks ppc-plan and ppc-compile of the same modules: of no plan may ppc-plan say that ppc-compile runs it, or cannot, where
ppc-compile finds otherwise; what ppc-compile chooses by itself must compile.

    plan_answers.py --build build/dev [--all] MODULE...

Every third module has another question; `--all` asks all questions of all modules.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

QUESTIONS = [["--devices", "2", "--pp", "2"], ["--devices", "2", "--target", "host"], ["--devices", "2", "--pin", "micro_batch=1"],
             ["--devices", "1", "--micro-batch", "2"], ["--devices", "4"]]
# A model whose samples are coupled, with numbered layers.
COUPLED = """module @coupled {
func.func @loss(
    %ids: tensor<8x16xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
    %targets: tensor<8x16xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
    %t: tensor<64x32xf32> {ppc.parameter = "table", ppc.dims = ["vocab", "hidden"], ppc.init = #ppc.init<normal, 0.5>},
    %w: tensor<32x32xf32> {ppc.parameter = "w", ppc.dims = ["out", "in"], ppc.init = #ppc.init<normal, 0.2>}) -> tensor<f32> {
  %x = ppc.embedding %t, %ids {ppc.layer = 0 : i64} : (tensor<64x32xf32>, tensor<8x16xi32>) -> tensor<8x16x32xf32>
  %y = ppc.matmul "bsh,oh->bso" %x, %w {ppc.layer = 1 : i64} : (tensor<8x16x32xf32>, tensor<32x32xf32>) -> tensor<8x16x32xf32>
  %s = ppc.reduce #ppc.combiner<sum> %y dims [0, 1] {ppc.layer = 1 : i64} : tensor<8x16x32xf32> to tensor<32xf32>
  %m = ppc.scale %s by 7.812500e-03 {ppc.layer = 1 : i64} : tensor<32xf32>
  %b = ppc.broadcast %m dims [0, 1] {ppc.layer = 1 : i64} : tensor<32xf32> to tensor<8x16x32xf32>
  %c = ppc.sub %y, %b {ppc.layer = 1 : i64} : tensor<8x16x32xf32>
  %z = ppc.mul %c, %c {ppc.layer = 1 : i64} : tensor<8x16x32xf32>
  %l = ppc.matmul "bsh,vh->bsv" %z, %t {ppc.layer = 2 : i64} : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
  %nll, %lse = ppc.cross_entropy %l, %targets {ppc.layer = 2 : i64} : (tensor<8x16x64xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] {ppc.layer = 2 : i64} : tensor<8x16xf32> to tensor<f32>
  %loss = ppc.scale %sum by 7.812500e-03 {ppc.layer = 2 : i64} : tensor<f32>
  return %loss : tensor<f32>
}
}
"""


def run(command):
    return subprocess.run(command, capture_output=True, text=True)


def errors_of(done):
    return " ".join(line for line in done.stderr.splitlines() if "error" in line)


def ask(tools, module, question, folder):
    """ppc-plan's statement about its first plan, ppc-compile's result, and a sentence if they differ."""
    command = [os.path.join(tools, "ppc-plan"), module, "--cluster", "local:4", *question]
    plan = os.path.join(folder, "plan.yaml")
    answer, written = run(command + ["--emit", "json"]), run(command + ["--emit", "plan", "-o", plan])
    compiler = [os.path.join(tools, "ppc-compile"), module, "--emit=device", "-o", os.path.join(folder, "program")]
    if answer.returncode == 1 and "error:" in answer.stderr:
        refused = re.search(r"error: (\S+\.mlir:\d+:\d+: .*)", answer.stderr)
        if refused and refused.group(1) not in run(compiler).stderr:
            return "no plan", f"ppc-plan refuses the model, ppc-compile does not: {refused.group(1)}"
        return "no plan", None
    if answer.returncode or written.returncode:
        return "failed", errors_of(answer) + errors_of(written)
    best = json.loads(answer.stdout)["plans"][0]
    layout = best["layout"]
    done = run(compiler + ["--plan", plan, "--ranks", str(layout["dp"] * layout["tp"] * layout["pp"])])
    if best["compiled"] == (done.returncode == 0):
        return "runs" if best["compiled"] else "cannot run", None
    return "failed", f"ppc-plan says compiled: {best['compiled']} ({best.get('not_compiled', '')}) of {best['summary']}; ppc-compile: {errors_of(done)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("modules", nargs="+")
    options = parser.parse_args()
    tools, counts, failed = os.path.join(options.build, "bin"), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        coupled = os.path.join(folder, "coupled.mlir")
        with open(coupled, "w") as file:
            file.write(COUPLED)
        asked = [(module, question) for number, module in enumerate(options.modules) for question in
                 (QUESTIONS if options.all else [QUESTIONS[number % 3]])] + [(coupled, question) for question in QUESTIONS[:2]]
        for module, question in asked:
            verdict, why = ask(tools, module, question, folder)
            counts[verdict] = counts.get(verdict, 0) + 1
            if why:
                print(f"FAILED {module} {' '.join(question)}: {why}")
                failed += 1
        for chosen in (["--pp", "2"], []):  # it compiles its own choice
            done = run([os.path.join(tools, "ppc-compile"), coupled, "--ranks", "2", *chosen, "--emit=device", "-o", coupled + ".out"])
            if done.returncode:
                print(f"FAILED --ranks 2 {' '.join(chosen)}: {errors_of(done)}")
                failed += 1
    print(f"{sum(counts.values())} questions: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    sys.exit(1 if failed or not counts.get("runs") or not counts.get("cannot run") else 0)


if __name__ == "__main__":
    main()
