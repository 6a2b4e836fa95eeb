// The contract of programs about time: no wait deadlocks. Each case is a sound program with one fault.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-program

// Sound: messages in both directions on one stream as one exchange.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @make reads [] writes [@h]
      ppcrt.routine @backward backward code @back reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        %1 = ppcrt.exchange send @there micro_batch 0 receive @here micro_batch 0 after (%0) on @messages
        %2 = ppcrt.run @backward micro_batch 0 after (%1) on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @make reads [] writes [@h]
      ppcrt.routine @backward backward code @back reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        %1 = ppcrt.exchange send @here micro_batch 0 receive @there micro_batch 0 after (%0) on @messages
        %2 = ppcrt.run @backward micro_batch 0 after (%1) on @compute
      }
    }
    ppcrt.message @there from @device0::@h after @forward to @device1::@y before @backward
    ppcrt.message @here from @device1::@h after @forward to @device0::@y before @backward
  }
  func.func @make() -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @back(%x: tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    return
  }
}

// -----

// C6: opposite messages on one stream, neither of which can be received before the other has been sent.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @make reads [] writes [@h]
      ppcrt.routine @backward backward code @back reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-error @below {{waits for itself, a deadlock: send of @there, micro-batch 0, on device 0}}
        // expected-note @below {{that comes after this on its stream: send of @there, micro-batch 0, on device 0}}
        %1 = ppcrt.send @there micro_batch 0 after (%0) on @messages
        // expected-note @below {{that does not end before this starts: receive of @here, micro-batch 0, on device 0}}
        %2 = ppcrt.receive @here micro_batch 0 on @messages
        %3 = ppcrt.run @backward micro_batch 0 after (%2) on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @make reads [] writes [@h]
      ppcrt.routine @backward backward code @back reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-note @below {{that comes after this on its stream: send of @here, micro-batch 0, on device 1}}
        %1 = ppcrt.send @here micro_batch 0 after (%0) on @messages
        // expected-note @below {{that does not end before this starts: receive of @there, micro-batch 0, on device 1}}
        %2 = ppcrt.receive @there micro_batch 0 on @messages
        %3 = ppcrt.run @backward micro_batch 0 after (%2) on @compute
      }
    }
    ppcrt.message @there from @device0::@h after @forward to @device1::@y before @backward
    ppcrt.message @here from @device1::@h after @forward to @device0::@y before @backward
  }
  func.func @make() -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @back(%x: tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    return
  }
}

// -----

// C6: one end of a channel has another order than the other end.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @h saved : memref<4xf32> slots 2
      ppcrt.routine @forward forward code @make reads [] writes [@h]
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-error @below {{waits for itself, a deadlock}}
        // expected-note @below {{that comes after this on its stream: send of @m, micro-batch 0, on device 0}}
        %1 = ppcrt.send @m micro_batch 0 after (%0) on @to1
        %2 = ppcrt.run @forward micro_batch 1 on @compute
        // expected-note @below {{that does not end before this starts: send of @m, micro-batch 1, on device 0}}
        %3 = ppcrt.send @m micro_batch 1 after (%2) on @to1
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 2
      ppcrt.routine @use forward code @use reads [@y] writes []
      ppcrt.step {
        // expected-note @below {{that comes after this on its stream: receive of @m, micro-batch 1, on device 1}}
        %0 = ppcrt.receive @m micro_batch 1 on @from0
        %1 = ppcrt.run @use micro_batch 1 after (%0) on @compute
        // expected-note @below {{that does not end before this starts: receive of @m, micro-batch 0, on device 1}}
        %2 = ppcrt.receive @m micro_batch 0 on @from0
        %3 = ppcrt.run @use micro_batch 0 after (%2) on @compute
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

// C6: a token that waits for what comes after it, through the other device.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.stream @from1
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @make reads [] writes [@h]
      ppcrt.routine @backward backward code @back reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-error @below {{waits for itself, a deadlock: receive of @here, micro-batch 0, on device 0}}
        // expected-note @below {{that takes the token of this: receive of @here, micro-batch 0, on device 0}}
        %1 = ppcrt.receive @here micro_batch 0 on @from1
        // expected-note @below {{that does not end before this starts: send of @there, micro-batch 0, on device 0}}
        %2 = ppcrt.send @there micro_batch 0 after (%0, %1) on @to1
        %3 = ppcrt.run @backward micro_batch 0 after (%1) on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @to0
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.routine @use forward code @answer reads [@y] writes [@h]
      ppcrt.step {
        // expected-note @below {{that takes the token of this: receive of @there, micro-batch 0, on device 1}}
        %0 = ppcrt.receive @there micro_batch 0 on @from0
        // expected-note @below {{that takes the token of this: run of @use, micro-batch 0, on device 1}}
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        // expected-note @below {{that does not end before this starts: send of @here, micro-batch 0, on device 1}}
        %2 = ppcrt.send @here micro_batch 0 after (%1) on @to0
      }
    }
    ppcrt.message @there from @device0::@h after @forward to @device1::@y before @use
    ppcrt.message @here from @device1::@h after @use to @device0::@y before @backward
  }
  func.func @make() -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @answer(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
  func.func @back(%x: tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    return
  }
}

// -----

// A token that comes later, or never: of an action further down.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @data
      ppcrt.buffer @x input "ids" : memref<4xi32> slots 1
      ppcrt.step {
        // expected-error @below {{operand #0 does not dominate this use}}
        %0 = ppcrt.load micro_batch 0 after (%1) on @data
        // expected-note @below {{operand defined here (op in the same block)}}
        %1 = ppcrt.check_finite [@x] micro_batch 0 on @compute
      }
    }
  }
}
