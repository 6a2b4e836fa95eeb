#!/usr/bin/env python3
"""Injects faults into programs for GPUs, one at a time, and checks that each is reported.

    planted_faults.py --build BUILD [NAME...]

Programs are compiled as they are, which must train; then their PTX, their table of launches, or what they say of buffers, messages and
actions is changed in the executable, or the fake driver executes another call than the runtime has issued (Driver/Plant.h), and it is started
on a fake GPU. Every fault must end it with an error of the expected kind: by the runtime, which reads the table, or by
the fake driver, which executes it. NAME, or a part of one, selects.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../Integration"))
import cuda  # noqa: E402
import programs  # noqa: E402

QWEN = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 128, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "max_position_embeddings": 160, "initializer_range": 0.05, "tie_word_embeddings": False, "hidden_act": "silu",
        "attention_bias": False}
GPT2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 131, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 24,
        "activation_function": "gelu_new", "attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "initializer_range": 0.2}
EVEN = os.path.join(HERE, "../Integration/Inputs/even.json")
# name -> configuration, options: attention on tensor cores; GEMMs with epilogues; copies of the model; stages; ranks
# with a GPU each where the name says NCCL
PROGRAMS = {
    "tiles": (QWEN, ["--seq-len", "160", "--global-batch", "1", "--micro-batch", "1", "--precision", "bf16", "--ranks", "1"]),
    "epilogues": (GPT2, ["--seq-len", "16", "--global-batch", "1", "--micro-batch", "1", "--precision", "bf16", "--ranks", "1"]),
    "copies": (EVEN, ["--seq-len", "16", "--global-batch", "4", "--micro-batch", "1", "--dp", "2", "--zero", "1"]),
    "stages": (EVEN, ["--seq-len", "16", "--global-batch", "4", "--micro-batch", "1", "--pp", "2"]),
    "overlapped": (EVEN, ["--seq-len", "16", "--global-batch", "4", "--micro-batch", "1", "--dp", "2", "--overlap", "on"]),
    "NCCL copies": (EVEN, ["--seq-len", "16", "--global-batch", "4", "--micro-batch", "1", "--dp", "2", "--zero", "1", "--overlap", "on"]),
    "NCCL stages": (EVEN, ["--seq-len", "16", "--global-batch", "4", "--micro-batch", "1", "--pp", "2"]),
    "NCCL halves": (EVEN, ["--seq-len", "16", "--global-batch", "4", "--micro-batch", "1", "--tp", "2", "--overlap", "on"]),
}
FAULTS = []


def fault(program, expected, where="table"):
    """Registers a fault: the decorated function changes the manifest (a dictionary), the PTX (it returns the new text), or the calls of the
    fake driver (it returns a value of PPC_STANDIN_PLANT)."""
    def add(function):
        FAULTS.append((function.__name__, program, expected, where, function))
        return function
    return add


def operations(manifest, what):
    """(operations of the function, index) of the operations of a kind."""
    return [(body["operations"], i) for body in manifest["code"]["bodies"] for i, operation in enumerate(body["operations"])
            if operation[0] == what]


def first(manifest, what, place=0):
    body, i = operations(manifest, what)[place]
    return body[i]


def kernel_text(text, has):
    """Begin and end of the first kernel whose code has this."""
    for found in re.finditer(r"\.visible \.entry .*?\n}\n", text, re.S):
        if re.search(has, found[0]):
            return found.start(), found.end()
    raise LookupError(has)


def in_kernel(text, has, pattern, replacement, count=1):
    begin, end = kernel_text(text, has)
    changed, done = re.subn(pattern, replacement, text[begin:end], count=count, flags=re.M)
    assert done, (has, pattern)
    return text[:begin] + changed + text[end:]


# ---- Epilogues of GEMMs ----
def epilogue(manifest, has):
    return next(body[i][5] for body, i in operations(manifest, "product") if len(body[i]) == 6 and has in body[i][5])


@fault("epilogues", r"has no algorithm")
def sum_beside_the_result_is_misaligned(manifest):
    epilogue(manifest, "sum")["sum"][1] += 8


@fault("epilogues", r"out of bounds.*of the bias|the bias.*is not in one allocation")
def bias_past_the_arena(manifest):
    epilogue(manifest, "bias")["bias"][1] += 1 << 40


@fault("epilogues", r"uninitialized")
def sum_is_kept_nowhere(manifest):
    del epilogue(manifest, "sum")["sum"]


@fault("epilogues", r"\"at\" goes with gelu_gradient")
def gradient_at_no_place(manifest):
    del epilogue(manifest, "at")["at"]


# ---- Kernels ----
@fault("tiles", r"race|uninitialized", "ptx")
def copies_are_not_waited_for(text):
    return in_kernel(text, "mma.sync", r"^\s*cp\.async\.wait_group[^;]*;", "", 0)


@fault("tiles", r"race|uninitialized", "ptx")
def barrier_after_copies_is_missing(text):
    return in_kernel(text, "mma.sync", r"^\s*bar\.sync[^;]*;", "", 1)


@fault("tiles", r"race", "ptx")
def tile_is_overwritten_while_it_is_read(text):
    begin, end = kernel_text(text, "mma.sync")
    places = [found for found in re.finditer(r"^\s*bar\.sync[^;]*;", text[begin:end], re.M)]
    at = begin + places[-1].start()
    return text[:at] + text[begin + places[-1].end():]


@fault("tiles", r"uninitialized", "ptx")
def tile_is_never_copied(text):
    return in_kernel(text, "mma.sync", r"^\s*cp\.async\.cg[^;]*;", "", 0)


@fault("tiles", r"barrier|divergence|race|uninitialized", "ptx")
def half_of_a_warp_meets_no_barrier(text):
    text = in_kernel(text, "mma.sync", r"\.reg \.pred\s+%p<", ".reg .b32 %planted;\n.reg .pred %half;\n.reg .pred %p<")
    return in_kernel(text, "mma.sync", r"^\s*bar\.sync([^;]*);",
                     r"mov.u32 %planted, %tid.x; setp.lt.u32 %half, %planted, 16; @%half bar.sync\1;")


@fault("tiles", r"out of bounds", "ptx")
def store_past_the_arena(text):
    return in_kernel(text, r"st\.global", r"(st\.global[^\[]*\[%rd\d+)(\+\d+)?\]", r"\1+99999744]")


@fault("tiles", r"out of bounds", "ptx")
def load_before_the_arena(text):
    return in_kernel(text, r"ld\.global", r"(ld\.global[^\[]*\[%rd\d+)(\+\d+)?\]", r"\1+-99999744]")


@fault("tiles", r"misaligned", "ptx")
def vector_access_off_by_four_bytes(text):
    return in_kernel(text, r"ld\.global\.v4", r"(ld\.global\.v4[^\[]*\[%rd\d+)\]", r"\1+4]")


@fault("tiles", r"misaligned|cp\.async", "ptx")
def copy_off_by_eight_bytes(text):
    return in_kernel(text, r"cp\.async\.cg", r"(cp\.async\.cg[^\[]*\[[^\]]*\],\s*\[%rd\d+)(\+\d+)?\]", r"\1+8]")


@fault("tiles", r"trap", "ptx")
def kernel_gives_up(text):
    return in_kernel(text, r"mma\.sync", r"^\s*ret;", "trap;\nret;")


@fault("tiles", r"PTX|image|INVALID", "ptx")
def instruction_that_no_machine_has(text):
    return in_kernel(text, r"mma\.sync", r"ldmatrix\.sync\.aligned\.m8n8\.x4\.shared\.b16", "ldmatrix.sync.aligned.m8n8.x9.shared.b16")


@fault("tiles", r"code\.kernels: .* has no kernel", "ptx")
def kernel_is_called_otherwise(text):
    return in_kernel(text, r"mma\.sync", r"\.visible \.entry (\w)", r".visible .entry z")


# ---- Launches ----
@fault("tiles", r"out of bounds")
def too_many_blocks(manifest):
    for kernel in manifest["code"]["kernels"]:
        kernel["blocks"] *= 4096


@fault("tiles", r"threads|maxntid|INVALID|launch")
def more_threads_than_the_kernel_is_for(manifest):
    manifest["code"]["kernels"][first(manifest, "launch")[1]]["threads"] *= 2


@fault("tiles", r"shared")
def more_shared_memory_than_there_is(manifest):
    manifest["code"]["kernels"][0]["shared"] = 300000


@fault("tiles", r"has no kernel")
def kernel_that_is_not_in_the_image(manifest):
    manifest["code"]["kernels"][0]["name"] = "no_such_kernel"


@fault("tiles", r"is defined twice")
def two_kernels_of_one_name(manifest):
    manifest["code"]["kernels"][1]["name"] = manifest["code"]["kernels"][0]["name"]


@fault("tiles", r"operands for .* which takes")
def operand_is_left_out(manifest):
    first(manifest, "launch").pop()


@fault("tiles", r"operands for .* which takes")
def operand_too_many(manifest):
    first(manifest, "launch").append([0, 0])


@fault("tiles", r"out of bounds|beyond|past")
def operand_far_past_its_buffer(manifest):
    first(manifest, "launch")[2][1] += 1 << 40


@fault("tiles", r"misaligned")
def operand_off_by_two_bytes(manifest):
    for body, i in operations(manifest, "launch"):
        for operand in body[i][2:]:
            if operand[0] != "coordinate":
                operand[-1] += 2


@fault("tiles", r"operations.*integer from")
def operand_of_an_argument_that_is_not_there(manifest):
    first(manifest, "launch")[2][0] = 9999


@fault("tiles", r"integer from")
def constant_that_is_not_there(manifest):
    for body, i in operations(manifest, "launch"):
        for operand in body[i][2:]:
            if operand[0] == "constant":
                operand[1] = 77
                return


@fault("tiles", r"constant")
def constant_of_another_size(manifest):
    manifest["code"]["constants"][0]["bytes"] += 64


@fault("tiles", r"unknown value \"launched\"")
def operation_that_nobody_knows(manifest):
    first(manifest, "launch")[0] = "launched"


# ---- Compiled functions ----
@fault("tiles", r"places for")
def call_without_an_argument(manifest):
    first(manifest, "call").pop()


@fault("tiles", r"operations.*integer from")
def call_of_a_body_that_comes_later(manifest):
    first(manifest, "call")[1] = len(manifest["code"]["bodies"]) - 1


@fault("tiles", r"no body named")
def routine_without_a_body(manifest):
    manifest["devices"][0]["routines"][0]["entry"] = "nothing"


@fault("tiles", r"buffers: .* which takes")
def routine_with_fewer_buffers_than_its_body_takes(manifest):
    manifest["devices"][0]["routines"][0]["buffers"].pop()


# ---- GEMMs ----
@fault("tiles", r"a product: .*no algorithm")
def matrix_off_by_a_byte(manifest):
    first(manifest, "product")[2][1] += 1


@fault("tiles", r"out of bounds|outside|past")
def rows_far_apart(manifest):
    first(manifest, "product")[1][7] = 1 << 30


@fault("tiles", r"no products of type")
def product_of_integers(manifest):
    first(manifest, "product")[1][1] = 2


@fault("tiles", r"version")
def descriptor_of_another_version(manifest):
    first(manifest, "product")[1][0] = 1


# ---- Communication ----
@fault("copies", r"operations.*integer from")
def group_that_is_not_there(manifest):
    first(manifest, "all_reduce")[1] = 9


@fault("copies", r"out of bounds|outside|past|more than|INVALID")
def all_reduce_of_more_than_the_buffer(manifest):
    for body, i in operations(manifest, "all_reduce"):
        body[i][4] = 1 << 26


@fault("copies", r"constant")
def constant_is_summed_over_ranks(manifest):
    first(manifest, "all_reduce")[5] = ["constant", 0, 0]


@fault("copies", r"unknown value")
def reduction_that_nobody_knows(manifest):
    first(manifest, "all_reduce")[2] = "product"


@fault("copies", r"never waited for")
def collective_begins_and_never_ends(manifest):
    body, i = operations(manifest, "all_reduce")[0]
    body[i] = ["start", 0, body[i]]


@fault("copies", r"not under way")
def wait_for_what_never_began(manifest):
    body, i = operations(manifest, "all_reduce")[0]
    body.append(["wait", 3])


@fault("overlapped", r"early token|reach")
def early_token_twice(manifest):
    body, i = operations(manifest, "reach")[0]
    body.append(list(body[i]))


@fault("overlapped", r"early")
def early_token_that_the_routine_does_not_have(manifest):
    first(manifest, "reach")[1] = 63


@fault("stages", r"message|carr|micro-batch")
def message_under_another_tag(manifest):
    manifest["devices"][0]["messages"][0]["tag"] = 4711


@fault("stages", r"overlap|lies|bytes")
def buffers_on_the_same_bytes(manifest):
    buffers = manifest["devices"][0]["buffers"]
    same = [buffer for buffer in buffers if buffer["role"] == "parameter"]
    same[1]["offset"] = same[0]["offset"]


@fault("stages", r"slot|micro-batch")
def one_slot_for_several_micro_batches(manifest):
    for buffer in manifest["devices"][0]["buffers"]:
        if buffer["role"] == "saved" and buffer.get("slots", 1) > 1:
            buffer["slots"] = 1


@fault("stages", r"arena|bytes")
def buffer_past_the_arena(manifest):
    manifest["devices"][1]["arena_bytes"] //= 2


@fault("stages", r"step.*integer from")
def action_on_a_stream_that_is_not_there(manifest):
    step = manifest["devices"][0]["step"]
    action = step[0] if isinstance(step[0], list) else step[0]["actions"][0]
    action[1] = 40


# ---- Memory that was never written ----
@fault("tiles", r"uninitialized memory: .*never written")
def number_is_left_out(manifest):  # the last write-only one; earlier ones reuse memory that was written before
    body, i = [(body, i) for body, i in operations(manifest, "launch") if len(body[i]) == 3 and body[i][2][0] != "constant"][-1]
    del body[i]


@fault("tiles", r"uninitialized memory: .*never written")
def product_is_left_out(manifest):
    body, i = operations(manifest, "product")[0]
    del body[i]


@fault("tiles", r"uninitialized memory: .*never written")
def half_of_the_blocks(manifest):
    for kernel in manifest["code"]["kernels"]:
        kernel["blocks"] = (kernel["blocks"] + 1) // 2


@fault("tiles", r"uninitialized memory: .*never written", "ptx")
def every_second_thread_stores(text):
    text = in_kernel(text, r"mma\.sync", r"^\{$", "{\n.reg .b32 %planted;\n.reg .pred %half;")
    return in_kernel(text, r"mma\.sync", r"^\s*(st\.global[^;]*;)",
                     r"mov.u32 %planted, %tid.x; and.b32 %planted, %planted, 1; setp.eq.u32 %half, %planted, 1; @%half \1", 0)


@fault("NCCL halves", r"uninitialized memory: .*never written")
def result_of_a_collective_elsewhere(manifest):
    first(manifest, "product")[4][1] += 64


# ---- Streams ----
def actions(manifest, device, what):
    """The actions of a device's step of one kind: as lists that can be changed."""
    unrolled = [action for entry in manifest["devices"][device]["step"]
                for action in (entry["actions"] if isinstance(entry, dict) else [entry])]
    return [action for action in unrolled if action[0] == what]


