"""Code shared by the baselines of `ppc-bench step`: the command line, the files, and the conversation with ppc-bench.

A baseline is started once and takes lines from standard input: `steps N` runs N training steps, the end of the input ends it.
It answers with JSON lines: {"ready": what it is} when it can begin, {"seconds": [...], "losses": [...]} after each request,
{"absent": why} when a package is missing.
"""
import argparse
import json
import sys
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True, help="config.json of a LLaMA")
    parser.add_argument("--weights", required=True, help="model.safetensors, f32")
    parser.add_argument("--tokens", required=True, help="uint32 token ids, one sample after the other")
    parser.add_argument("--sequence", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--precision", choices=["f32", "bf16"], required=True)
    parser.add_argument("--compile", action="store_true", help="PyTorch: torch.compile")
    return parser.parse_args()


def say(**what):
    print(json.dumps(what), flush=True)


def absent(error, package):
    say(absent=f"{error}; install it with: pip install {package}")
    sys.exit(0)


def read_safetensors(path):
    """Name to numpy array, of a file that holds f32 only."""
    import numpy

    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start, tensors = file.tell(), {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            if entry["dtype"] != "F32":
                sys.exit(f"{path}: {name} is {entry['dtype']}, expected F32")
            begin, end = entry["data_offsets"]
            file.seek(start + begin)
            tensors[name] = numpy.frombuffer(file.read(end - begin), numpy.float32).reshape(entry["shape"])
    return tensors


class Batches:
    """Inputs and targets of one step after the other, [batch, sequence] int32; begins again at the end of the file."""

    def __init__(self, options):
        import numpy

        self.tokens = numpy.fromfile(options.tokens, numpy.uint32).astype(numpy.int32)
        self.batch, self.sequence = options.batch, options.sequence
        self.samples = (len(self.tokens) - 1) // self.sequence
        self.next = 0

    def take(self):
        import numpy

        starts = [(self.next + i) % self.samples * self.sequence for i in range(self.batch)]
        self.next += self.batch
        rows = numpy.stack([self.tokens[start : start + self.sequence + 1] for start in starts])
        return rows[:, :-1], rows[:, 1:]


def decays(name):
    """Weight decay is for matrices, not for norms."""
    return "norm" not in name


class AdamW:
    """The constants of the optimizer that ppc-compile uses unless told otherwise."""

    beta1, beta2, epsilon, weight_decay, max_norm = 0.9, 0.95, 1e-8, 0.1, 1.0


def serve(description, step):
    """`step()` runs one training step to its end and returns the loss."""
    say(ready=description)
    for line in sys.stdin:
        seconds, losses = [], []
        for _ in range(int(line.split()[1])):
            start = time.perf_counter()
            losses.append(step())
            seconds.append(time.perf_counter() - start)
        say(seconds=seconds, losses=losses)
