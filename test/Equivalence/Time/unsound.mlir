// Timing faults, each found within 100 orders: races, bytes that two actions touch at once, hangs, numbers that depend
// on the order.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --test-ppc-timed-execution -o /dev/null

// A slot is written again before it has been sent: the token of the send is missing.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @x input "x" : memref<4xf32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @copy reads [@x] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-note @below {{the other}}
        %2 = ppcrt.send @down micro_batch 0 after (%1) on @to1
        %3 = ppcrt.load micro_batch 1 on @compute
        // expected-error @below {{overlap in order}}
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        %5 = ppcrt.send @down micro_batch 1 after (%4) on @to1
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 2
      ppcrt.buffer @sum gradient "w" : memref<4xf32>
      ppcrt.routine @use backward code @add reads [@y, @sum] writes [@sum]
      ppcrt.step {
        %0 = ppcrt.receive @down micro_batch 0 on @from0
        %1 = ppcrt.run @use micro_batch 0 after (%0) on @compute
        %2 = ppcrt.receive @down micro_batch 1 on @from0
        %3 = ppcrt.run @use micro_batch 1 after (%2) on @compute
      }
    }
    ppcrt.message @down from @device0::@h after @forward to @device1::@y before @use
  }
  func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
  func.func @add(%x: tensor<4xf32>, %sum: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %x, %sum : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// A routine does not wait for what it reads to have arrived.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @copy reads [@x] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.send @down micro_batch 0 on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.buffer @sum gradient "w" : memref<4xf32>
      ppcrt.routine @use backward code @add reads [@y, @sum] writes [@sum]
      ppcrt.step {
        // expected-error @below {{overlap in order}}
        %0 = ppcrt.receive @down micro_batch 0 on @from0
        // expected-note @below {{the other}}
        %1 = ppcrt.run @use micro_batch 0 on @compute
      }
    }
    ppcrt.message @down from @device0::@h after @forward to @device1::@y before @use
  }
  func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
  func.func @add(%x: tensor<4xf32>, %sum: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %x, %sum : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Too few slots: all that is meant to come first does, and the second message still overwrites the first too early.
module {
  // expected-error @below {{gives other numbers in order}}
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @other
      ppcrt.buffer @x input "x" : memref<4xf32> slots 2
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.buffer @kept saved : memref<4xf32> slots 2
      ppcrt.buffer @w parameter "w" : memref<4xf32>
      ppcrt.routine @forward forward code @copy reads [@x] writes [@h]
      ppcrt.routine @take forward code @copy reads [@h] writes [@kept]
      ppcrt.routine @update update code @last reads [@w] writes [@w]
      ppcrt.routine @backward backward code @subtract reads [@kept, @w] writes [@w]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @other
        %1 = ppcrt.load micro_batch 1 on @other
        %2 = ppcrt.run @forward micro_batch 0 after (%0) on @compute
        %3 = ppcrt.run @forward micro_batch 1 after (%1) on @compute
        %4 = ppcrt.run @take micro_batch 0 on @compute
        %5 = ppcrt.run @backward micro_batch 0 on @compute
        %6 = ppcrt.run @backward micro_batch 1 on @compute
        %7 = ppcrt.run @update on @compute
      }
    }
  }
  func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
  func.func @subtract(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "backward"} {
    %0 = ppc.sub %w, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @last(%w: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "update"} {
    return %w : tensor<4xf32>
  }
}

// -----

// Two routines on two streams share bytes of the arena, one as scratch.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 192 {
      ppcrt.stream @compute
      ppcrt.stream @other
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1 offset 0 stride 64
      ppcrt.buffer @h saved : memref<4xf32> slots 1 offset 64 stride 64
      ppcrt.buffer @k saved : memref<4xf32> slots 1 offset 128 stride 64
      ppcrt.buffer @s scratch : memref<32xi8> offset 112
      ppcrt.routine @forward forward code @copy reads [@x] writes [@h]
      ppcrt.routine @beside forward chunk 1 code @copy reads [@x] writes [@h] scratch @s
      ppcrt.routine @third forward chunk 2 code @copy reads [@x] writes [@k]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        // expected-error @below {{overlap in order}}
        %1 = ppcrt.run @beside micro_batch 0 after (%0) on @other
        // expected-note @below {{the other}}
        %2 = ppcrt.run @third micro_batch 0 after (%0) on @compute
      }
    }
  }
  func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
}

