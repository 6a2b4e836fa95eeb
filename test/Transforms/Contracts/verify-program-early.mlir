// The contract of programs: buffers that the code of routines finishes before its end, and the completion events for them.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-program

// Sound: one bucket is summed while the code computes the other one.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b], [@a]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        %2:3 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %a, %x : tensor<4xf32>
    ppcrt.reach 1 (%1 : tensor<4xf32>)
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Sound: what a run needs not say.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b], [@a]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        %2 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %a, %x : tensor<4xf32>
    ppcrt.reach 1 (%1 : tensor<4xf32>)
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C2: tokens that the routine does not have.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      // expected-note @below {{the routine}}
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b], [@a]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        // run_c3
        // expected-error @below {{gives 2 tokens, expected one, or 2 early ones and the last}}
        %2:2 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %a, %x : tensor<4xf32>
    ppcrt.reach 1 (%1 : tensor<4xf32>)
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C2: of a routine that finishes with nothing early.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      // expected-note @below {{the routine}}
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        // run_c3: none
        // expected-error @below {{gives 2 tokens, expected one, or 0 early ones and the last}}
        %2:2 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    %1 = ppc.add %a, %x : tensor<4xf32>
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C1: the code never comes there.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      // routine_c7
      // expected-error @below {{names code @code, which never reaches entry 1 of 'early'}}
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b], [@a]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        %2:3 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %a, %x : tensor<4xf32>
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C1: the code comes there twice.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      // routine_c7: twice
      // expected-error @below {{names code @code, which reaches entry 0 twice}}
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b], [@a]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        %2:3 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %a, %x : tensor<4xf32>
    // expected-note @below {{here}}
    ppcrt.reach 0 (%1 : tensor<4xf32>)
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C1: the code finishes with what the routine does not say.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      // routine_c7: more
      // expected-error @below {{names code @code, which reaches entry 1 of 'early', of 1}}
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        %2:2 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %a, %x : tensor<4xf32>
    // expected-note @below {{here}}
    ppcrt.reach 1 (%1 : tensor<4xf32>)
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C1: with another buffer.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      // routine_c7: another
      // expected-error @below {{finishes with @a in entry 0, where its code has something else}}
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@a], [@b]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        %2:3 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    // expected-note @below {{entry 0 is reached here}}
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %a, %x : tensor<4xf32>
    ppcrt.reach 1 (%1 : tensor<4xf32>)
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C1: with more buffers.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      // routine_c7: number
      // expected-error @below {{finishes with 2 buffers in entry 0, where its code has 1}}
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b, @a]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        %2:2 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    // expected-note @below {{entry 0 is reached here}}
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %a, %x : tensor<4xf32>
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C1: what was there before is used later.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      // routine_c8
      // expected-error @below {{uses @b after it has finished with it, in entry 0}}
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b], [@a]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        %2:3 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    // expected-note @below {{finished here}}
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    // expected-note @below {{used here}}
    %1 = ppc.add %a, %b : tensor<4xf32>
    ppcrt.reach 1 (%1 : tensor<4xf32>)
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C1: a value that is returned is used later.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      // routine_c8: returned
      // expected-error @below {{uses @b after it has finished with it, in entry 0}}
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b], [@a]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        %2:3 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    // expected-note @below {{finished here}}
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    // expected-note @below {{used here}}
    %1 = ppc.add %a, %0 : tensor<4xf32>
    ppcrt.reach 1 (%1 : tensor<4xf32>)
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C7: the token of the other bucket comes too early for this one.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@a], [@b]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        // expected-note @below {{which nothing orders before it: run of @backward, micro-batch 0, on device 0}}
        %2:3 = ppcrt.run @backward micro_batch 0 on @compute
        // expected-error @below {{may write @b (gradient of b) while it is still being written}}
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %1 = ppc.add %a, %x : tensor<4xf32>
    ppcrt.reach 0 (%1 : tensor<4xf32>)
    %0 = ppc.add %b, %x : tensor<4xf32>
    ppcrt.reach 1 (%0 : tensor<4xf32>)
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// C7: the code uses more of its buffers after it has come there.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @a gradient "a" : memref<4xf32>
      ppcrt.buffer @b gradient "b" : memref<4xf32>
      ppcrt.routine @backward backward code @code reads [@x, @a, @b] writes [@a, @b] early [[@b]]
      ppcrt.step {
        %1 = ppcrt.load micro_batch 0 on @compute
        // expected-note @below {{which nothing orders before it: run of @backward, micro-batch 0, on device 0}}
        %2:2 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.collective all_reduce sum group @dp reads [@b] writes [@b] after (%2#0) on @dp_comm
        // expected-error @below {{may write @a (gradient of a) while it is still being written}}
        %4 = ppcrt.collective all_reduce sum group @dp reads [@a] writes [@a] on @dp_comm
      }
    }
  }
  func.func @code(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %b, %x : tensor<4xf32>
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %a, %x : tensor<4xf32>
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}
