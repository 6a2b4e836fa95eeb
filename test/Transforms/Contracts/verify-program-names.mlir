// The contract of programs: names. Each case is the sound one with one fault.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-program

// C2: a micro-batch for a routine of the step.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h]
      // expected-note @below {{the routine}}
      ppcrt.routine @update update code @update0 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @m micro_batch 0 after (%1) on @to1
        %3 = ppcrt.load micro_batch 1 on @compute
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        %5 = ppcrt.send @m micro_batch 1 after (%4) on @to1
        // run_c2
        // expected-error @below {{gives a micro-batch to a routine of the step}}
        %6 = ppcrt.run @update micro_batch 0 on @compute
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

// C2: no micro-batch.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      // expected-note @below {{the routine}}
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h]
      ppcrt.routine @update update code @update0 reads [] writes [@loss]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        // run_c2: none
        // expected-error @below {{has no micro-batch}}
        %1 = ppcrt.run @forward on @compute
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

// C2: sent by the receiver.
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
        // expected-error @below {{sends @m, which is not a message from its device}}
        %0 = ppcrt.send @m micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        %2 = ppcrt.receive @m micro_batch 1 on @from0
        %3 = ppcrt.run @use micro_batch 1 after (%2) on @compute
        %4 = ppcrt.run @update on @compute
      }
    }
    // expected-note @below {{it goes from @device0 to @device1}}
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

// C2: no such group.
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
        // expected-error @below {{is of group @dp, which the module does not have}}
        %9 = ppcrt.collective all_reduce sum group @dp reads [@loss] writes [@loss] on @compute
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

// C2: no such buffer.
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
        // expected-error @below {{works on @norm, which is not a buffer of its device}}
        ppcrt.check_finite [@norm] on @compute
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
