// Which slots of buffers micro-batches must not have, and whose.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics

// buffer_c7
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{has slot indices but no slots}}
    ppcrt.buffer @b accumulator : memref<4xf32> places [0, 0]
  }
}

// -----

// buffer_c7: count
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{has slot indices of 3 micro-batches of 2}}
    ppcrt.buffer @b saved : memref<4xf32> slots 2 places [0, 1, 0]
  }
}

// -----

// buffer_c7: range
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{has micro-batch 1 in slot 2 of 2}}
    ppcrt.buffer @b saved : memref<4xf32> slots 2 places [0, 2]
  }
}

// -----

// buffer_c8
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{shares @none, which is no other buffer of its device}}
    ppcrt.buffer @b saved : memref<4xf32> slots 2 places [0, 1] shares @none
  }
}

// -----

// buffer_c8: places
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-note @below {{the other buffer}}
    ppcrt.buffer @a saved : memref<4xf32> slots 2
    // expected-error @below {{shares @a, but only one of them has slot indices}}
    ppcrt.buffer @b saved : memref<4xf32> slots 2 places [0, 1] shares @a
  }
}

// -----

// buffer_c8: in turn
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a saved : memref<4xf32> slots 2 places [0, 1]
    // expected-note @below {{the other buffer}}
    ppcrt.buffer @b saved : memref<4xf32> slots 2 places [0, 1] shares @a
    // expected-error @below {{shares @b, which shares another one itself}}
    ppcrt.buffer @c saved : memref<4xf32> slots 2 places [0, 1] shares @b
  }
}

// -----

// buffer_c8: slots
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-note @below {{the other buffer}}
    ppcrt.buffer @a saved : memref<4xf32> slots 3 places [0, 1]
    // expected-error @below {{shares @a, which has other slots}}
    ppcrt.buffer @b saved : memref<4xf32> slots 2 places [0, 1] shares @a
  }
}

// -----

// buffer_c8: bytes
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-note @below {{the other buffer}}
    ppcrt.buffer @a saved : memref<4xf64> slots 2 places [0, 1]
    // expected-error @below {{shares @a, which has other slots}}
    ppcrt.buffer @b saved : memref<4xf32> slots 2 places [0, 1] shares @a
  }
}