@fault("NCCL copies", r"race: .*NCCL's reduce-scatter.*neither waits")
def gradients_are_summed_before_they_are_there(manifest):
    for action in actions(manifest, 0, 4):
        del action[4:]


@fault("NCCL copies", r"race: .*NCCL's reduce-scatter.*neither waits")
def early_token_is_given_too_early(manifest):
    body, i = operations(manifest, "reach")[0]
    body.insert(0, body.pop(i))


@fault("NCCL copies", r"race: .*neither waits")
def update_waits_for_no_gradients(manifest):
    del actions(manifest, 0, 1)[-1][4:]
    for body in manifest["code"]["bodies"]:  # nor, by chance, for a later sum on their stream
        if body["name"] == "update_body":
            body["operations"].clear()


@fault("NCCL stages", r"race: .*NCCL's sends and receives.*neither waits|uninitialized memory")
def routine_waits_for_no_message(manifest):
    for action in actions(manifest, 1, 1):
        del action[4:]


@fault("NCCL stages", r"race: .*NCCL's sends and receives.*neither waits|uninitialized memory")
def message_is_sent_before_it_is_there(manifest):
    for action in actions(manifest, 0, 2):
        del action[4:]


@fault("NCCL halves", r"race: .*neither waits|uninitialized memory")
def result_is_used_before_the_wait(manifest):
    body, i = operations(manifest, "wait")[0]
    body.append(body.pop(i))


