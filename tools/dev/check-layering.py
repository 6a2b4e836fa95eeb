#!/usr/bin/env python3
"""Reads the #include lines of the tree against the table of who may include whom.

Prints one line per include that the table does not allow and exits with 1. `--self-test` checks the checker.
"""
import fnmatch
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))

# library, or room of the runtime or the tools -> those it may use (itself always). `*` stands for one folder name.
MAY_USE = {
    "Support": [],
    "Limits": [],  # headers of the standard library alone, which everything shares
    "Scheduling": ["Support"],
    "Sharding": ["Support"],
    "Model": ["Support"],
    "Cluster": ["Support"],
    "KernelModel": ["Model", "Cluster", "Support"],  # what a disassembler prints, and rates of devices
    "CostModel": ["Model", "Cluster", "Scheduling", "Sharding", "Support"],
    "TargetCapabilities": ["CostModel", "Model", "Cluster", "Scheduling", "Support"],  # plain data, which planner and compiler ask
    "Simulation": ["CostModel", "Model", "Cluster", "Scheduling", "Sharding", "Support"],
    "Planning": ["TargetCapabilities", "Simulation", "CostModel", "Model", "Cluster", "Sharding", "Scheduling", "Support"],
    "Reporting": ["TargetCapabilities", "Planning", "Simulation", "CostModel", "Model", "Cluster", "Sharding", "Scheduling", "Support"],
    "Interfaces": ["Sharding", "Support"],
    "dialects/ppc": ["Interfaces", "Sharding", "Support"],
    "dialects/ppcrt": ["dialects/ppc", "Interfaces", "Sharding", "Support"],  # programs hold blocks of logical tensors
    "Analysis": ["TargetCapabilities", "Sharding", "Planning", "CostModel", "Model", "Cluster", "Scheduling", "dialects/*", "Interfaces", "Support"],
    "Interpreter": ["Sharding", "dialects/*", "Interfaces", "Support"],
    "Equivalence": ["Sharding", "dialects/*", "Interfaces", "Support"],  # shares nothing with what it checks
    "Timing": ["Sharding", "dialects/*", "Interfaces", "Support"],  # knows neither schedules nor allocators
    "Transforms/Buffers": ["Transforms/*", "Conversion/*", "ConversionPasses", "dialects/*", "Interfaces", "Support"],  # the buffer passes of all targets
    "Transforms/*": ["TargetCapabilities", "Sharding", "Equivalence", "Timing", "Analysis", "Planning", "Simulation", "CostModel", "Model", "Cluster", "Scheduling", "dialects/*", "Interfaces", "Support"],
    "Conversion/*": ["Sharding", "dialects/*", "Interfaces", "Support", "ConversionPasses"],
    "ConversionPasses": [],  # one list of passes for all conversions
    "Import/*": ["Sharding", "dialects/ppc", "Interfaces", "Model", "Support"],
    "Codegen": ["dialects/*", "Support"],
    "Target": ["TargetCapabilities", "Codegen", "Transforms/*", "Conversion/*", "ConversionPasses", "dialects/*", "Interfaces", "Support"],  # not Phases, which asks it
    "Phases": ["Target", "TargetCapabilities", "Sharding", "Transforms/*", "Conversion/*", "ConversionPasses", "Analysis", "Planning", "CostModel", "Model", "Cluster", "Scheduling", "dialects/*", "Interfaces", "Support"],
    "Init": ["*", "*/*"],
    "tools/ppc-opt": ["Init", "Support"],
    "tools/ppc-compile": ["Init", "Phases", "Target", "TargetCapabilities", "Planning", "Codegen", "Equivalence", "Import/*", "Transforms/Plan", "Analysis", "Cluster", "dialects/*", "Support"],
    "tools/ppc-plan": ["Reporting", "TargetCapabilities", "Planning", "Simulation", "CostModel", "Model", "Cluster", "Scheduling", "Support"],
    "tools/ppc-plan/modules": ["tools/ppc-plan", "Import/*", "Phases", "Transforms/Contracts", "Analysis", "dialects/*", "Planning", "Support"],
    "tools/ppc-bench": ["Reporting", "KernelModel", "Model", "Cluster", "Support", "runtime/*"],  # it measures what programs run
    "runtime/include": [],
    "runtime/base": ["runtime/include"],
    "runtime/files": ["runtime/base"],
    "runtime/tokenizer": ["runtime/files", "runtime/base"],
    "runtime/data": ["runtime/tokenizer", "runtime/files", "runtime/base"],
    "runtime/transport": ["runtime/base"],  # the interface of transports and of device memory
    "runtime/program": ["runtime/transport", "runtime/files", "runtime/base", "runtime/include"],  # any kind of device
    "runtime/run": ["runtime/program", "runtime/files", "runtime/base"],
    "runtime/weights": ["runtime/run", "runtime/program", "runtime/transport", "runtime/files", "runtime/base"],
    "runtime/checkpoint": ["runtime/weights", "runtime/run", "runtime/program", "runtime/transport", "runtime/files", "runtime/base"],
    "runtime/watch": ["runtime/program", "runtime/transport", "runtime/base"],
    "runtime/executor": ["runtime/watch", "runtime/weights", "runtime/data", "runtime/program", "runtime/transport", "runtime/files", "runtime/base", "runtime/include"],
    "runtime/metrics": ["runtime/executor", "runtime/run", "runtime/program", "runtime/transport", "runtime/files", "runtime/base", "runtime/include"],
    "runtime/host": ["runtime/program", "runtime/executor", "runtime/transport", "runtime/base", "runtime/include"],
    "runtime/local": ["runtime/host", "runtime/watch", "runtime/transport", "runtime/base"],
    "runtime/mpi": ["runtime/host", "runtime/watch", "runtime/transport", "runtime/base"],
    "runtime/tcp": ["runtime/host", "runtime/transport", "runtime/base"],  # reductions of the host
    "runtime/cuda": ["runtime/executor", "runtime/program", "runtime/transport", "runtime/files", "runtime/base", "runtime/include"],
    "runtime/launch": ["runtime/*"],
    "test": ["*", "*/*", "*/*/*"],
}

