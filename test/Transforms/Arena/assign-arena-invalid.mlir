// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-assign-arena

ppcrt.program @train grid <pp = 1> micro_batches 1 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{names code @stage0.update without scratch as its last argument: run ppc-assign-offsets first}}
    ppcrt.routine @update update code @stage0.update reads [] writes []
    ppcrt.step {
    }
  }
}
func.func @stage0.update() {
  return
}

// -----

ppcrt.program @train grid <pp = 1> micro_batches 1 {
  // expected-error @below {{has no step, so how long its buffers live is not known: run ppc-apply-schedule first}}
  ppcrt.device @device0 at 0 {
  }
}

// -----

ppcrt.program @train grid <pp = 1> micro_batches 1 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is scratch already: the arena is laid out once}}
    ppcrt.buffer @scratch scratch : memref<8xi8>
    ppcrt.step {
    }
  }
}