@fault("NCCL halves", r"race: .*neither waits|uninitialized memory")
def collective_begins_before_what_it_reads_is_there(manifest):
    body, i = operations(manifest, "start")[0]
    body.insert(0, body.pop(i))


@fault("NCCL copies", r"race: .*neither waits", "stream")
def communication_does_not_wait_for_kernels():
    return "wait:0"


@fault("NCCL halves", r"race: .*neither waits|uninitialized memory", "stream")
def kernels_do_not_wait_for_communication():
    return "wait:1"


@fault("NCCL halves", r"race: .*neither waits|uninitialized memory", "stream")
def event_before_a_call_is_not_recorded_again():
    return "event:5"


@fault("NCCL halves", r"race: .*neither waits|uninitialized memory", "stream")
def event_after_a_call_is_not_recorded_again():
    return "event:6"


@fault("NCCL halves", r"race: .*neither waits|uninitialized memory", "stream")
def kernel_on_a_stream_of_its_own():
    return "stream:3"


@fault("NCCL copies", r"race: .*neither waits|uninitialized memory", "stream")
def graph_is_launched_without_waiting():
    return "graph:3"


@fault("NCCL stages", r"communication can be begun in no order .*devices\[0\] stands before action .*devices\[1\] stands before action")
def messages_that_wait_for_each_other(manifest):
    step, unrolled = manifest["devices"][0]["step"], []  # actions with the indices that they come after
    for entry in step:
        repeated = entry if isinstance(entry, dict) else {"repeat": 1, "step": 0, "actions": [entry]}
        for turn in range(repeated["repeat"]):
            for what, stream, number, micro_batch, *after in repeated["actions"]:
                places = [len(unrolled) - (one[0] if isinstance(one, list) else one) for one in after]
                unrolled.append(([what, stream, number, micro_batch + (turn * repeated["step"] if micro_batch >= 0 else 0)], places))
    receives, sends = ([place for place, (action, _) in enumerate(unrolled) if action[0] == what] for what in (3, 2))
    unrolled[sends[0]][1].append(receives[0])  # whose other end answers what is sent
    order = sorted(range(len(unrolled)), key=lambda place: (place != receives[0], place))
    new = {place: i for i, place in enumerate(order)}
    manifest["devices"][0]["step"] = [[*unrolled[place][0], *(new[place] - new[one] for one in unrolled[place][1])] for place in order]


