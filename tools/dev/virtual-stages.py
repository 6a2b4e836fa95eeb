#!/usr/bin/env python3
"""Writes a large program by hand: a pipeline whose devices hold several chunks each, in interleaved 1F1B, with a schedule that no
pass makes yet. For measuring what verifies programs (compile-benchmark.py --program).

    virtual-stages.py [--devices 16] [--chunks 8] [--micro-batches 512] [--saved 20] -o FILE
"""
import argparse
import collections
import sys

TYPE = "4xf32"


class Device:
    """Actions of one device, with the tokens that uses of its buffers ask for."""

    def __init__(self, place):
        self.place, self.slots, self.lines, self.streams = place, {}, [], {}
        self.count = 0
        self.written, self.read = {}, collections.defaultdict(list)  # by buffer and slot: (action, stream)

    def add(self, text, stream, reads, writes, micro_batch):
        self.streams[stream] = True
        slot = lambda buffer: (buffer, micro_batch % self.slots[buffer] if buffer in self.slots else 0)  # noqa: E731
        after = {}
        for buffer in reads + writes:
            if slot(buffer) in self.written:
                after[self.written[slot(buffer)]] = True
        for buffer in writes:
            after.update((use, True) for use in self.read[slot(buffer)])
        last = {}  # of each other stream only the last
        for action, other in after:
            if other != stream:
                last[other] = max(last.get(other, -1), action)
        tokens = ", ".join(f"%{action}" for action in sorted(last.values()))
        self.lines.append(f"        %{self.count} = ppcrt.{text}{f' after({tokens})' if tokens else ''} on @{stream}\n")
        own = (self.count, stream)
        for buffer in reads:
            self.read[slot(buffer)].append(own)
        for buffer in writes:
            self.written[slot(buffer)], self.read[slot(buffer)] = own, []
        self.count += 1


def schedule(devices, chunks, micro_batches, device):
    """Interleaved 1F1B (Narayanan et al. 2021): (is backward, chunk, micro-batch)."""
    total = chunks * micro_batches
    warm_up = min(total, 2 * (devices - device - 1) + (chunks - 1) * devices)

    def work(number, backward):
        chunk = number // devices % chunks
        return backward, chunks - 1 - chunk if backward else chunk, number // (devices * chunks) * devices + number % devices

    order = [work(i, False) for i in range(warm_up)]
    for i in range(total - warm_up):
        order += [work(warm_up + i, False), work(i, True)]
    return order + [work(i, True) for i in range(total - warm_up, total)]


def slots(order, chunk):
    """How many micro-batches of a chunk are under way, from the oldest to the newest."""
    done, newest, most, oldest = set(), -1, 1, 0
    for backward, own, micro_batch in order:
        if own != chunk:
            continue
        if backward:
            done.add(micro_batch)
            while oldest in done:
                oldest += 1
        else:
            newest = max(newest, micro_batch)
            most = max(most, newest - oldest + 1)
    return most