# library -> roots of foreign headers it must not see, and why.
MUST_NOT_SEE = {
    "Support": (["mlir/"], "it is below the IR"),
    "Planning": (["mlir/"], "it is pure data and tests in milliseconds"),
    "Model": (["mlir/"], "it is pure data and tests in milliseconds"),
    "Cluster": (["mlir/"], "it is pure data and tests in milliseconds"),
    "TargetCapabilities": (["mlir/"], "the planner asks it and starts in milliseconds"),
    "KernelModel": (["mlir/"], "it is pure data and tests in milliseconds"),
    "CostModel": (["mlir/"], "it is pure data and tests in milliseconds"),
    "Sharding": (["mlir/"], "compiler and planner share it"),
    "Scheduling": (["mlir/"], "it is pure data and tests in milliseconds"),
    "Simulation": (["mlir/"], "it is pure data and tests in milliseconds"),
    "Reporting": (["mlir/"], "it is pure data and ppc-plan starts in milliseconds"),
    "tools/ppc-plan": (["mlir/"], "it starts in milliseconds; ModuleLibrary.cpp is loaded when a module is read"),
    "tools/ppc-bench": (["mlir/"], "it measures machines, not models"),
    "runtime/*": (["mlir/", "llvm/", "llvm-c/"], "an executable needs no compiler"),
}

# The whole file is exempt; each with its reason.
EXEMPT = {"include/ppc/Sharding/Combiner.td": "declares an enum for attributes, too; the C++ generated from it includes nothing",
          "include/ppc/Planning/PlanKeys.td": "declares an enum; the C++ generated from it includes nothing"}

