// The contract of programs about groups. Each case is a sound program with one fault.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-program

// Sound: a collective of the two ends of the pipeline, on a stream of its own.
module {
  ppcrt.group @ends axes ["pp"] stages [0, 2]
  ppcrt.program @train grid <pp = 3, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        %0 = ppcrt.collective all_reduce sum group @ends reads [@g] writes [@g] on @sums
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.step {
      }
    }
    ppcrt.device @device2 at 2 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        %0 = ppcrt.collective all_reduce sum group @ends reads [@g] writes [@g] on @sums
      }
    }
  }
}

// -----

// C5: a device that is not in the group.
module {
  // expected-note @below {{the group}}
  ppcrt.group @ends axes ["pp"] stages [0, 2]
  ppcrt.program @train grid <pp = 3, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.step {
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{communicates over ["pp"] of stages 0, 2, a group that not all ranks of device 1 are in}}
        %0 = ppcrt.collective all_reduce sum group @ends reads [@g] writes [@g] on @sums
      }
    }
    ppcrt.device @device2 at 2 {
      ppcrt.step {
      }
    }
  }
}

// -----

// C5: a rank that is in no set of the group; each device has two.
module {
  // expected-note @below {{the group}}
  ppcrt.group @pairs ranks [array<i64: 0, 2>, array<i64: 1, 4>]
  ppcrt.program @train grid <pp = 3, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.step {
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{a group that not all ranks of device 1 are in}}
        %0 = ppcrt.collective all_reduce sum group @pairs reads [@g] writes [@g] on @sums
      }
    }
    ppcrt.device @device2 at 2 {
      ppcrt.step {
      }
    }
  }
}

// -----

// C5: code that a device should not run.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @update update code @update reads [] writes [@loss]
      ppcrt.step {
        // expected-note @below {{in code that is run here}}
        %0 = ppcrt.run @update on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.step {
      }
    }
  }
  func.func @update() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    // expected-error @below {{communicates over ["pp"] of stages 1, a group that not all ranks of device 0 are in}}
    %1 = ppc.all_reduce %0 over ["pp"] <sum> stages [1] {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C5: a member does something else.
module {
  ppcrt.group @all axes ["pp"]
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{is number 0 over ["pp"] on device 0, where device 1 does something else}}
        %0 = ppcrt.collective all_reduce sum group @all reads [@g] writes [@g] on @sums
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-note @below {{its own}}
        %0 = ppcrt.collective all_reduce max group @all reads [@g] writes [@g] on @sums
      }
    }
  }
}

// -----

// C5: a member does nothing.
module {
  ppcrt.group @all axes ["pp"]
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{is number 0 over ["pp"] on device 0, where device 1 does nothing}}
        %0 = ppcrt.collective all_reduce sum group @all reads [@g] writes [@g] on @sums
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.step {
      }
    }
  }
}

// -----

// C5: nothing orders two collectives of one group, so ranks may begin them in different orders.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.buffer @h gradient "v" : memref<4xf32>
      ppcrt.step {
        // expected-note @below {{the other: all_reduce over @dp, on device 0}}
        %0 = ppcrt.collective all_reduce sum group @dp reads [@g] writes [@g] on @a
        // expected-error @below {{communicates over the same ranks as another action that nothing orders}}
        %1 = ppcrt.collective all_reduce sum group @dp reads [@h] writes [@h] on @b
      }
    }
  }
}

// -----

// C6: three groups of two, each device in another order: every two agree, and all three wait.
module {
  ppcrt.group @ab axes ["pp"] stages [0, 1]
  ppcrt.group @bc axes ["pp"] stages [1, 2]
  ppcrt.group @ca axes ["pp"] stages [0, 2]
  ppcrt.program @train grid <pp = 3> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{waits for itself, a deadlock: all_reduce over @ab, on device 0}}
        // expected-note @below {{that comes after this on its stream: all_reduce over @ab, on device 0}}
        %0 = ppcrt.collective all_reduce sum group @ab reads [@g] writes [@g] on @sums
        // expected-note @below {{that does not end before this starts: all_reduce over @ca, on device 0}}
        %1 = ppcrt.collective all_reduce sum group @ca reads [@g] writes [@g] on @sums
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-note @below {{that comes after this on its stream: all_reduce over @bc, on device 1}}
        %0 = ppcrt.collective all_reduce sum group @bc reads [@g] writes [@g] on @sums
        // expected-note @below {{that does not end before this starts: all_reduce over @ab, on device 1}}
        %1 = ppcrt.collective all_reduce sum group @ab reads [@g] writes [@g] on @sums
      }
    }
    ppcrt.device @device2 at 2 {
      ppcrt.stream @sums
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-note @below {{that comes after this on its stream: all_reduce over @ca, on device 2}}
        %0 = ppcrt.collective all_reduce sum group @ca reads [@g] writes [@g] on @sums
        // expected-note @below {{that does not end before this starts: all_reduce over @bc, on device 2}}
        %1 = ppcrt.collective all_reduce sum group @bc reads [@g] writes [@g] on @sums
      }
    }
  }
}

