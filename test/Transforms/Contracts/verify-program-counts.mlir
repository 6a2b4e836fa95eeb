// The contract of programs: how often, and in which order. Each case is the sound one with one fault.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-program

// C3: not run.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      // expected-error @below {{is run 1 times in a step, expected 2}}
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h]
      ppcrt.routine @update update code @update0 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @m micro_batch 0 after (%1) on @to1
        %3 = ppcrt.load micro_batch 1 on @compute
        %5 = ppcrt.send @m micro_batch 1 on @to1
        %6 = ppcrt.run @update on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @use forward code @forward1 reads [@y] writes []
      ppcrt.routine @update update code @update1 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        %2 = ppcrt.receive @m micro_batch 1 on @from0
        %3 = ppcrt.run @use micro_batch 1 after (%2) on @compute
        %4 = ppcrt.run @update on @compute
      }
    }
    ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
  }
  func.func @forward0(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @forward1(%x: tensor<4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @update0() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @update1() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C3: run twice.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h]
      ppcrt.routine @update update code @update0 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        // expected-note @below {{here}}
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @m micro_batch 0 after (%1) on @to1
        %3 = ppcrt.load micro_batch 1 on @compute
        // expected-error @below {{does for @forward and micro-batch 0 what an earlier action did}}
        %4 = ppcrt.run @forward micro_batch 0 on @compute
        %5 = ppcrt.send @m micro_batch 1 after (%4) on @to1
        %6 = ppcrt.run @update on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @use forward code @forward1 reads [@y] writes []
      ppcrt.routine @update update code @update1 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        %2 = ppcrt.receive @m micro_batch 1 on @from0
        %3 = ppcrt.run @use micro_batch 1 after (%2) on @compute
        %4 = ppcrt.run @update on @compute
      }
    }
    ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
  }
  func.func @forward0(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @forward1(%x: tensor<4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @update0() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @update1() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C4: never received.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h]
      ppcrt.routine @update update code @update0 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @m micro_batch 0 after (%1) on @to1
        %3 = ppcrt.load micro_batch 1 on @compute
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        // expected-error @below {{is for a message that is sent and never received}}
        %5 = ppcrt.send @m micro_batch 1 after (%4) on @to1
        %6 = ppcrt.run @update on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @use forward code @forward1 reads [@y] writes []
      ppcrt.routine @update update code @update1 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        %3 = ppcrt.run @use micro_batch 1 on @compute
        %4 = ppcrt.run @update on @compute
      }
    }
    // expected-note @below {{the message, of micro-batch 1}}
    ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
  }
  func.func @forward0(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @forward1(%x: tensor<4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @update0() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @update1() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C4: never sent.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h]
      ppcrt.routine @update update code @update0 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @m micro_batch 0 after (%1) on @to1
        %3 = ppcrt.load micro_batch 1 on @compute
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        %6 = ppcrt.run @update on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @use forward code @forward1 reads [@y] writes []
      ppcrt.routine @update update code @update1 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        // expected-error @below {{is for a message that is received and never sent}}
        %2 = ppcrt.receive @m micro_batch 1 on @from0
        %3 = ppcrt.run @use micro_batch 1 after (%2) on @compute
        %4 = ppcrt.run @update on @compute
      }
    }
    // expected-note @below {{the message, of micro-batch 1}}
    ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
  }
  func.func @forward0(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @forward1(%x: tensor<4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @update0() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @update1() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C4: neither.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h]
      ppcrt.routine @update update code @update0 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @m micro_batch 0 after (%1) on @to1
        %3 = ppcrt.load micro_batch 1 on @compute
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        %6 = ppcrt.run @update on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @use forward code @forward1 reads [@y] writes []
      ppcrt.routine @update update code @update1 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        %3 = ppcrt.run @use micro_batch 1 on @compute
        %4 = ppcrt.run @update on @compute
      }
    }
    // expected-error @below {{is sent for 1 of 2 micro-batches}}
    ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
  }
  func.func @forward0(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @forward1(%x: tensor<4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @update0() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @update1() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// C5: another channel.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h]
      ppcrt.routine @update update code @update0 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @m micro_batch 0 after (%1) on @to1
        %3 = ppcrt.load micro_batch 1 on @compute
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        %5 = ppcrt.send @m micro_batch 1 after (%4) on @to1
        %6 = ppcrt.run @update on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @use forward code @forward1 reads [@y] writes []
      ppcrt.routine @update update code @update1 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        %2 = ppcrt.receive @m micro_batch 1 on @from0
        %3 = ppcrt.run @use micro_batch 1 after (%2) on @compute
        %4 = ppcrt.run @update on @compute
      }
    }
    ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
  }
  func.func @forward0(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @forward1(%x: tensor<4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @update0() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    // expected-error @below {{is number 0 over ["pp"] on device 0, where device 1 does something else}}
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 1 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @update1() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    // expected-note @below {{its own}}
    %1 = ppc.all_reduce %0 over ["pp"] <sum> {ppc.channel = 0 : i64} : tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// expected-error @below {{has no ppcrt.program: run ppc-split-stages first}}
module {
}

// -----

ppcrt.program @train grid <pp = 1> micro_batches 1 {
  // expected-error @below {{has no step: run ppc-apply-schedule first}}
  ppcrt.device @device0 at 0 {
  }
}
