#!/usr/bin/env python3
"""A command that works for long says what it does, ends within two seconds of an interrupt, and leaves nothing of its output.

    interrupt.py OUTPUT COMMAND...
"""
import os
import select
import signal
import subprocess
import sys
import time

WORD, END = 30, 2  # seconds until the first word, also on a machine that does other things; until the end


def main():
    output, *command = sys.argv[1:]
    if os.path.exists(output):
        os.remove(output)
    process = subprocess.Popen([*command, "-o", output], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # what runs tests ignores it
    said = b""
    start = time.monotonic()
    while b" s so far" not in said and time.monotonic() - start < WORD and process.poll() is None:
        if select.select([process.stderr], [], [], 1)[0]:
            said += os.read(process.stderr.fileno(), 1 << 16)
    if b" s so far" not in said:
        process.kill()
        sys.exit(f"nothing said in {time.monotonic() - start:.0f} s; status {process.poll()}: {said.decode()}")
    process.send_signal(signal.SIGINT)
    interrupted = time.monotonic()
    try:
        process.wait(10 * END)
    except subprocess.TimeoutExpired:
        process.kill()
    seconds = time.monotonic() - interrupted
    left = [name for name in os.listdir(os.path.dirname(output)) if name.startswith(os.path.basename(output))]
    if seconds > END or process.returncode == 0 or left:
        sys.exit(f"ended after {seconds:.1f} s with status {process.returncode}, leaves {left}")
    print(f"ended {seconds:.2f} s after the interrupt: {said.decode().splitlines()[-1]}")


main()
