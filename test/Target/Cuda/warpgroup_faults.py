#!/usr/bin/env python3
"""Injects one fault at a time into the PTX of attention by warpgroups, and checks that the PTX emulator detects it (attention_faults.py).

usage: warpgroup_faults.py --opt PPC_OPT --runner PPC_PTX
"""
import attention_faults

# Name of the fault, pattern, replacement.
AT_ONCE = [
    ("registers are not fenced", r"wgmma\.fence\.sync\.aligned;", ""),
    ("waits that gave up are not repeated", r"@!done bra AGAIN;", ""),
    ("no turn is waited for", r"bar\.sync %[^;]*;", ""),
    ("values are taken for keys", r"(m64n64k16[^;]*), 1, 1, 1, 1;", r"\1, 1, 1, 1, 0;"),
]
FAULTS = [
    ("an MMA is not waited for", r"wgmma\.wait_group\.sync\.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
    ("no MMA is waited for", r"wgmma\.wait_group\.sync\.aligned 1;", "wgmma.wait_group.sync.aligned 2;"),
    ("an MMA is not committed", r"wgmma\.commit_group\.sync\.aligned;", ""),
    ("a stage is freed without an arrival", r"mbarrier\.arrive\.shared::cta\.b64 _, \[[^]]*\];", ""),
    ("fewer bytes are expected", r"(expect_tx\.shared::cta\.b64 _, \[[^]]*\], )(\d+)", lambda m: m.group(1) + str(int(m.group(2)) - 1024)),
    ("barriers are not shown to copies", r"fence\.mbarrier_init\.release\.cluster;", ""),
    ("barriers are used before they are made", r"bar(rier)?\.sync(\.aligned)?\s+0;", ""),
    ("the other warpgroup gets no turn", r"bar\.arrive [^;]*;", ""),
    ("more registers are taken than there are", r"setmaxnreg\.inc\.sync\.aligned\.u32 240;", "setmaxnreg.inc.sync.aligned.u32 248;"),
    ("keys are taken for values", r"(m64n128k16[^;]*), 0;", r"\1, 1;"),
]

# Five tiles of keys in two stages, of which two are looked at key by key.
attention_faults.main(__doc__, "warpgroups", AT_ONCE, FAULTS, chip="sm_90a", queries=64, keys=520, dim=64, scale=0.125, threads=384,
                        shared=4 * 128 * 64 * 2 + 8 * 8, maps=(1, 2))