# Functions that only some files may call -> patterns of those, reason.
ONLY_CALLED_IN = {
    "defaultTarget()": (["include/ppc/TargetCapabilities/TargetCapabilities.h", "tools/*/Options.cpp", "lib/Phases/RegisterPhases.cpp",
                         "include/ppc/Transforms/*/Passes.td", "test/*"],
                        "options choose a target where none is named; everything else asks the chosen one"),
}

PATHS = [  # path pattern -> library; the first that matches
    (r"include/ppc/Support/(Limits|NearestName)\.h$", "Limits"),
    (r"(?:include/ppc|lib/Phases)/InitPpc\.(?:h|cpp)$", "Init"),
    (r"include/ppc/Conversion/Passes\.(?:h|td)", "ConversionPasses"),
    (r"(?:include/ppc|lib)/(Transforms|Conversion|Import)/(\w+)(?:/|\.h)", r"\1/\2"),
    (r"(?:include/ppc|lib)/(?:Transforms|Conversion|Import)/[^/]*$", "Phases"),
    (r"(?:include/ppc|lib)/(\w+)/", r"\1"),
    (r"(dialects/\w+)/", r"\1"),
    (r"tools/ppc-plan/ModuleLibrary\.cpp$", "tools/ppc-plan/modules"),
    (r"(tools/[\w-]+)/", r"\1"),
    (r"(runtime/[\w-]+)/", r"\1"),
    (r"(runtime|test)/", r"\1"),
]
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SOURCES = (".h", ".cpp", ".td", ".c", ".cc", ".hpp")


def library_of(path):
    for pattern, name in PATHS:
        match = re.match(pattern, path)
        if match:
            return match.expand(name)
    return None


def target_of(include, path):
    """The library that an include line of the file `path` names; None for a foreign header."""
    if include.startswith("ppc/"):
        return library_of("include/" + include)
    if re.match(r"(dialects|runtime|lib|tools|test)/", include):
        return library_of(include)
    if os.path.basename(include) == "ppcrt.h":
        return "runtime/include"
    beside = os.path.normpath(os.path.join(os.path.dirname(path), include))
    return library_of(beside) if os.path.exists(os.path.join(ROOT, beside)) else None


def allowed(user, used):
    patterns = next(table for name, table in MAY_USE.items() if fnmatch.fnmatch(user, name))
    return used in (user, "Limits") or any(fnmatch.fnmatchcase(used, p) and p.count("/") == used.count("/") for p in patterns)


def check_file(path, text):
    """Problems of one file, as lines of text."""
    user = library_of(path)
    if user is None or path in EXEMPT:
        return []
    if not any(fnmatch.fnmatch(user, name) for name in MAY_USE):
        return [f"{path}: library '{user}' is not in the table of tools/dev/check-layering.py"]
    problems = []
    roots, reason = next((rule for name, rule in MUST_NOT_SEE.items() if fnmatch.fnmatchcase(user, name)), ([], ""))
    for match in INCLUDE.finditer(text):
        where = f"{path}:{text.count(chr(10), 0, match.start(1)) + 1}"
        include = match.group(1)
        if any(include.startswith(root) for root in roots):
            problems.append(f"{where}: {user} must not include \"{include}\": {reason}")
        used = target_of(include, path)
        if used is not None and not allowed(user, used):
            problems.append(f"{where}: {user} must not use {used} (\"{include}\")")
    for call, (callers, why) in ONLY_CALLED_IN.items():
        at = text.find(call)
        if at >= 0 and not any(fnmatch.fnmatchcase(path, caller) for caller in callers):
            problems.append(f"{path}:{text.count(chr(10), 0, at) + 1}: {user} must not call {call}: {why}")
    return problems