class Program:
    def __init__(self, arguments):
        self.devices, self.chunks, self.micro_batches, self.saved = arguments.devices, arguments.chunks, arguments.micro_batches, arguments.saved
        self.functions = {}

    def neighbour(self, device, chunk, step):
        """Where a chunk's output goes (1), or its input comes from (-1); None at the ends."""
        number = chunk * self.devices + device + step
        return None if not 0 <= number < self.devices * self.chunks else (number % self.devices, number // self.devices)

    def function(self, kind, arguments, results):
        name = self.functions.setdefault((kind, arguments, results), f"{kind}{len(self.functions)}")
        return name

    def parts(self, device):
        """Buffers and routines of a device, and what each routine reads and writes."""
        order = schedule(self.devices, self.chunks, self.micro_batches, device)
        buffers, routines, own = [], {}, Device(device)
        lines = []
        for chunk in range(self.chunks):
            count = slots(order, chunk)
            before, behind = self.neighbour(device, chunk, -1), self.neighbour(device, chunk, 1)
            saved = [f"h{chunk}_{i}" for i in range(self.saved)]
            buffers += [(f"w{chunk}", f'parameter "w{device}.{chunk}"', 0), (f"g{chunk}", f'gradient "w{device}.{chunk}"', 0)]
            buffers += [(name, "saved", count) for name in saved]
            buffers.append((f"x{chunk}", "message" if before else f'input "x{chunk}"', count))
            if behind:
                buffers += [(f"y{chunk}", "saved", count), (f"dy{chunk}", "message", count)]
            if before:
                buffers.append((f"dx{chunk}", "saved", count))
            forward = [f"w{chunk}", f"x{chunk}"], saved + ([f"y{chunk}"] if behind else [])
            backward = [f"w{chunk}", f"x{chunk}", *saved, f"g{chunk}"] + ([f"dy{chunk}"] if behind else []), \
                [f"g{chunk}"] + ([f"dx{chunk}"] if before else [])
            for kind, (reads, writes) in (("forward", forward), ("backward", backward)):
                routines[kind, chunk] = reads, writes
                names = [", ".join("@" + name for name in part) for part in (reads, writes)]
                lines.append(f"      ppcrt.routine @{kind}{chunk} {kind} chunk {chunk} code @{self.function(kind, len(reads), len(writes))} "
                             f"reads [{names[0]}] writes [{names[1]}]\n")
        own.slots = {name: count for name, _, count in buffers if count}
        for backward, chunk, micro_batch in order:
            kind = "backward" if backward else "forward"
            source, target = self.neighbour(device, chunk, 1 if backward else -1), self.neighbour(device, chunk, -1 if backward else 1)
            if source:
                message = f"m_{kind}_{source[0]}_{source[1]}"
                own.add(f"receive @{message} micro_batch {micro_batch}", f"from{source[0]}", [], [("dy" if backward else "x") + str(chunk)], micro_batch)
            elif not backward:
                own.add(f"load micro_batch {micro_batch}", "compute", [], [f"x{chunk}"], micro_batch)
            own.add(f"run @{kind}{chunk} micro_batch {micro_batch}", "compute", *routines[kind, chunk], micro_batch)
            if target:
                own.add(f"send @m_{kind}_{device}_{chunk} micro_batch {micro_batch}", f"to{target[0]}",
                        [("dx" if backward else "y") + str(chunk)], [], micro_batch)
        return own, buffers, lines

    def write(self, out):
        out.write(f"module {{\n  ppcrt.program @train grid <pp = {self.devices}> micro_batches {self.micro_batches} {{\n")
        for place in range(self.devices):
            own, buffers, routines = self.parts(place)
            out.write(f"    ppcrt.device @device{place} at {place} {{\n")
            out.writelines(f"      ppcrt.stream @{stream}\n" for stream in own.streams)
            out.writelines(f"      ppcrt.buffer @{name} {role} : memref<{TYPE}>{f' slots {count}' if count else ''}\n" for name, role, count in buffers)
            out.writelines(routines)
            out.write("      ppcrt.step {\n")
            out.writelines(own.lines)
            out.write("      }\n    }\n")
            for chunk in range(self.chunks):
                for kind, source, target in (("forward", "y", "x"), ("backward", "dx", "dy")):
                    peer = self.neighbour(place, chunk, 1 if kind == "forward" else -1)
                    if peer:
                        out.write(f"    ppcrt.message @m_{kind}_{place}_{chunk} from @device{place}::@{source}{chunk} after @{kind}{chunk} "
                                  f"to @device{peer[0]}::@{target}{peer[1]} before @{kind}{peer[1]}\n")
        out.write("  }\n")
        for (kind, arguments, results), name in self.functions.items():
            given = ", ".join(f"%a{i}: tensor<{TYPE}>" for i in range(arguments))
            types = ", ".join([f"tensor<{TYPE}>"] * results)
            out.write(f'  func.func @{name}({given}) -> ({types}) attributes {{ppcrt.routine = "{kind}"}} {{\n'
                      f"    %0 = ppc.constant dense<1.0> : tensor<{TYPE}>\n    return {', '.join(['%0'] * results)} : {types}\n  }}\n")
        out.write("}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=16)
    parser.add_argument("--chunks", type=int, default=8, help="of each device")
    parser.add_argument("--micro-batches", type=int, default=512, help="a multiple of the devices")
    parser.add_argument("--saved", type=int, default=20, help="values that a forward keeps for its backward")
    parser.add_argument("-o", dest="output", required=True)
    arguments = parser.parse_args()
    if arguments.micro_batches % arguments.devices:
        parser.error(f"--micro-batches {arguments.micro_batches} is no multiple of --devices {arguments.devices}")
    with open(arguments.output, "w") as out:
        Program(arguments).write(out)


if __name__ == "__main__":
    sys.exit(main())
