// Bytes of the arena against the order of their uses. Each case is a sound program with one fault.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-verify-arena

// Sound: two routines of one stream share scratch, and the tensors that one routine gathers for another overlap scratch of a third.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 256 {
      ppcrt.stream @compute
      ppcrt.buffer @w parameter "w" : memref<16xf32> offset 0
      ppcrt.buffer @full gathered : memref<16xf32> offset 64
      ppcrt.buffer @s0 scratch : memref<64xi8> offset 128
      ppcrt.buffer @s1 scratch : memref<64xi8> offset 128
      ppcrt.buffer @s2 scratch : memref<128xi8> offset 64
      ppcrt.routine @gather prepare code @gather reads [@w] writes [@full] scratch @s0
      ppcrt.routine @forward forward code @forward reads [@full] writes [] scratch @s1
      ppcrt.routine @update update code @update reads [] writes [@w] scratch @s2
      ppcrt.step {
        %0 = ppcrt.run @gather on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.run @update on @compute
      }
    }
  }
  func.func @gather(%w: memref<16xf32>, %full: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "prepare"} {
    return
  }
  func.func @forward(%full: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @update(%w: memref<16xf32>, %scratch: memref<128xi8>) attributes {ppcrt.routine = "update"} {
    return
  }
}

// -----

// C1: no place.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 256 {
      // expected-error @below {{has no offset in the arena: run ppc-assign-arena first}}
      ppcrt.buffer @w parameter "w" : memref<16xf32>
      ppcrt.step {
      }
    }
  }
}

// -----

// C1: the last slot lies past the end.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 128 {
      // expected-error @below {{ends at byte 192 of an arena of 128}}
      ppcrt.buffer @h saved : memref<16xf32> slots 3 offset 0 stride 64
      ppcrt.step {
      }
    }
  }
}

// -----

// C2: a step begins with both.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 128 {
      // expected-note @below {{the other buffer}}
      ppcrt.buffer @w parameter "w" : memref<16xf32> offset 0
      // expected-error @below {{shares byte 60 of the arena with @w (parameter w); a step begins with both}}
      ppcrt.buffer @g gradient "w" : memref<16xf32> offset 60
      ppcrt.step {
      }
    }
  }
}

// -----

// C3: two streams run routines with one scratch.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 128 {
      ppcrt.stream @compute
      ppcrt.stream @other
      ppcrt.buffer @s0 scratch : memref<64xi8> offset 0
      ppcrt.buffer @s1 scratch : memref<64xi8> offset 63
      ppcrt.routine @forward forward code @forward reads [] writes [] scratch @s0
      ppcrt.routine @weight weight_gradient code @weight reads [] writes [] scratch @s1
      ppcrt.step {
        // expected-note @below {{which nothing orders before it: run of @forward, micro-batch 0, on device 0}}
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-error @below {{may use @s1 (scratch) while @s0 (scratch), also at byte 63 of the arena, is still being written}}
        %1 = ppcrt.run @weight micro_batch 0 on @other
      }
    }
  }
  func.func @forward(%scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @weight(%scratch: memref<64xi8>) attributes {ppcrt.routine = "weight_gradient"} {
    return
  }
}

// -----

