"""State of processes that tests have started, as the system reports it."""
import contextlib
import itertools
import os
import signal
import socket
import time

# Containers have root and fewer cores than ranks; a machine may bind ranks to cores that it shares.
# What Open MPI leaks comes from plugins that are gone when AddressSanitizer looks for leaks: no suppression could name them.
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
                   "OMPI_MCA_mpi_yield_when_idle": "1",
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


# Seconds after which a test takes it that something hangs for good: a machine may stand still for minutes, or its disk.
PATIENCE_S = 600


def eventually(condition, process=None):
    """Asks again and again; False if `process` has exited without, or after PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        has_ended = process is not None and process.poll() is not None
        if condition():
            return True
        if has_ended or time.monotonic() > deadline:
            return False
        time.sleep(0.01)


def free_port():
    """A free port of loopback, below the ephemeral ports, and another one in each process and call."""
    for number in PORTS:
        port = 10000 + (os.getpid() * 8 + number) % 20000
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


PORTS = itertools.count()


def children(pid):
    """Process ids of the children of a process."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def alive(pid):
    """Whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def ranks(pid):
    """Process ids by rank, of a program that forks its ranks or of mpirun; those that exist so far."""
    if "mpirun" not in os.path.basename(command(pid)) and "orterun" not in os.path.basename(command(pid)):
        return dict(enumerate(children(pid)))
    found = {}
    for child in children(pid):
        try:
            with open(f"/proc/{child}/environ", "rb") as file:
                variables = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
        except OSError:
            continue
        if b"OMPI_COMM_WORLD_RANK" in variables:
            found[int(variables[b"OMPI_COMM_WORLD_RANK"])] = child
    return found


def command(pid):
    """First word of the command line of a process; empty when there is none."""
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read().split("\0")[0]
    except OSError:
        return ""


def read(path):
    """A file of /proc, in one line; empty when there is none, or not for us."""
    try:
        with open(path) as file:
            return " | ".join(file.read().split("\n")).strip(" |")
    except OSError:
        return ""


def describe(pid, depth=0):
    """State of each thread of a process and of its children: state, wait channel in the kernel, system call, kernel stack."""
    lines = [f"{'  ' * depth}process {pid} ({command(pid)}):"]
    try:
        threads = sorted(os.listdir(f"/proc/{pid}/task"), key=int)
    except OSError:
        return lines[0] + " has ended"
    for thread in threads:
        folder = f"/proc/{pid}/task/{thread}"
        state = read(folder + "/stat").rpartition(")")[2].split()[:1]
        lines.append(f"{'  ' * depth}  thread {thread} ({read(folder + '/comm')}): state {''.join(state)}, in {read(folder + '/wchan')}, "
                     f"system call {read(folder + '/syscall')}, stack {read(folder + '/stack')}")
    return "\n".join(lines + [describe(child, depth + 1) for child in children(pid)])


def of_session(session):
    """Process ids of a session, which its first process began with its own id; not those that have exited."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and read(f"/proc/{name}/stat").rpartition(")")[2].split()[3:4] == [str(session)] and alive(name):
            found.append(int(name))
    return found


def end_session(session, seconds=10):
    """Kills the processes of a session, whatever group they are in, and those that they start meanwhile."""
    deadline = time.monotonic() + seconds
    while (left := of_session(session)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
