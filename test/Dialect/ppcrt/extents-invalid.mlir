// Programs whose sizes cannot be counted with, and actions that name what is not there.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics

// buffer_c9: bytes
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is of 'memref<4294967296x4294967296xf32>', expected at most 70368744177664 bytes}}
    ppcrt.buffer @b accumulator : memref<4294967296x4294967296xf32>
  }
}

// -----

// buffer_c9: elements without a size
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is of 'memref<4xindex>', expected integers or floats}}
    ppcrt.buffer @b accumulator : memref<4xindex>
  }
}

// -----

// buffer_c9: slots
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{has 4611686018427387904 slots, expected 1 to 16777216}}
    ppcrt.buffer @b saved : memref<4xf32> slots 4611686018427387904
  }
}

// -----

// buffer_c9: places
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is at offset 9223372036854775807, expected 0 to 70368744177664}}
    ppcrt.buffer @b scratch : memref<64xi8> offset 9223372036854775807
  }
}

// -----

// program_c1: more than a step may have
// expected-error @below {{has 4294967296 micro-batches, expected 1 to 16777216}}
ppcrt.program @p grid <pp = 1> micro_batches 4294967296 {
}

// -----

// expected-error @below {{mesh axis "dp" of size 1048576 makes more than 1048576 devices}}
ppcrt.program @p grid <pp = 2, dp = 1048576> micro_batches 1 {
}

// -----

// program_c6
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.step {
      // expected-error @below {{runs @forward, which is not a routine of its device}}
      %0 = ppcrt.run @forward micro_batch 0 on @compute
    }
  }
}

// -----

// program_c6: micro-batches
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.step {
      // expected-error @below {{is for micro-batch 2 of 2}}
      %0 = ppcrt.load micro_batch 2 on @compute
    }
  }
}
