// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-assign-arena


// expected-error @below {{function "stage0.update" has no ppc.scratch_bytes: assign its buffers first}}
module attributes {ppc.stages = [{buffers = [], functions = {update = {entry = "stage0.update", buffers = array<i64>}}, slots = 1}]} {
  func.func private @stage0.update()
}

// -----

// expected-error @below {{stages have no slots: run ppc-apply-schedule first}}
module attributes {ppc.stages = [{buffers = [], functions = {}}]} {
}

// -----

// expected-error @below {{stage 0 in ppc.stages lacks buffers or functions: run ppc-split-stages first}}
module attributes {ppc.stages = [{slots = 1}]} {
}