// -----

// An action whose buffers share bytes.
module {
  // expected-error @below {{uses @x and @h, which share bytes, and writes one of them}}
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 64 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1 offset 0 stride 64
      ppcrt.buffer @h saved : memref<4xf32> slots 1 offset 8 stride 64
      ppcrt.routine @forward forward code @copy reads [@x] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
}

// -----

// Past the arena.
module {
  // expected-error @below {{@h ends at byte 80 of an arena of 64}}
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 64 {
      ppcrt.stream @compute
      ppcrt.buffer @h saved : memref<4xf32> slots 1 offset 64 stride 64
      ppcrt.step {
      }
    }
  }
}

// -----

// Neighbours that first send and then receive on one stream: whether that goes on would depend on how much a transport
// keeps. As an exchange, or on two streams, it is sound (sound.mlir).
module {
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.buffer @g message : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @copy reads [@x] writes [@h]
      ppcrt.routine @backward backward code @copy reads [@g] writes []
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-error @below {{hang in order}}
        %2 = ppcrt.send @down micro_batch 0 after (%1) on @messages
        %3 = ppcrt.receive @up micro_batch 0 on @messages
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.buffer @dy saved : memref<4xf32> slots 1
      ppcrt.routine @own forward code @copy reads [@x] writes [@dy]
      ppcrt.routine @use backward code @copy reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @own micro_batch 0 on @compute
        %2 = ppcrt.send @up micro_batch 0 after (%1) on @messages
        %3 = ppcrt.receive @down micro_batch 0 on @messages
      }
    }
    ppcrt.message @down from @device0::@h after @forward to @device1::@y before @use
    ppcrt.message @up from @device1::@dy after @own to @device0::@g before @backward
  }
  func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
}

// -----

// Both receive before they send, on streams of their own, and one waits for what it has received: a circle.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.buffer @g message : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @copy reads [@x] writes [@h]
      ppcrt.routine @backward backward code @copy reads [@g] writes []
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-error @below {{hang in order}}
        %2 = ppcrt.receive @up micro_batch 0 on @messages
        %3 = ppcrt.send @down micro_batch 0 after (%1, %2) on @compute
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.buffer @dy saved : memref<4xf32> slots 1
      ppcrt.routine @own forward code @copy reads [@x] writes [@dy]
      ppcrt.routine @use backward code @copy reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @own micro_batch 0 on @compute
        %2 = ppcrt.receive @down micro_batch 0 on @messages
        %3 = ppcrt.send @up micro_batch 0 after (%1, %2) on @compute
      }
    }
    ppcrt.message @down from @device0::@h after @forward to @device1::@y before @use
    ppcrt.message @up from @device1::@dy after @own to @device0::@g before @backward
  }
  func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
}

// -----

// A message that is sent and not received.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1
      ppcrt.buffer @h saved : memref<4xf32> slots 1
      ppcrt.buffer @g message : memref<4xf32> slots 1
      ppcrt.routine @forward forward code @copy reads [@x] writes [@h]
      ppcrt.routine @backward backward code @copy reads [@g] writes []
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-error @below {{hang in order}}
        %2 = ppcrt.send @down micro_batch 0 after (%1) on @messages
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @compute
      ppcrt.stream @messages
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1
      ppcrt.buffer @y message : memref<4xf32> slots 1
      ppcrt.buffer @dy saved : memref<4xf32> slots 1
      ppcrt.routine @own forward code @copy reads [@x] writes [@dy]
      ppcrt.routine @use backward code @copy reads [@y] writes []
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @own micro_batch 0 on @compute
      }
    }
    ppcrt.message @down from @device0::@h after @forward to @device1::@y before @use
    ppcrt.message @up from @device1::@dy after @own to @device0::@g before @backward
  }
  func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
}

// -----

// Two groups in opposite orders on two devices.
module {
  ppcrt.group @pairs2 axes ["pp"]
  ppcrt.group @pairs ranks [array<i64: 0, 3>, array<i64: 1, 2>]
  ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{hang in order}}
        %0 = ppcrt.collective all_reduce sum group @pairs reads [@v] writes [@v] on @a
        %1 = ppcrt.collective all_reduce sum group @pairs2 reads [@w] writes [@w] on @a
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.step {
        %0 = ppcrt.collective all_reduce sum group @pairs2 reads [@w] writes [@w] on @a
        %1 = ppcrt.collective all_reduce sum group @pairs reads [@v] writes [@v] on @a
      }
    }
  }
}

