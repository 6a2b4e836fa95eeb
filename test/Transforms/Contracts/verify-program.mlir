// The contract of programs: names, and code that fits. Each case is the sound one with one fault.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-program

// Sound.
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

// C1: another type.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      // routine_c5
      // expected-error @below {{binds @x of 'tensor<4xi32>' to argument 0 of @forward0, which is 'tensor<8xi32>'}}
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
  func.func @forward0(%x: tensor<8xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
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

// C1: code of another kind.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.buffer @loss metric "loss" : memref<f32>
      // routine_c5: kind
      // expected-error @below {{names code @forward0, which is not of kind forward}}
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
  // expected-note @below {{declared here}}
  func.func @forward0(%x: tensor<4xi32>) -> tensor<4xf32> attributes {ppcrt.routine = "backward"} {
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

// C2: no such stream.
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
        // expected-error @below {{is put on @other, which is not a stream of its device}}
        %1 = ppcrt.run @forward micro_batch 0 on @other
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

// C2: no such routine.
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
        // expected-error @below {{runs @backward, which is not a routine of its device}}
        %1 = ppcrt.run @backward micro_batch 0 on @compute
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

// C2: no such micro-batch.
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
        // expected-error @below {{is for micro-batch 2 of 2}}
        %1 = ppcrt.run @forward micro_batch 2 on @compute
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
