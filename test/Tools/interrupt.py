#!/usr/bin/env python3
"""A command that works for long says what it does, ends within two seconds of CPU time after an interrupt, and leaves no output.

    interrupt.py OUTPUT COMMAND...
"""
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE_S = 600  # until the first word, and until the end, also on a machine that does other things
END = 2  # seconds of CPU time from the interrupt to the end


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    output, *command = sys.argv[1:]
    if os.path.exists(output):
        os.remove(output)
    scratch = tempfile.mkdtemp()
    process = subprocess.Popen([*command, "-o", output], env={**os.environ, "TMPDIR": scratch}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # the test runner ignores it
    said = b""
    start = time.monotonic()
    while b" s so far" not in said and time.monotonic() - start < PATIENCE_S and process.poll() is None:
        if select.select([process.stderr], [], [], 1)[0]:
            said += os.read(process.stderr.fileno(), 1 << 16)
    if b" s so far" not in said:
        process.kill()
        sys.exit(f"no output in {time.monotonic() - start:.0f} s; status {process.poll()}: {said.decode()}")
    before = processor_seconds(process.pid)
    process.send_signal(signal.SIGINT)
    guard = threading.Timer(PATIENCE_S, process.kill)
    guard.start()
    _, status, used = os.wait4(process.pid, 0)
    guard.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime - before
    left = [name for name in os.listdir(os.path.dirname(output)) if name.startswith(os.path.basename(output))] + os.listdir(scratch)
    if seconds > END or process.returncode == 0 or left:
        sys.exit(f"ended after {seconds:.1f} s of CPU time with status {process.returncode}, leaves {left}")
    print(f"ended {seconds:.2f} s of CPU time after the interrupt: {said.decode().splitlines()[-1]}")


main()
