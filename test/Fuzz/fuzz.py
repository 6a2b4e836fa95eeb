#!/usr/bin/env python3
"""Fuzzes every reader of files, starting from the corpus in the tree; a crash leaves its input behind and names it.

    fuzz.py --build build/asan [--seconds 3600] [--keep FOLDER] [SUBJECT...]

--seconds is for each subject. --keep collects the inputs that reached new code, to be looked at or added to the corpus.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SUBJECTS = sorted(name[:-len("Fuzzer.cpp")] for name in os.listdir(HERE) if name.endswith("Fuzzer.cpp"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder of the preset asan")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--keep", default=None)
    parser.add_argument("subjects", nargs="*", default=SUBJECTS)
    arguments = parser.parse_args()
    failed = 0
    for subject in arguments.subjects:
        with tempfile.TemporaryDirectory() as scratch:
            found = os.path.join(arguments.keep or scratch, subject)
            os.makedirs(found, exist_ok=True)
            command = [os.path.join(arguments.build, "bin/ppc-fuzz-" + subject), f"-max_total_time={arguments.seconds}",
                       "-max_len=8192", "-rss_limit_mb=2048", "-timeout=10", "-artifact_prefix=" + os.getcwd() + f"/{subject}-",
                       found, os.path.join(HERE, "Corpus", subject)]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        runs = re.search(r"Done (\d+) runs", done.stdout)
        if done.returncode != 0 or not runs:
            failed += 1
            print(f"FAILED {subject}\n{done.stdout[-4000:]}")
        else:
            coverage = re.findall(r"cov: (\d+)", done.stdout)
            print(f"ok     {subject}: {runs[1]} inputs in {arguments.seconds} s, {coverage[-1] if coverage else '?'} edges reached")
    return 1 if failed else 0


sys.exit(main())
