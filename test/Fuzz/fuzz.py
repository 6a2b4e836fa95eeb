#!/usr/bin/env python3
"""Fuzzes every reader of files, starting from the corpus in the tree; a crash saves its input and names it.

    fuzz.py --build build/asan [--seconds 3600] [--keep FOLDER] [SUBJECT...]
    fuzz.py --build build/asan --keep FOLDER --pack

--seconds is for each subject. --keep collects the inputs that reached new code. --pack chooses among them and those in the tree
the fewest that reach all of it, and writes them to Corpus/found.tar.xz; human-readable inputs are next to it, in a folder for each subject.
"""
import argparse
import io
import lzma
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SUBJECTS = sorted(name[:-len("Fuzzer.cpp")] for name in os.listdir(HERE) if name.endswith("Fuzzer.cpp"))
CORPUS = os.path.join(HERE, "Corpus")
FOUND = os.path.join(CORPUS, "found.tar.xz")
LIMITS = ["-max_len=8192", "-rss_limit_mb=2048"]


def unpack(folder):
    with tarfile.open(FOUND) as archive:
        for member in archive.getmembers():
            path = os.path.join(folder, member.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(archive.extractfile(member).read())


def corpora(subject, unpacked):
    folders = [os.path.join(CORPUS, subject), os.path.join(unpacked, subject)]
    return [folder for folder in folders if os.path.isdir(folder)]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fuzz(arguments, subject, unpacked):
    """Whether nothing was found."""
    with tempfile.TemporaryDirectory() as scratch:
        found = os.path.join(arguments.keep or scratch, subject)
        os.makedirs(found, exist_ok=True)
        command = [os.path.join(arguments.build, "bin/ppc-fuzz-" + subject), f"-max_total_time={arguments.seconds}", *LIMITS,
                   "-timeout=10", "-dict=" + os.path.join(HERE, "magnitudes.dict"), "-artifact_prefix=" + os.getcwd() + f"/{subject}-", found, *corpora(subject, unpacked)]
        before = processor_seconds()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        used = processor_seconds() - before
    runs = re.search(r"Done (\d+) runs", done.stdout)
    if done.returncode != 0 or not runs:
        print(f"FAILED {subject}\n{done.stdout[-4000:]}")
        return False
    coverage = re.findall(r"cov: (\d+)", done.stdout)
    print(f"ok     {subject}: {runs[1]} inputs in {arguments.seconds} s ({used:.0f} s of CPU time), {coverage[-1] if coverage else '?'} edges reached")
    return True


def pack(arguments, unpacked):
    content = io.BytesIO()
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for subject in SUBJECTS:
            chosen = os.path.join(scratch, subject)
            os.makedirs(chosen)
            kept = os.path.join(arguments.keep, subject)
            subprocess.run([os.path.join(arguments.build, "bin/ppc-fuzz-" + subject), "-set_cover_merge=1", "-use_counters=0", *LIMITS, chosen,
                            *corpora(subject, unpacked), *([kept] if os.path.isdir(kept) else [])], check=True, stderr=subprocess.DEVNULL)
            for name in sorted(os.listdir(chosen)):
                entry = tarfile.TarInfo(f"{subject}/{name[:12]}")
                with open(os.path.join(chosen, name), "rb") as file:
                    text = file.read()
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text))
            print(f"{subject}: {len(os.listdir(chosen))} inputs")
    with open(FOUND, "wb") as file:
        file.write(lzma.compress(content.getvalue(), preset=9))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder of the preset asan")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--keep", default=None)
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("subjects", nargs="*", default=SUBJECTS)
    arguments = parser.parse_args()
    if arguments.pack and not arguments.keep:
        parser.error("--pack needs --keep FOLDER")
    with tempfile.TemporaryDirectory() as unpacked:
        unpack(unpacked)
        if arguments.pack:
            pack(arguments, unpacked)
            return 0
        return 1 if [subject for subject in arguments.subjects if not fuzz(arguments, subject, unpacked)] else 0


sys.exit(main())
