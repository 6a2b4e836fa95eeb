#!/usr/bin/env python3
"""What programs.py does about commands that do not end: it says what they printed and where they are, and leaves none of their processes.

    patience.py
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

import processes
import programs

HERE = os.path.dirname(os.path.realpath(__file__))
# Prints words, and starts a process in a group of its own, which outlives it unless somebody ends it.
HANGS = "echo these words; set -m; sleep 1000 & set +m; echo $! >&2; "


def gone(pids, seconds=10):
    deadline = time.time() + seconds
    while any(processes.alive(pid) for pid in pids) and time.time() < deadline:
        time.sleep(0.01)
    return not any(processes.alive(pid) for pid in pids)


def numbers(text):
    return [int(line) for line in text.split("\n") if line.isdigit()]


def late():
    """One that hangs is an error of its own, however much it has printed."""
    try:
        programs.run(["bash", "-c", HANGS + "wait"], timeout=1)
    except programs.Failed as failure:
        text = str(failure)
        started = numbers(text)
        assert failure.status is None and text.startswith("not ended after 1 s: bash -c"), text
        assert "\nthese words\n" in text and "\nprocess " in text and f"\n  process {started[0]} (sleep):\n    thread " in text, text
        assert "state S, in " in text and "system call " in text and "stack " in text, text
        assert len(started) == 1 and gone(started), f"{started} go on"
        return
    raise AssertionError("a command that hangs has ended")


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


# A test with commands under way in two threads, and more that are to come.
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
    """What a shell starts in the background, or under nohup, is told to ignore some."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def interrupted(number, scratch):
    """A test that is ended with commands under way takes them with it, and begins no more."""
    listed = os.path.join(scratch, str(number))
    test = subprocess.Popen([sys.executable, "-c", TEST, HERE, listed], stderr=subprocess.DEVNULL, preexec_fn=heed_signals)
    started, deadline = [], time.time() + 60
    while len(started) < 2 and time.time() < deadline:
        time.sleep(0.02)
        if os.path.exists(listed):
            with open(listed) as file:
                started = numbers(file.read())
    children = [child for pid in started for child in processes.children(pid)]
    test.send_signal(number)
    status = test.wait(60)
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
