// The contract of programs about time: order of uses and contents of slots. Each case is a sound program with one fault.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-program

// Sound: the second load waits for the run that reads the slot before.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @data
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 1
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.routine @forward forward code @make reads [@x] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @data
        %1 = ppcrt.run @forward micro_batch 0 after (%0) on @compute
        %2 = ppcrt.load micro_batch 1 after (%1) on @data
        %3 = ppcrt.run @forward micro_batch 1 after (%2) on @compute
      }
    }
  }
  func.func @make(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// C7: a slot is written again while it may still be read.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @data
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 1
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.routine @forward forward code @make reads [@x] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @data
        // expected-note @below {{which nothing orders before it: run of @forward, micro-batch 0, on device 0}}
        %1 = ppcrt.run @forward micro_batch 0 after (%0) on @compute
        // expected-error @below {{may write slot 0 of @x (input ids) while it is still being read}}
        %2 = ppcrt.load micro_batch 1 on @data
        %3 = ppcrt.run @forward micro_batch 1 after (%2) on @compute
      }
    }
  }
  func.func @make(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// C7: a slot is read while it may still be written.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @data
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 1
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @make reads [@x] writes [@h]
      ppcrt.step {
        // expected-note @below {{which nothing orders before it: load, micro-batch 0, on device 0}}
        %0 = ppcrt.load micro_batch 0 on @data
        // expected-error @below {{may read slot 0 of @x (input ids) while it is still being written}}
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @make(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// C7: read before it was written.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 1
      // expected-note @below {{the buffer}}
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @make reads [@x] writes [@h]
      ppcrt.routine @backward backward code @back reads [@h] writes []
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        // expected-error @below {{reads slot 0 of @h (saved) for micro-batch 0 before anything was written there}}
        %1 = ppcrt.run @backward micro_batch 0 on @compute
        %2 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @make(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @back(%x: tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    return
  }
}

// -----

// C7: too few slots: the value of the first micro-batch is gone when it is read.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @make reads [@x] writes [@h]
      ppcrt.routine @backward backward code @back reads [@h] writes []
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.load micro_batch 1 on @compute
        // expected-note @below {{written here: run of @forward, micro-batch 1, on device 0}}
        %3 = ppcrt.run @forward micro_batch 1 on @compute
        // expected-error @below {{reads slot 0 of @h (saved) for micro-batch 0, which by then holds the value of micro-batch 1}}
        %4 = ppcrt.run @backward micro_batch 0 on @compute
        %5 = ppcrt.run @backward micro_batch 1 on @compute
      }
    }
  }
  func.func @make(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @back(%x: tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    return
  }
}

// -----

// C7: what was made of parameters once per step is used before.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @other
      ppcrt.buffer @w parameter "w" : memref<4xf32>
      ppcrt.buffer @narrow prepared : memref<4xf32>
      ppcrt.routine @prepare prepare code @round reads [@w] writes [@narrow]
      ppcrt.routine @forward forward code @use reads [@narrow] writes []
      ppcrt.step {
        // expected-note @below {{which nothing orders before it: run of @prepare, on device 0}}
        %0 = ppcrt.run @prepare on @other
        // expected-error @below {{may read @narrow (prepared) while it is still being written}}
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @round(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "prepare"} {
    return %x : tensor<4xf32>
  }
  func.func @use(%x: tensor<4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
}

// -----

// C7: the token is that of the wrong action.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @make reads [] writes [@h]
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-note @below {{which nothing orders before it: send of @m, micro-batch 0, on device 0}}
        %1 = ppcrt.send @m micro_batch 0 after (%0) on @to1
        // expected-error @below {{may write slot 0 of @h (saved) while it is still being sent}}
        %2 = ppcrt.run @forward micro_batch 1 after (%0) on @compute
        %3 = ppcrt.send @m micro_batch 1 after (%2) on @to1
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 2
      ppcrt.routine @use forward code @use reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        %2 = ppcrt.receive @m micro_batch 1 on @from0
        %3 = ppcrt.run @use micro_batch 1 after (%2) on @compute
      }
    }
    ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
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

