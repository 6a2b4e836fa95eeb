#!/usr/bin/env python3
"""Lists state of the runtime that does not belong to a rank, and exits with 1 if the table below lacks some of it.

    check-runtime-state.py [LIBPPCRT]        (build/dev/lib/libppcrt.a)
    check-runtime-state.py --self-test

A process may hold several ranks, so nothing that belongs to one may be a variable of the process, and nothing may run
before main. Reads the symbols of the library: variables that can be written, of the process or of a thread, and
constructors.
"""
import re
import shutil
import subprocess
import sys

# Name, as written in the source -> why it does not belong to a rank. Patterns match the whole name.
OF_THE_PROCESS = {
    r"fatal(Buffer|BufferSize|Handler|Context|Thread)": "what ends is the process, whichever of its ranks has the reason",
    r"mappings|mappingsLock|watch::installed": "a signal handler is the process's, and may look at plain memory only",
    r"openMp::found|OpenMpi::load::mpi|Library::load::library": "a library of the system, looked up once, constant afterwards",
    r"compose::pairs|byteOfCharacter::table": "a table of constants, made when first used",
    r"hasPackedProducts::known": "what the processor has, looked up once, constant afterwards",
}
OF_A_THREAD = {
    r"multiply::(packed|wide)[ABC]|runRounded::total|scratch::(buffers|memory|sizes)": "memory that a matmul overwrites before it reads it",
    r"library::instance|runBatched::products": "oneDNN's engine and prepared kernels, by shape",
    r"forEachOnThreads::turns": "what one call shares with the threads that help it",
}
CONSTRUCTORS = (".init_array", ".ctors", ".preinit_array")


def source_name(symbol):
    """`ppcrt::(anonymous namespace)::f<T>(int)::x (.0)` -> `f::x`"""
    name = symbol.replace("(anonymous namespace)::", "")
    name = re.sub(r" \(\.[\w.]+\)$| \[clone .*\]$", "", name)
    while True:
        shorter = re.sub(r"<[^<>]*>|\([^()]*\)( const)?", "", name)
        if shorter == name:
            break
        name = shorter
    return name.split(" ")[-1].replace("ppcrt::", "", 1)


def problems_of(sections, symbols):
    """`sections`: names; `symbols`: (demangled name, section, whether it is of a thread)."""
    problems = [f"section {name}: something runs before main" for name in sections if name.startswith(CONSTRUCTORS)]
    for symbol, section, of_thread in symbols:
        writable = re.match(r"\.(data|bss|tdata|tbss)(\.|$)", section) and not section.startswith(".data.rel.ro")
        if not writable or re.match(r"guard variable|DW\.ref|TLS ", symbol):
            continue
        name = source_name(symbol)
        if not any(re.fullmatch(pattern, name) for pattern in (OF_A_THREAD if of_thread else OF_THE_PROCESS)):
            kind = "thread" if of_thread else "process"
            problems.append(f"{name}: a variable of the {kind} that tools/dev/check-runtime-state.py does not list: "
                            "make it part of a rank, or say there why it belongs to none")
    return sorted(set(problems))


def read_library(path):
    program = shutil.which("llvm-readelf") or shutil.which("llvm-readelf-22") or sys.exit("llvm-readelf is not installed")
    text = subprocess.run([program, "-sSW", "--demangle", path], check=True, capture_output=True, text=True).stdout
    all_sections, symbols, sections = [], [], {}
    for line in text.splitlines():
        if line.startswith("File:"):
            sections = {}
        elif match := re.match(r"\s*\[\s*(\d+)\]\s+(\S+)", line):
            sections[match[1]] = match[2]
            all_sections.append(match[2])
        elif match := re.match(r"\s*\d+: [0-9a-f]+\s+\d+ (OBJECT|TLS)\s+\w+\s+\w+\s+(\d+) (.*)", line):
            symbols.append((match[3], sections[match[2]], match[1] == "TLS"))
    if not symbols:
        sys.exit(f"{path}: no symbols found")
    return all_sections, symbols


def self_test():
    cases = [
        ([".init_array"], [], 1),
        ([], [("ppcrt::RankContext::current", ".bss", False)], 1),
        ([], [("ppcrt::(anonymous namespace)::fatalBuffer", ".bss", False)], 0),
        ([], [("ppcrt::(anonymous namespace)::openMp()::found (.0)", ".bss", False)], 0),
        ([], [("ppcrt::(anonymous namespace)::scratch<ppcrt::Bf16>(int, long)::buffers", ".tbss", True)], 0),
        ([], [("ppcrt::(anonymous namespace)::scratch<ppcrt::Bf16>(int, long)::buffers", ".bss", False)], 1),
        ([], [("ppcrt::(anonymous namespace)::rankOfThisThread", ".tdata.x", True)], 1),
        ([], [("guard variable for ppcrt::OpenMpi::load()::mpi", ".bss", False)], 0),
        ([], [("ppcrt::roleNames", ".data.rel.ro", False)], 0),
    ]
    wrong = [case for case in cases if len(problems_of(case[0], case[1])) != case[2]]
    for case in wrong:
        print(f"self-test: {case}: {problems_of(case[0], case[1])}")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if len(sys.argv) > 2 or (sys.argv[1:] and sys.argv[1].startswith("-")):
        sys.exit("usage: check-runtime-state.py [LIBPPCRT] | --self-test")
    problems = problems_of(*read_library(sys.argv[1] if sys.argv[1:] else "build/dev/lib/libppcrt.a"))
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))


main()
