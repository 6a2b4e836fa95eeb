#!/usr/bin/env python3
"""What README and the pages say of the project is so: which families are read, what runs, which tools the demo leaves behind.

    statements.py SOURCE

Runs ppc-compile from PATH. Prints each statement that does not hold.
"""
import os
import re
import subprocess
import sys
import tempfile

FAMILIES = {  # architecture: what pages call it
    "BloomForCausalLM": "BLOOM", "DeepseekV32ForCausalLM": "DeepSeek-V3.2", "DeepseekV3ForCausalLM": "DeepSeek-V3", "GPT2LMHeadModel": "GPT-2", "GPTNeoXForCausalLM": "GPT-NeoX",
    "GemmaForCausalLM": "Gemma", "GlmMoeDsaForCausalLM": "GLM-5", "Phi3ForCausalLM": "Phi-4", "SeedOssForCausalLM": "Seed-OSS", "LlamaForCausalLM": "LLaMA", "MistralForCausalLM": "Mistral", "MixtralForCausalLM": "Mixtral",
    "Qwen2ForCausalLM": "Qwen2", "Qwen2MoeForCausalLM": "Qwen2-MoE", "Qwen3ForCausalLM": "Qwen3", "Qwen3MoeForCausalLM": "Qwen3-MoE",
}
SOURCE = sys.argv[1]
problems = []


def page(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


def expect(holds, statement):
    if not holds:
        problems.append(statement)


def refusal(*arguments):
    """What ppc-compile says when it refuses; "" where it does not."""
    done = subprocess.run(["ppc-compile", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.stderr if done.returncode else ""


def check_families(scratch):
    model = os.path.join(scratch, "config.json")
    with open(model, "w", encoding="utf-8") as file:
        file.write('{"architectures": ["NoneForCausalLM"]}')
    supported = set(re.findall(r"\w+(?:ForCausalLM|LMHeadModel)", refusal(model, "--seq-len", "8", "--global-batch", "1"))) - {"NoneForCausalLM"}
    expect(supported, "the error for an unknown architecture names those that are supported")
    listed = re.search(r"a folder that holds one: (.*?)\. An architecture", page("docs/guide/GettingStarted.md"), re.S)
    names = set(re.split(r",\s+", listed[1])) if listed else set()
    expect(names == {FAMILIES.get(each, each) for each in supported},
           f"docs/guide/GettingStarted.md lists the families that are read: it says {sorted(names)}, read are {sorted(supported)}")


def check_target():
    first = " ".join(page("README.md").split("```")[0].split())
    expect("run on CPUs" in first and "those for NVIDIA GPUs compile, and no GPU has run one" in first,
           "README says in its first lines that programs run on CPUs, and that no GPU has run what the target for CUDA makes")


def check_predictions():
    """The example of README is one run on one machine."""
    text = page("README.md")
    printed = {float(each) for each in re.findall(r"\(predicted ([\d.]+)[,)]", text)}
    planned = {float(each) for each in re.findall(r"^#   step +([\d.]+) ms$", text, re.M)}
    expect(len(planned) == 1 and printed == planned, f"README's program and its plan predict the same: {printed} and {planned} ms per step")


def check_demo():
    used = set(re.findall(r"\bppc-(?:compile|plan|bench|opt|module-reader)\b", page("README.md")))
    built = set(re.findall(r"ppc-[a-z-]+", " ".join(re.findall(r"--target (.*)", page("tools/dev/demo.sh")))))
    expect(used <= built, f"demo.sh builds what README uses: {sorted(used - built)} it does not")


def check_features():
    known = set(re.findall(r'available_features\.add\("(\w+)"\)', page("test/lit.cfg.py") + page("test/sanitize.cfg.py")))
    for folder in ("test", "docs"):
        for place, _, names in os.walk(os.path.join(SOURCE, folder)):
            for name in names:
                if name.endswith((".test", ".mlir", ".md")):
                    text = page(os.path.join(place, name))
                    for feature in re.findall(r"REQUIRES: (\w+)", text):
                        expect(feature in known, f"{os.path.join(place, name)}: test/lit.cfg.py sets no feature '{feature}'")


def check_precision():
    missing = re.search(r"Not yet run:.*?\.", page("docs/guide/Layouts.md"), re.S)[0]
    config = os.path.join(SOURCE, "test/Integration/Inputs/even.json")
    for precision, said in (("bf16", "bf16"), ("fp16", "fp16"), ("fp8", "fp8")):
        refused = bool(refusal(config, "--seq-len", "16", "--global-batch", "4", "--precision", precision, "--emit=model", "-o", os.devnull))
        expect(refused == (said in missing), f"docs/guide/Layouts.md says whether programs run products in {said}")


def check_counts():
    """Numbers that several pages state follow from one place each."""
    rows = re.findall(r"^\| [\w-]+ \| (\d+) \((\d+) excluded\)", page("docs/performance/accuracy.md"), re.M)
    predicted = f"{sum(int(count) - int(excluded) for count, excluded in rows):,}"
    limit = re.search(r"maxRanks = (\d+);", page("runtime/program/Manifest.cpp"))
    ranks = f"{int(limit[1]):,}" if limit else "unknown"
    faults = str(len(re.findall(r"^@fault\b", page("test/CudaStandIn/planted_faults.py"), re.M)))
    for number, what, names in (
            (predicted, "published steps that are predicted", ["README.md", "docs/guide/Status.md", "docs/performance/README.md", "docs/Rationale/PlannerInPlainData.md"]),
            (ranks, "ranks that a program starts with", ["README.md", "docs/guide/Status.md", "docs/guide/Questions.md", "docs/reference/Limits.md", "docs/internals/Runtime.md"]),
            (faults, "planted faults", ["docs/guide/Status.md", "docs/internals/Testing.md", "docs/performance/correctness.md"])):
        for name in names:
            expect(re.search(rf"(?<![\d,]){number}(?![\d,]*\d)", page(name)), f"{name} says that the {what} are {number}")


with tempfile.TemporaryDirectory() as folder:
    check_families(folder)
check_target()
check_predictions()
check_demo()
check_features()
check_precision()
check_counts()
print("\n".join("not so: " + each for each in problems) or "all statements hold")
sys.exit(1 if problems else 0)