// C7: a message arrives where another one may still be read; and in the evaluation alone.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.routine @forward forward code @make reads [] writes [@h]
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        %1 = ppcrt.send @m micro_batch 0 after (%0) on @to1
        %2 = ppcrt.run @forward micro_batch 1 on @compute
        %3 = ppcrt.send @m micro_batch 1 after (%2) on @to1
      }
      ppcrt.evaluate {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        %1 = ppcrt.send @m micro_batch 0 after (%0) on @to1
        %2 = ppcrt.run @forward micro_batch 1 on @compute
        %3 = ppcrt.send @m micro_batch 1 after (%2) on @to1
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.routine @use forward code @use reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        %2 = ppcrt.receive @m micro_batch 1 after (%1) on @from0
        %3 = ppcrt.run @use micro_batch 1 after (%2) on @compute
      }
      ppcrt.evaluate {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
        // expected-note @below {{which nothing orders before it: run of @use, micro-batch 0, on device 1}}
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        // expected-error @below {{may write slot 0 of @y (message) while it is still being read}}
        %2 = ppcrt.receive @m micro_batch 1 on @from0
        %3 = ppcrt.run @use micro_batch 1 after (%2) on @compute
      }
    }
    ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
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

// C7: the update comes before the last micro-batch has been added.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @w parameter "w" : memref<4xf32>
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.routine @backward backward code @add reads [@g] writes [@g]
      ppcrt.routine @update update code @update reads [@w, @g] writes [@w]
      ppcrt.step {
        %0 = ppcrt.run @backward micro_batch 0 on @compute
        %1 = ppcrt.check_finite [@g] on @compute
        // expected-note @below {{used here: run of @update, on device 0}}
        %2 = ppcrt.run @update on @compute
        // expected-error @below {{adds to @g (gradient of w) after the sum has been used}}
        %3 = ppcrt.run @backward micro_batch 1 on @compute
      }
    }
  }
  func.func @add(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "backward"} {
    return %x : tensor<4xf32>
  }
  func.func @update(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "update"} {
    return %w : tensor<4xf32>
  }
}

// -----

// Sound: two stages alternate in the slots of each other.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @a saved : memref<4xf32> slots 2 places [0, 0]
      ppcrt.buffer @b saved : memref<4xf32> slots 2 places [1, 1] shares @a
      ppcrt.routine @f0 forward code @make reads [] writes [@a]
      ppcrt.routine @f1 forward chunk 1 code @make reads [] writes [@b]
      ppcrt.routine @b0 backward code @use reads [@a] writes []
      ppcrt.routine @b1 backward chunk 1 code @use reads [@b] writes []
      ppcrt.step {
        %0 = ppcrt.run @f0 micro_batch 0 on @compute
        %1 = ppcrt.run @f1 micro_batch 0 on @compute
        %2 = ppcrt.run @b0 micro_batch 0 on @compute
        %3 = ppcrt.run @f0 micro_batch 1 on @compute
        %4 = ppcrt.run @b1 micro_batch 0 on @compute
        %5 = ppcrt.run @f1 micro_batch 1 on @compute
        %6 = ppcrt.run @b1 micro_batch 1 on @compute
        %7 = ppcrt.run @b0 micro_batch 1 on @compute
      }
    }
  }
  func.func @make() -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @use(%x: tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    return
  }
}

// -----

// C8: a value lies in the place of another stage that is still read.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @a saved : memref<4xf32> slots 2 places [0, 0]
      ppcrt.buffer @b saved : memref<4xf32> slots 2 places [0, 1] shares @a
      ppcrt.routine @f0 forward code @make reads [] writes [@a]
      ppcrt.routine @f1 forward chunk 1 code @make reads [] writes [@b]
      ppcrt.routine @b0 backward code @use reads [@a] writes []
      ppcrt.routine @b1 backward chunk 1 code @use reads [@b] writes []
      ppcrt.step {
        %0 = ppcrt.run @f0 micro_batch 0 on @compute
        // expected-note @below {{written here: run of @f1, micro-batch 0, on device 0}}
        %1 = ppcrt.run @f1 micro_batch 0 on @compute
        // expected-error @below {{reads slot 0 of @a (saved) for micro-batch 0, which by then holds @b of micro-batch 0}}
        %2 = ppcrt.run @b0 micro_batch 0 on @compute
        %3 = ppcrt.run @f0 micro_batch 1 on @compute
        %4 = ppcrt.run @b1 micro_batch 0 on @compute
        %5 = ppcrt.run @f1 micro_batch 1 on @compute
        %6 = ppcrt.run @b1 micro_batch 1 on @compute
        %7 = ppcrt.run @b0 micro_batch 1 on @compute
      }
    }
  }
  func.func @make() -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @use(%x: tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    return
  }
}
