#!/usr/bin/env python3
"""Injects one fault at a time into the PTX of attention by tensor memory, and checks that the PTX emulator detects it (attention_faults.py).

usage: tensor_memory_faults.py --opt PPC_OPT --runner PPC_PTX
"""
import attention_faults

RIGHT_OVER_ROWS = 1 << 16  # bit of an instruction descriptor
SCORES = 1 << 4 | 1 << 7 | 1 << 10 | 16 << 17 | 8 << 24
RESULTS = 1 << 4 | 1 << 7 | 1 << 10 | RIGHT_OVER_ROWS | 8 << 17 | 8 << 24

# Name of the fault, pattern, replacement.
AT_ONCE = [
    ("waits that gave up are not repeated", r"@!done bra AGAIN;", ""),
    ("no fence before telling", r"tcgen05\.fence::before_thread_sync;", ""),
    ("no fence after being told", r"tcgen05\.fence::after_thread_sync;", ""),
    ("values are taken for keys", rf"\b{RESULTS}\b", str(RESULTS - RIGHT_OVER_ROWS)),
    ("keys are taken for values", rf"\b{SCORES}\b", str(SCORES + RIGHT_OVER_ROWS)),
    ("results have fewer columns", rf"\b{RESULTS}\b", str(RESULTS - (2 << 17))),
    ("scores have fewer rows", rf"\b{SCORES}\b", str(SCORES - (4 << 24))),
    ("MMAs do not add", r"setp\.eq\.b32 always", "setp.ne.b32 always"),
]
FAULTS = [
    ("a load is not waited for", r"tcgen05\.wait::ld\.sync\.aligned;", ""),
    ("a store is not waited for", r"tcgen05\.wait::st\.sync\.aligned;", ""),
    ("an MMA is not committed", r"tcgen05\.commit[^;]*;", ""),
    ("the first MMA adds", r"setp\.ne\.b32 adds", "setp.eq.b32 adds"),
    ("tensor memory is not given back", r"tcgen05\.dealloc[^;]*;", ""),
    ("half of tensor memory is allocated", r"(tcgen05\.alloc[^;]*), 512;", r"\1, 256;"),
    ("half of tensor memory is given back", r"(tcgen05\.dealloc[^;]*), 512;", r"\1, 256;"),
    ("data is stored without an arrival", r"@holds mbarrier\.arrive[^;]*;", ""),
    ("fewer bytes are expected", r"(expect_tx\.shared::cta\.b64 _, \[[^]]*\], )(\d+)", lambda m: m.group(1) + str(int(m.group(2)) - 1024)),
    ("barriers are not shown to copies", r"fence\.mbarrier_init\.release\.cluster;", ""),
    ("a barrier of the block is missing", r"bar(rier)?\.sync(\.aligned)?\s+0;", ""),
    ("more registers are taken than there are", r"setmaxnreg\.inc\.sync\.aligned\.u32 184;", "setmaxnreg.inc.sync.aligned.u32 192;"),
]

# Two tiles of queries; five tiles of keys in two stages, of which up to three are looked at key by key. Scores are so far apart that sums of results are
# scaled.
attention_faults.main(__doc__, "tensor memory", AT_ONCE, FAULTS, chip="sm_100a", queries=192, keys=520, dim=64, scale=4.0, threads=512,
                        shared=6 * 128 * 64 * 2 + 2 * 256 * 4 + 16 + 20 * 8, maps=(0, 1, 2))
