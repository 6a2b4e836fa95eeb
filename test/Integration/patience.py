#!/usr/bin/env python3
"""Checks how programs.py handles commands that do not end: it reports their output and position, and leaves none of their processes.

    patience.py
"""
import os
import signal
import subprocess
import sys
import tempfile

import processes
import programs

HERE = os.path.dirname(os.path.realpath(__file__))
# Prints words, and starts a process in a group of its own, which outlives it unless it is killed.
HANGS = "echo these words; set -m; sleep 1000 & set +m; echo $! >&2; "


def gone(pids):
    return processes.eventually(lambda: not any(processes.alive(pid) for pid in pids))


def numbers(text):
    return [int(line) for line in text.split("\n") if line.isdigit()]


def late():
    """One that hangs is an error of its own, however much it has printed."""
    for seconds in (1, 4, 16, 64, 256):  # until it has come to where it hangs
        try:
            programs.run(["bash", "-c", HANGS + "wait"], timeout=seconds)
        except programs.Failed as failure:
            text = str(failure)
        else:
            raise AssertionError("a command that hangs has exited")
        started = numbers(text)
        assert text.startswith(f"not ended after {seconds} s: bash -c"), text
        if not started or f"process {started[0]} (sleep):" not in text:
            continue
        assert "\nthese words\n" in text and "\nprocess " in text and f"\n  process {started[0]} (sleep):\n    thread " in text, text
        assert "state S, in " in text and "system call " in text and "stack " in text, text
        assert len(started) == 1 and gone(started), f"{started} go on"
        return
    raise AssertionError("it has not reported where it is")


def left():
    """One that ends and leaves a process."""
    started = numbers(programs.run(["bash", "-c", HANGS + "exit 0"]))
    assert len(started) == 1 and gone(started), f"{started} go on"


def failed():
    try:
        programs.run(["bash", "-c", "echo these words; exit 3"])
    except programs.Failed as failure:
        assert failure.status == 3 and "these words" in str(failure), failure
        return
    raise AssertionError("a command that fails has succeeded")


# A test with running commands in two threads, and more that are to come.
TEST = """
import concurrent.futures, sys
sys.path.insert(0, sys.argv[1])
import programs
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for _ in range(20):
        pool.submit(programs.run, ["bash", "-c", f"echo $$ >> {sys.argv[2]}; sleep 1000 & wait"])
"""


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def heed_signals():
    """Processes that a shell starts in the background, or under nohup, ignore some."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def interrupted(number, scratch):
    """A test that is killed while commands run kills them, too, and starts no more."""
    listed = os.path.join(scratch, str(number))
    test = subprocess.Popen([sys.executable, "-c", TEST, HERE, listed], stderr=subprocess.DEVNULL, preexec_fn=heed_signals)

    def begun():
        with open(listed, "a+") as file:
            file.seek(0)
            return numbers(file.read())

    processes.eventually(lambda: len(begun()) >= 2, test)
    started = begun()
    children = [child for pid in started for child in processes.children(pid)]
    test.send_signal(number)
    status = test.wait(programs.PATIENCE_S)
    with open(listed) as file:
        assert numbers(file.read()) == started and len(started) == 2, "commands began after the end"
    assert status and gone(started + children), f"status {status}: {started}, {children} go on"


def main():
    late()
    left()
    failed()
    with tempfile.TemporaryDirectory() as scratch:
        for number in SIGNALS:
            interrupted(number, scratch)
    print("commands that hang are named, and leave nothing")


if __name__ == "__main__":
    main()