// -----

// C6: two devices issue the same two collectives in another order; streams of their own do not help.
module {
  ppcrt.group @all axes ["pp"]
  ppcrt.group @both axes ["pp"] stages [0, 1]
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.buffer @h gradient "v" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{waits for itself, a deadlock}}
        // expected-note @below {{that is issued after this: all_reduce over @all, on device 0}}
        %0 = ppcrt.collective all_reduce sum group @all reads [@g] writes [@g] on @a
        // expected-note @below {{that does not end before this starts: all_reduce over @both, on device 0}}
        %1 = ppcrt.collective all_reduce sum group @both reads [@h] writes [@h] on @b
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.buffer @h gradient "v" : memref<4xf32>
      ppcrt.step {
        // expected-note @below {{that is issued after this: all_reduce over @both, on device 1}}
        %0 = ppcrt.collective all_reduce sum group @both reads [@h] writes [@h] on @a
        // expected-note @below {{that does not end before this starts: all_reduce over @all, on device 1}}
        %1 = ppcrt.collective all_reduce sum group @all reads [@g] writes [@g] on @b
      }
    }
  }
}

// -----

// Sound: a message that comes after a collective with the same rank of the other device comes after what was before it here.
module {
  ppcrt.group @pairs ranks [array<i64: 0, 2>, array<i64: 1, 3>]
  ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.buffer @h gradient "v" : memref<4xf32>
      ppcrt.buffer @x metric "x" : memref<4xf32>
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.routine @use forward code @use reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.copy @g to @x on @a
        %1 = ppcrt.collective all_reduce sum group @pairs reads [@h] writes [@h] on @a
        %2 = ppcrt.receive @m micro_batch 0 on @b
        %3 = ppcrt.run @use micro_batch 0 on @b
        %4 = ppcrt.copy @g to @x on @b
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @a
      ppcrt.buffer @h gradient "v" : memref<4xf32>
      ppcrt.buffer @s saved : memref<4xf32> slots 1
      ppcrt.routine @make forward code @make reads [] writes [@s]
      ppcrt.step {
        %0 = ppcrt.collective all_reduce sum group @pairs reads [@h] writes [@h] on @a
        %1 = ppcrt.run @make micro_batch 0 on @a
        %2 = ppcrt.send @m micro_batch 0 on @a
      }
    }
    ppcrt.message @m from @device1::@s after @make to @device0::@y before @use
  }
  func.func @make() -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @use(%x: tensor<4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
}

// -----

// C7: ranks that meet ranks at other places of the other device: what the message comes after happened on another rank.
module {
  ppcrt.group @pairs ranks [array<i64: 0, 3>, array<i64: 1, 2>]
  ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.buffer @h gradient "v" : memref<4xf32>
      ppcrt.buffer @x metric "x" : memref<4xf32>
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.routine @use forward code @use reads [@y] writes []
      ppcrt.step {
        // expected-note @below {{which nothing orders before it: copy of @g to @x, on device 0}}
        %0 = ppcrt.copy @g to @x on @a
        %1 = ppcrt.collective all_reduce sum group @pairs reads [@h] writes [@h] on @a
        %2 = ppcrt.receive @m micro_batch 0 on @b
        %3 = ppcrt.run @use micro_batch 0 on @b
        // expected-error @below {{may write @x (x) while it is still being written}}
        %4 = ppcrt.copy @g to @x on @b
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @a
      ppcrt.buffer @h gradient "v" : memref<4xf32>
      ppcrt.buffer @s saved : memref<4xf32> slots 1
      ppcrt.routine @make forward code @make reads [] writes [@s]
      ppcrt.step {
        %0 = ppcrt.collective all_reduce sum group @pairs reads [@h] writes [@h] on @a
        %1 = ppcrt.run @make micro_batch 0 on @a
        %2 = ppcrt.send @m micro_batch 0 on @a
      }
    }
    ppcrt.message @m from @device1::@s after @make to @device0::@y before @use
  }
  func.func @make() -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @use(%x: tensor<4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
}

// -----

// C2: a buffer with slots and no micro-batch.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      // expected-note @below {{the buffer}}
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.step {
        // expected-error @below {{works on @h, which has slots, without a micro-batch}}
        %0 = ppcrt.check_finite [@h] on @a
      }
    }
  }
}

// -----

// C2: blocks of two ranks do not fill the result.
module {
  // expected-note @below {{the group}}
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.buffer @w parameter "w" : memref<4xf32>
      ppcrt.buffer @full gathered : memref<12xf32>
      ppcrt.step {
        // expected-error @below {{is over sets of 2 ranks, reads 4 elements of @w and writes 12 of @full}}
        %0 = ppcrt.collective all_gather group @dp reads [@w] writes [@full] on @a
      }
    }
  }
}

// -----

// C2: an axis that the grid does not have.
module {
  // expected-note @below {{the group}}
  ppcrt.group @cp axes ["cp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{is over sets of 0 ranks}}
        %0 = ppcrt.collective all_reduce sum group @cp reads [@g] writes [@g] on @a
      }
    }
  }
}
