"""What the system says of processes that tests have started."""


def children(pid):
    """Process ids of the children of a process."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def alive(pid):
    """Whether a process runs; not when it has ended and nobody has asked for its status yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
