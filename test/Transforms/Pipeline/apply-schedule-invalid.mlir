// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-apply-schedule

// expected-error @below {{expected a module with ppc.plan and ppc.stages: run ppc-split-stages first}}
module {
}

// -----

// expected-error @below {{unknown pipeline schedule "zigzag"; known: gpipe, 1f1b, interleaved, breadth-first, zb1p, zb2p, zbv, v-half, v-min, wave, chimera, dualpipe, dualpipev, seq1f1b}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "zigzag", micro_batches = 2, dimensions = {}, parameters = {}>,
                   ppc.stages = [{buffers = [], functions = {}, sends = [], receives = []}]} {
}

// -----

// expected-error @below {{ppc.stages has 1 entries, but the plan has 2 stages}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>,
                   ppc.stages = [{buffers = [], functions = {}, sends = [], receives = []}]} {
}

// -----

// expected-error @below {{stage 1 in ppc.stages lacks functions, sends or receives: run ppc-split-stages first}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 2, dimensions = {}, parameters = {}>,
                   ppc.stages = [{buffers = [], functions = {}, sends = [], receives = []}, {functions = {}}]} {
}
