// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-share-slots

// Plain functions have nothing to share.
func.func @plain(%x: memref<4xf32>) {
  return
}

// -----

ppcrt.program @train grid <pp = 1> micro_batches 1 {
  // expected-error @below {{has no step, so how long its values live is not known: run ppc-apply-schedule first}}
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @h saved : memref<4xf32> slots 1
  }
}