// C3: the bytes of a message that is still being sent.
module {
  ppcrt.program @train grid <pp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 192 {
      ppcrt.stream @compute
      ppcrt.stream @to1
      ppcrt.buffer @h saved : memref<16xf32> slots 1 offset 0 stride 64
      ppcrt.buffer @s0 scratch : memref<64xi8> offset 64
      ppcrt.buffer @s1 scratch : memref<64xi8> offset 32
      ppcrt.routine @forward forward code @forward reads [] writes [@h] scratch @s0
      ppcrt.routine @backward backward code @backward reads [] writes [] scratch @s1
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-note @below {{which nothing orders before it: send of @m, micro-batch 0, on device 0}}
        %1 = ppcrt.send @m micro_batch 0 after (%0) on @to1
        // expected-error @below {{may use @s1 (scratch) while slot 0 of @h (saved), also at byte 32 of the arena, is still being read}}
        %2 = ppcrt.run @backward micro_batch 0 on @compute
      }
    }
    ppcrt.device @device1 at 1 arena 128 {
      ppcrt.stream @from0
      ppcrt.buffer @y message : memref<16xf32> slots 1 offset 0 stride 64
      ppcrt.buffer @s scratch : memref<0xi8> offset 0
      ppcrt.routine @use forward code @use reads [@y] writes [] scratch @s
      ppcrt.step {
        %0 = ppcrt.receive @m micro_batch 0 on @from0
      }
    }
    ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
  }
  func.func @forward(%h: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @backward(%scratch: memref<64xi8>) attributes {ppcrt.routine = "backward"} {
    return
  }
  func.func @use(%y: memref<16xf32>, %scratch: memref<0xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
}

// -----

// C3: a routine whose scratch lies on what it reads.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 128 {
      ppcrt.stream @compute
      // expected-note @below {{the other buffer}}
      ppcrt.buffer @x input "ids" : memref<16xi32> slots 1 offset 0 stride 64
      ppcrt.buffer @s scratch : memref<64xi8> offset 32
      ppcrt.routine @forward forward code @forward reads [@x] writes [] scratch @s
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        // expected-error @below {{uses @s (scratch) and slot 0 of @x (input ids) at once, which share byte 32 of the arena}}
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @forward(%x: memref<16xi32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
}

// -----

// C4: everything is in order, but what was gathered is gone when it is read.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 256 {
      ppcrt.stream @compute
      ppcrt.buffer @w parameter "w" : memref<16xf32> offset 0
      ppcrt.buffer @full gathered : memref<16xf32> offset 64
      ppcrt.buffer @s0 scratch : memref<64xi8> offset 128
      ppcrt.buffer @s1 scratch : memref<64xi8> offset 64
      ppcrt.routine @gather prepare code @gather reads [@w] writes [@full] scratch @s0
      ppcrt.routine @forward forward code @forward reads [] writes [] scratch @s1
      ppcrt.routine @backward backward code @backward reads [@full] writes [] scratch @s0
      ppcrt.step {
        %0 = ppcrt.run @gather on @compute
        // expected-note @below {{written here: run of @forward, micro-batch 0, on device 0}}
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-error @below {{reads @full (gathered), over which @s1 (scratch) has been written, at byte 64 of the arena}}
        %2 = ppcrt.run @backward micro_batch 0 on @compute
      }
    }
  }
  func.func @gather(%w: memref<16xf32>, %full: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "prepare"} {
    return
  }
  func.func @forward(%scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @backward(%full: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "backward"} {
    return
  }
}

// -----

// C5: a parameter that is read for the last time before the bytes are used for something else: the next step needs it.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 256 {
      ppcrt.stream @compute
      // expected-error @below {{is kept, but at the end @s1 (scratch) is at byte 0 of the arena}}
      ppcrt.buffer @w parameter "w" : memref<16xf32> offset 0
      ppcrt.buffer @s0 scratch : memref<64xi8> offset 128
      ppcrt.buffer @s1 scratch : memref<64xi8> offset 0
      ppcrt.routine @forward forward code @forward reads [@w] writes [] scratch @s0
      ppcrt.routine @backward backward code @backward reads [] writes [] scratch @s1
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
        // expected-note @below {{written here: run of @backward, micro-batch 0, on device 0}}
        %1 = ppcrt.run @backward micro_batch 0 on @compute
      }
    }
  }
  func.func @forward(%w: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @backward(%scratch: memref<64xi8>) attributes {ppcrt.routine = "backward"} {
    return
  }
}

// -----