def sources():
    for top in ("dialects", "include", "lib", "runtime", "tools", "test"):
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders[:] = [name for name in folders if name != "Inputs"]
            for name in names:
                if name.endswith(SOURCES):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def self_test():
    cases = [
        ("lib/Planning/A.cpp", '#include "mlir/IR/Builders.h"', 1),
        ("lib/Planning/A.cpp", '#include "ppc/Support/Units.h"', 0),
        ("lib/Transforms/Sharding/A.cpp", '#include "ppc/Transforms/Pipeline/Passes.h"', 1),
        ("lib/Transforms/Sharding/A.cpp", '#include "ppc/Transforms/Sharding/Passes.h"', 0),
        ("lib/Transforms/Sharding/A.cpp", '#include "ppc/Conversion/PpcToLinalg/PpcToLinalg.h"', 1),
        ("dialects/ppc/IR/A.cpp", '#include "dialects/ppcrt/PpcRt.h"', 1),
        ("include/ppc/Interfaces/A.td", 'include "ppc/Analysis/B.td"', 1),
        ("runtime/host/A.cpp", '#include "llvm/ADT/StringRef.h"', 1),
        ("runtime/base/A.cpp", '#include "ppc/Support/Limits.h"', 0),
        ("runtime/base/A.cpp", '#include "ppc/Support/NearestName.h"', 0),
        ("runtime/base/A.cpp", '#include "ppc/Support/Units.h"', 1),
        ("lib/Codegen/A.cpp", '#include "ppcrt.h"', 1),
        ("tools/ppc-opt/ppc-opt.cpp", '#include "ppc/InitPpc.h"', 0),
        ("lib/TargetCapabilities/HostCapabilities.cpp", '#include "mlir/IR/Builders.h"', 1),
        ("lib/TargetCapabilities/HostCapabilities.cpp", '#include "ppc/Target/Target.h"', 1),
        ("lib/Target/Host/HostTarget.cpp", '#include "ppc/Phases/Phases.h"', 1),
        ("lib/Target/Host/HostTarget.cpp", '#include "ppc/Conversion/Passes.h"', 0),
        ("lib/Planning/A.cpp", '#include "ppc/TargetCapabilities/TargetCapabilities.h"', 0),
        ("lib/Planning/A.cpp", '#include "ppc/Target/Target.h"', 1),
        ("lib/Newcomer/A.cpp", "", 1),
        ("runtime/base/A.cpp", '#include "runtime/host/Threads.h"', 1),
        ("runtime/base/A.h", '#include "runtime/include/ppcrt.h"', 0),
        ("runtime/host/A.cpp", '#include "runtime/transport/Transport.h"', 0),
        ("runtime/host/A.cpp", '#include "runtime/launch/Launch.h"', 1),
        ("runtime/host/A.cpp", '#include "../launch/Launch.h"', 1),
        ("runtime/launch/A.cpp", '#include "runtime/launch/Launcher.h"', 0),
        ("runtime/newcomer/A.cpp", "", 1),
        ("tools/ppc-opt/ppc-opt.cpp", '#include "tools/ppc-plan/PlanRun.h"', 1),
        ("tools/ppc-compile/A.cpp", '#include "runtime/program/Manifest.h"', 1),
        ("tools/ppc-plan/A.cpp", '#include "mlir/IR/Builders.h"', 1),
        ("tools/ppc-plan/A.cpp", '#include "ppc/Import/HuggingFace.h"', 1),
        ("tools/ppc-plan/ModuleLibrary.cpp", '#include "ppc/Import/HuggingFace.h"', 0),
        ("tools/ppc-bench/A.cpp", '#include "runtime/host/Threads.h"', 0),
        ("tools/newcomer/A.cpp", "", 1),
        ("lib/Transforms/Plan/A.cpp", "findStack(defaultTarget().stack)", 1),
        ("tools/ppc-plan/Options.cpp", "options->compiled = &defaultTarget();", 0),
    ]
    wrong = [case for case in cases if len(check_file(case[0], case[1])) != case[2]]
    for path, text, count in wrong:
        print(f"self-test: {path} with {text!r}: expected {count}, got {check_file(path, text)}")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:]:
        sys.exit("usage: check-layering.py [--self-test]")
    problems = []
    for path in sorted(sources()):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            problems += check_file(path, file.read())
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


main()