// -----

// Two buckets of one group in other orders: they are matched with each other.
module {
  ppcrt.group @pairs ranks [array<i64: 0, 3>, array<i64: 1, 2>]
  ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{meets a collective of another kind}}
        %0 = ppcrt.collective all_reduce sum group @pairs reads [@v] writes [@v] on @a
        %1 = ppcrt.collective all_reduce max group @pairs reads [@w] writes [@w] on @a
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-note @below {{the other}}
        %0 = ppcrt.collective all_reduce max group @pairs reads [@w] writes [@w] on @a
        %1 = ppcrt.collective all_reduce sum group @pairs reads [@v] writes [@v] on @a
      }
    }
  }
}

// -----

// A bucket is reduced on one stream while another stream reduces one of its buffers.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.group @pairs ranks [array<i64: 0, 3>, array<i64: 1, 2>]
  ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.step {
        // expected-error @below {{overlap in order}}
        %0 = ppcrt.collective all_reduce sum group @dp reads [@v, @w] writes [@v, @w] on @a
        // expected-note @below {{the other}}
        %1 = ppcrt.collective all_reduce sum group @pairs reads [@w] writes [@w] on @b
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.step {
        %0 = ppcrt.collective all_reduce sum group @dp reads [@v, @w] writes [@v, @w] on @a
        %1 = ppcrt.collective all_reduce sum group @pairs reads [@w] writes [@w] after (%0) on @b
      }
    }
  }
}

// -----

// A group without the rank.
module {
  ppcrt.group @some axes ["pp"] stages [0]
  // expected-error @below {{is in no set of its group}}
  ppcrt.program @train grid <pp = 2, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.step {
        %0 = ppcrt.collective all_reduce sum group @some reads [@v] writes [@v] on @a
      }
    }
    ppcrt.device @device1 at 1 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.step {
        %0 = ppcrt.collective all_reduce sum group @some reads [@v] writes [@v] on @a
      }
    }
  }
}

// -----

// Two routines that communicate inside over the same ranks run concurrently: which comes first may differ by rank.
module {
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @a
      ppcrt.stream @b
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.routine @first forward code @sum reads [@v] writes [@v]
      ppcrt.routine @second forward chunk 1 code @sum reads [@w] writes [@w]
      ppcrt.step {
        // expected-note @below {{the other}}
        %0 = ppcrt.run @first micro_batch 0 on @a
        // expected-error @below {{communicates over the same ranks as another action at the same time}}
        %1 = ppcrt.run @second micro_batch 0 on @b
      }
    }
  }
  func.func @sum(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.all_reduce %x over ["dp"] <sum> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// A sum between ranks begins when the code has finished with the other gradient.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.routine @backward backward code @gradient reads [@x, @v, @w] writes [@v, @w] early [[@v], [@w]]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        // expected-note @below {{the other}}
        %1:3 = ppcrt.run @backward micro_batch 0 on @compute
        // expected-error @below {{overlap in order}}
        %2 = ppcrt.collective all_reduce sum group @dp reads [@w] writes [@w] after (%1#0) on @dp_comm
      }
    }
  }
  func.func @gradient(%x: tensor<4xf32>, %v: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %v, %x : tensor<4xf32>
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %w, %x : tensor<4xf32>
    ppcrt.reach 1 (%1 : tensor<4xf32>)
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// A sum between ranks begins before the code has used the gradient for the last time.
module {
  ppcrt.group @dp axes ["dp"]
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.stream @dp_comm
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1
      ppcrt.buffer @v gradient "v" : memref<4xf32>
      ppcrt.buffer @w gradient "w" : memref<4xf32>
      ppcrt.routine @backward backward code @gradient reads [@x, @v, @w] writes [@v, @w] early [[@v]]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        // expected-note @below {{the other}}
        %1:2 = ppcrt.run @backward micro_batch 0 on @compute
        // expected-error @below {{overlap in order}}
        %2 = ppcrt.collective all_reduce sum group @dp reads [@v] writes [@v] after (%1#0) on @dp_comm
      }
    }
  }
  func.func @gradient(%x: tensor<4xf32>, %v: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %v, %x : tensor<4xf32>
    ppcrt.reach 0 (%0 : tensor<4xf32>)
    %1 = ppc.add %w, %0 : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