// The scratch of the arena has the size of the code's scratch.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 256 {
      ppcrt.stream @compute
      ppcrt.buffer @s scratch : memref<64xi8> offset 0
      // expected-error @below {{binds @s of 'memref<64xi8>' to argument 0 of @forward, which is 'memref<128xi8>'}}
      ppcrt.routine @forward forward code @forward reads [] writes [] scratch @s
      ppcrt.step {
        %0 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @forward(%scratch: memref<128xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
}

// -----

// Sound: operands of weight gradients take the slots of values that backward reads.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 arena 256 {
      ppcrt.stream @compute
      ppcrt.buffer @a saved : memref<16xf32> slots 2 places [0, 0] offset 0 stride 64
      ppcrt.buffer @b saved : memref<16xf32> slots 2 places [1, 1] shares @a offset 0 stride 64
      ppcrt.buffer @s0 scratch : memref<64xi8> offset 128
      ppcrt.routine @f0 forward code @forward reads [] writes [@a] scratch @s0
      ppcrt.routine @b0 backward code @backward reads [@a] writes [@b] scratch @s0
      ppcrt.routine @w0 weight_gradient code @weight reads [@b] writes [] scratch @s0
      ppcrt.step {
        %0 = ppcrt.run @f0 micro_batch 0 on @compute
        %1 = ppcrt.run @b0 micro_batch 0 on @compute
        %2 = ppcrt.run @f0 micro_batch 1 on @compute
        %3 = ppcrt.run @w0 micro_batch 0 on @compute
        %4 = ppcrt.run @b0 micro_batch 1 on @compute
        %5 = ppcrt.run @w0 micro_batch 1 on @compute
      }
    }
  }
  func.func @forward(%a: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @backward(%a: memref<16xf32>, %b: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "backward"} {
    return
  }
  func.func @weight(%b: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "weight_gradient"} {
    return
  }
}

// -----

// C4: over the value of another buffer, whose place it is still.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 arena 256 {
      ppcrt.stream @compute
      ppcrt.buffer @a saved : memref<16xf32> slots 2 places [0, 1] offset 0 stride 64
      ppcrt.buffer @b saved : memref<16xf32> slots 2 places [1, 0] shares @a offset 0 stride 64
      ppcrt.buffer @s0 scratch : memref<64xi8> offset 128
      ppcrt.routine @f0 forward code @forward reads [] writes [@a] scratch @s0
      ppcrt.routine @b0 backward code @backward reads [@a] writes [@b] scratch @s0
      ppcrt.routine @w0 weight_gradient code @weight reads [@b] writes [] scratch @s0
      ppcrt.step {
        %0 = ppcrt.run @f0 micro_batch 0 on @compute
        %1 = ppcrt.run @b0 micro_batch 0 on @compute
        // expected-note @below {{written here: run of @f0, micro-batch 1, on device 0}}
        %2 = ppcrt.run @f0 micro_batch 1 on @compute
        // expected-error @below {{reads slot 1 of @b (saved), over which slot 1 of @a (saved) has been written, at byte 64 of the arena}}
        %3 = ppcrt.run @w0 micro_batch 0 on @compute
        %4 = ppcrt.run @b0 micro_batch 1 on @compute
        %5 = ppcrt.run @w0 micro_batch 1 on @compute
      }
    }
  }
  func.func @forward(%a: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @backward(%a: memref<16xf32>, %b: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "backward"} {
    return
  }
  func.func @weight(%b: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "weight_gradient"} {
    return
  }
}

// -----

// C4: over that of another micro-batch.
module {
  ppcrt.program @train grid <pp = 1> micro_batches 2 {
    ppcrt.device @device0 at 0 arena 256 {
      ppcrt.stream @compute
      ppcrt.buffer @a saved : memref<16xf32> slots 2 places [1, 1] offset 0 stride 64
      ppcrt.buffer @s0 scratch : memref<64xi8> offset 128
      ppcrt.routine @f0 forward code @forward reads [] writes [@a] scratch @s0
      ppcrt.routine @b0 backward code @backward reads [@a] writes [] scratch @s0
      ppcrt.step {
        %0 = ppcrt.run @f0 micro_batch 0 on @compute
        // expected-note @below {{written here: run of @f0, micro-batch 1, on device 0}}
        %1 = ppcrt.run @f0 micro_batch 1 on @compute
        // expected-error @below {{reads slot 1 of @a (saved) for micro-batch 0, over which micro-batch 1 has been written, at byte 64 of the arena}}
        %2 = ppcrt.run @b0 micro_batch 0 on @compute
        %3 = ppcrt.run @b0 micro_batch 1 on @compute
      }
    }
  }
  func.func @forward(%a: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @backward(%a: memref<16xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "backward"} {
    return
  }
}
