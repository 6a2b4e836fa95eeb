#!/usr/bin/env python3
"""Finds what opens files in another place than those that are there for it, so that no output destroys an input, no failed write the
file that was there, and no input makes a tool hang.

Tools write through ppc/Support/OutputFile.h and read through ppc/Support/InputFile.h, compiled programs do both through
runtime/files/File.h. Each other place is in the table below, with why it needs none of that. Prints one line per place that is not,
and per entry of the table that is of no use, and exits with 1. `--self-test` checks the checker.
"""
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
FOLDERS = ("dialects", "include", "lib", "runtime", "tools")

# What opens a file for writing, makes one or gives one a name; what opens one for reading. A POSIX open names a flag.
WRITES = (r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|ofstream|fopen|fdopen|freopen|mkstemps?|mkostemps?|creat|raw_fd_stream|ToolOutputFile|openOutputFile|"
          r"writeToOutput|FileOutputBuffer|TempFile|createTemporaryFile|createUniqueFile|openFileForWrite|openFileForReadWrite|"
          r"openNativeFileForWrite|openNativeFileForReadWrite|copy_file|copy_options|resize_file|truncate64?|addopen|"
          r"raw_fd_ostream(?!\s*[&*])|(?<=fs::)rename|(?<=std::)rename|(?<=::)rename(?=\()|renameat2?")
READS = r"O_RDONLY|ifstream|getFile|getFileOrSTDIN|getFileSlice|getOpenFile|getSTDIN|openInputFile|openFileForRead|openNativeFileForRead"

# The places, and others with the words that they may use and why.
PLACES = {"lib/Support/OutputFile.cpp": WRITES + "|O_RDONLY", "lib/Support/InputFile.cpp": READS, "runtime/files/File.cpp": WRITES + "|" + READS}
OTHERS = {
    "lib/Codegen/RunTool.cpp": ("createTemporaryFile|getFile", "what a linker or an assembler says, in a file of its own"),
    "lib/Target/Cuda/Assembler.cpp": ("createTemporaryFile|getFile|raw_fd_ostream", "what the assembler takes and gives, in files of their own"),
    "runtime/files/FolderLock.cpp": ("O_RDWR|O_CREAT|O_RDONLY", "the lock of a folder must be one file that stays: it is taken, not written beside"),
    "runtime/base/Machine.cpp": ("ifstream", "what the system says in /proc"),
    "tools/ppc-bench/ProcessMemory.cpp": ("ifstream", "what the system says in /proc"),
    "tools/ppc-bench/Roofline.cpp": ("getFile", "what a program has written with --profile"),
    "tools/ppc-bench/Step.cpp": ("getFile", "what a program that it has started has written"),
    "tools/ppc-bench/StepParticipant.cpp": ("addopen|O_WRONLY|O_CREAT|O_TRUNC|getFile", "standard error of the programs that it starts, in a folder that Step.cpp has checked"),
    "tools/ppc-compile/CheckRun.cpp": ("getFile", "what a program that it has started has written in a scratch folder"),
    "tools/ppc-compile/TensorFile.cpp": ("getFile", "the same"),
    "tools/ppc-compile/ppc-compile.cpp": ("getFile", "what the linker has written in a scratch folder"),
}


def without_comments(text):
    """The code, line for line: comments and strings are blank."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())  # noqa: E731
    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)


def check_file(path, text):
    """Problems of one file, as lines of text, and the words of the tables that it uses."""
    used, problems = set(), []
    allowed = PLACES.get(path) or OTHERS.get(path, ("(?!)", ""))[0]
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        for kind, words, place in (("written", WRITES, "ppc/Support/OutputFile.h"), ("read", READS, "ppc/Support/InputFile.h")):
            for match in re.finditer(rf"(?<!\w)(?:{words})(?!\w)", line):
                used.add(match.group())
                if not re.search(rf"(?<!\w)(?:{allowed})(?!\w)", line):
                    place = "runtime/files/File.h" if path.startswith("runtime/") else place
                    problems.append(f"{path}:{number}: {match.group()}: files are {kind} through {place}; where that cannot be, say why in "
                                    "tools/dev/check-files.py")
    return problems, used


def sources():
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                if name.endswith((".h", ".cpp", ".c", ".cc", ".inc")):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def self_test():
    cases = [
        ("lib/Reporting/A.cpp", "llvm::raw_fd_ostream out(path, problem);", 1),
        ("lib/Reporting/A.cpp", "void print(llvm::raw_fd_ostream &out);", 0),
        ("lib/Reporting/A.cpp", "// an std::ofstream would do, or \"fopen\"\nf(\"O_CREAT\");", 0),
        ("tools/ppc-plan/A.cpp", "std::ofstream(path) << text;", 1),
        ("tools/ppc-plan/A.cpp", "int fd = open(path, O_WRONLY | O_CREAT);", 2),
        ("tools/ppc-plan/A.cpp", "auto text = llvm::MemoryBuffer::getFile(path);", 1),
        ("tools/ppc-plan/A.cpp", "std::filesystem::rename(a, b); fs::rename(a, b); renameFile(a, b); keep.rename();", 2),
        ("tools/ppc-bench/Step.cpp", "auto text = llvm::MemoryBuffer::getFile(path);\nstd::ofstream out;", 1),
        ("runtime/core/A.cpp", "FILE *f = fopen(path, \"w\");", 1),
        ("runtime/files/File.cpp", "fd = open(path, O_RDWR | O_CREAT); in = open(path, O_RDONLY);", 0),
        ("lib/Support/OutputFile.cpp", "auto text = llvm::MemoryBuffer::getFile(path);", 1),
    ]
    wrong = [(path, text, count, check_file(path, text)[0]) for path, text, count in cases if len(check_file(path, text)[0]) != count]
    for path, text, count, found in wrong:
        print(f"self-test: {path} with {text!r}: expected {count}, got {found}")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:]:
        sys.exit("usage: check-files.py [--self-test]")
    problems, unused = [], dict(OTHERS)
    for path in sources():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            found, used = check_file(path, file.read())
        problems += found
        if path in unused and used:
            del unused[path]
    problems += [f"tools/dev/check-files.py: {path} opens no files" for path in unused]
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


main()