# ---- Faults of NCCL ----
@fault("NCCL copies", r"group 0 \(ranks 0, 1\): NCCL status 3 \(internal error\): under way is NCCL's reduce_scatter of .*, group 0", "stream")
def nccl_has_a_fault():
    return "nccl:3"


@fault("NCCL copies", r"NCCL's reduce_scatter of .*, group 0 \(ranks 0, 1\), issued in \"stage0.backward\" has not ended for", "stream")
def collective_never_ends():
    return "hang:3"


@fault("NCCL stages", r"NCCL's (send|receive) of .*, micro-batch \d, messages from rank \d to rank \d has not ended for", "stream")
def message_never_arrives():
    return "hang:2"


class Scratch:
    def __init__(self, build, folder):
        self.build, self.folder, self.compiled = build, folder, {}
        self.text = os.path.join(folder, "text")
        with open(self.text, "wb") as file:
            file.write(programs.english(20000))

    def program(self, name):
        """The executable's bytes; it trains as it is."""
        if name not in self.compiled:
            config, options = PROGRAMS[name]
            if isinstance(config, dict):
                path = os.path.join(self.folder, name + ".json")
                with open(path, "w") as file:
                    json.dump(config, file)
                config = path
            path = programs.compile_model(self.build, config, [*options, "--target", "cuda", "--cuda-arch", "sm_80"],
                                          os.path.join(self.folder, name))
            with open(path, "rb") as file:
                self.compiled[name] = file.read()
            done = self.start(path, name, is_planted=False)
            if done.returncode:
                raise programs.Failed(f"{name} does not train as it is:\n{done.stderr}")
        return self.compiled[name]

    def start(self, path, program, plant=None, is_planted=True):
        connected = program.startswith("NCCL")
        environment = {**cuda.standing_in(self.build, 0, 2 if connected else 1), **({"PPC_STANDIN_PLANT": plant} if plant else {})}
        # A busy machine may stand still for seconds: only what hangs for good need be found soon.
        limit = 6 if plant and plant.startswith("hang") else programs.PATIENCE_S / 2
        command = [path, "--data", self.text, "--steps", "2", "--quiet", "--hang-timeout", str(limit)] + ([] if connected else ["--share-devices"])
        return subprocess.run(command, capture_output=True, text=True, timeout=programs.PATIENCE_S, env=environment)

    def run(self, program, where, plant):
        """Error output of the program with the fault; None: it trains."""
        content = self.program(program)
        if where == "stream":
            return self.outcome(os.path.join(self.folder, program), program, plant())
        if where == "ptx":
            begin = content.index(b"//\n// Generated by LLVM NVPTX")
            end = content.index(b"\0", begin)
            old = content[begin:end].decode()
            # Comments are removed, so that the replacement fits.
            new = plant(re.sub(r"^\s*//.*\n", "", old, flags=re.M))
        else:
            begin = content.index(b'{"format":')
            end = content.index(b"\0", begin)
            old = content[begin:end].decode()
            manifest = json.loads(old)
            plant(manifest)
            manifest["config"] = ""  # the test does not read it
            new = json.dumps(manifest, separators=(",", ":"))
        assert len(new) <= end - begin, f"{len(new) - (end - begin)} bytes too many"
        path = os.path.join(self.folder, "planted")
        with open(path, "wb") as file:
            file.write(content[:begin] + new.encode().ljust(end - begin) + content[end:])
        os.chmod(path, 0o755)
        return self.outcome(path, program)

    def outcome(self, path, program, plant=None):
        try:
            done = self.start(path, program, plant)
        except subprocess.TimeoutExpired:
            return f"nothing for {programs.PATIENCE_S} s"
        if done.returncode < 0 or done.returncode > 1:
            return f"exit status {done.returncode}\n{done.stderr}"
        return done.stderr if done.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile and lib/cuda-stand-in")
    parser.add_argument("--verbose", action="store_true", help="print the report of each fault")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    chosen = [one for one in FAULTS if not arguments.names or any(part in one[0] for part in arguments.names)]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(os.path.realpath(arguments.build), folder)
        for name, program, expected, where, plant in chosen:
            said = scratch.run(program, where, plant)
            errors = [line for line in (said or "").splitlines() if line.startswith("error: ")]
            good = bool(errors) and not said.startswith("exit status") and "signal" not in errors[0] and re.search(expected, said)
            missed += not good
            if not good or arguments.verbose:
                print(f"{name}: {'reported' if good else 'MISSED'}: {(said or 'it trains').strip()}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults in programs for GPUs are reported")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
