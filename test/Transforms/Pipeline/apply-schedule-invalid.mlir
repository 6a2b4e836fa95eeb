// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-apply-schedule

// expected-error @below {{expected a module with ppc.plan and a ppcrt.program: run ppc-split-stages first}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
}

// -----

// expected-error @below {{the program has 1 devices, but the plan has 2}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 {
    }
  }
}

// -----

// expected-error @below {{device 0 has a step already}}
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>} {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.step {
      }
    }
  }
}
