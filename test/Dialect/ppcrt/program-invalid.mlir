// Invalid programs, devices, buffers, routines, messages and groups.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics

// group_c1
// expected-error @below {{needs either 'axes' or 'ranks'}}
ppcrt.group @g

// -----

// group_c1: both
// expected-error @below {{needs either 'axes' or 'ranks'}}
ppcrt.group @g axes ["dp"] ranks [array<i64: 0>]

// -----

// group_c2
// expected-error @below {{needs axes that differ, found}}
ppcrt.group @g axes ["dp", "dp"]

// -----

// group_c3
// expected-error @below {{needs ascending stages from 0, found 1 after the one before}}
ppcrt.group @g axes ["pp"] stages [2, 1]

// -----

// group_c3: none
// expected-error @below {{has no stage}}
ppcrt.group @g axes ["pp"] stages []

// -----

// group_c4
// expected-error @below {{names rank 3 twice}}
ppcrt.group @g ranks [array<i64: 0, 3>, array<i64: 3, 1>]

// -----

// group_c4: sizes
// expected-error @below {{has a set of 1 ranks, the first has 2}}
ppcrt.group @g ranks [array<i64: 0, 3>, array<i64: 1>]

// -----

// program_c1
// expected-error @below {{has 0 micro-batches}}
ppcrt.program @p grid <pp = 1> micro_batches 0 {
}

// -----

// program_c5
// expected-error@+1 {{'ppcrt.program' op has 2 copies of the model for 3 micro-batches, which they share evenly}}
ppcrt.program @train grid <pp = 1> micro_batches 3 copies 2 {
  ppcrt.device @device0 at 0 {
  }
}

// -----

// program_c2
// expected-error @below {{needs "pp" as the first axis of its mesh}}
ppcrt.program @p grid <dp = 1> micro_batches 1 {
}

// -----

// program_c3: count
// expected-error @below {{has 0 devices, its mesh 1}}
ppcrt.program @p grid <pp = 1> micro_batches 1 {
}

// -----

// program_c3: order
ppcrt.program @p grid <pp = 1> micro_batches 1 {
  // expected-error @below {{is at 1, expected 0}}
  ppcrt.device @d at 1 {
  }
}

// -----

// program_c4
ppcrt.program @p grid <pp = 1> micro_batches 1 {
  // expected-error @below {{is neither a device nor a message}}
  func.func private @f()
}

// -----

// device_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is not allowed in a device}}
    func.func private @f()
  }
}

// -----

// device_c2
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.step {
    }
    // expected-error @below {{is the second of its device}}
    ppcrt.step {
    }
  }
}

// -----

// device_c3
ppcrt.program @p grid <pp = 1> micro_batches 1 {
  // expected-error @below {{has an arena of -64 bytes}}
  ppcrt.device @d at 0 arena -64 {
  }
}

// -----

// buffer_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is a parameter without a name}}
    ppcrt.buffer @b parameter : memref<4xf32>
  }
}

// -----

// buffer_c1: state
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{does not say which state it is}}
    ppcrt.buffer @b state "w" : memref<4xf32>
  }
}

// -----

// buffer_c1: no state
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is not optimizer state}}
    ppcrt.buffer @b parameter "w" state "m" : memref<4xf32>
  }
}

// -----

// buffer_c2
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is a saved without slots}}
    ppcrt.buffer @b saved : memref<4xf32>
  }
}

// -----

// buffer_c2: kept
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is a accumulator, which has no slots}}
    ppcrt.buffer @b accumulator : memref<4xf32> slots 2
  }
}

// -----

// buffer_c2: count
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{has 0 slots}}
    ppcrt.buffer @b saved : memref<4xf32> slots 0
  }
}

// -----

// buffer_c3
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is a saved, only parameters are initialised}}
    ppcrt.buffer @b saved : memref<4xf32> init <ones> slots 1
  }
}

// -----

// buffer_c4
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is at offset -64}}
    ppcrt.buffer @b accumulator : memref<4xf32> offset -64
  }
}

// -----

// buffer_c4: stride
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{has a stride of 8 bytes for slots of 16}}
    ppcrt.buffer @b saved : memref<4xf32> slots 2 offset 0 stride 8
  }
}

// -----

// buffer_c4: no slots
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{has a stride of 64 but no slots}}
    ppcrt.buffer @b accumulator : memref<4xf32> offset 0 stride 64
  }
}

// -----

// buffer_c5
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{which does not fit}}
    ppcrt.buffer @b parameter "w" : memref<4xf32> sharding <[{dp}, {}]>
  }
}

// -----

// buffer_c5: block
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is not a block of}}
    ppcrt.buffer @b parameter "w" : memref<4xf32> of tensor<4xf32> sharding <[{dp}]>
  }
}

// -----

// buffer_c6
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    // expected-error @below {{is scratch, which is bytes}}
    ppcrt.buffer @b scratch : memref<4xf32>
  }
}

// -----

// routine_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @s scratch : memref<64xi8>
    // expected-error @below {{is of chunk -1}}
    ppcrt.routine @r forward chunk -1 code @code reads [] writes []
  }
}
func.func private @code()

// -----

// routine_c2
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @s scratch : memref<64xi8>
    // expected-error @below {{is bound to @x, which is not a buffer of its device}}
    ppcrt.routine @r forward code @code reads [@x] writes []
  }
}
func.func private @code()

// -----

// routine_c2: twice
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @s scratch : memref<64xi8>
    // expected-error @below {{writes @a twice}}
    ppcrt.routine @r forward code @code reads [] writes [@a, @a]
  }
}
func.func private @code()

// -----

// routine_c2: scratch
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @s scratch : memref<64xi8>
    // expected-error @below {{is bound to @s, which is scratch}}
    ppcrt.routine @r forward code @code reads [@s] writes []
  }
}
func.func private @code()

// -----

// routine_c2: no scratch
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @s scratch : memref<64xi8>
    // expected-error @below {{has @a for scratch, which is none}}
    ppcrt.routine @r forward code @code reads [] writes [] scratch @a
  }
}
func.func private @code()

// -----

// routine_c3
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @s scratch : memref<64xi8>
    // expected-error @below {{is of the whole step and bound to @h, which has slots}}
    ppcrt.routine @r update code @code reads [@h] writes []
  }
}
func.func private @code()

// -----

// routine_c4
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @s scratch : memref<64xi8>
    // expected-error @below {{names code @nothing, which is not in the module}}
    ppcrt.routine @r forward code @nothing reads [] writes []
  }
}
func.func private @code()

// -----

// routine_c6
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.buffer @s scratch : memref<64xi8>
    // expected-error @below {{has @s in entry 0 of 'early', and neither reads nor writes it}}
    ppcrt.routine @r backward code @code reads [@a] writes [@a] scratch @s early [[@s]]
  }
}
func.func private @code()

// -----

// routine_c6: twice
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.buffer @b accumulator : memref<4xf32>
    // expected-error @below {{has @a in entry 1 of 'early', where it was before}}
    ppcrt.routine @r backward code @code reads [@a, @b] writes [@a] early [[@a], [@b, @a]]
  }
}
func.func private @code()

// -----

// routine_c6: none
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @a accumulator : memref<4xf32>
    // expected-error @below {{has no buffer in entry 1 of 'early'}}
    ppcrt.routine @r backward code @code reads [@a] writes [@a] early [[@a], []]
  }
}
func.func private @code()

// -----

// message_c1
ppcrt.program @train grid <pp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.routine @forward forward code @code reads [] writes [@h]
    ppcrt.routine @update update code @code reads [] writes []
  }
  ppcrt.device @device1 at 1 {
    ppcrt.buffer @x message : memref<4xf32> slots 1
    ppcrt.routine @use forward code @code reads [@x] writes []
    ppcrt.routine @other backward code @code reads [] writes []
  }
  // expected-error @below {{goes to @device1::@y, which is not a buffer of a device}}
  ppcrt.message @m from @device0::@h after @forward to @device1::@y before @use
}
func.func private @code()

// -----

// message_c1: itself
ppcrt.program @train grid <pp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.routine @forward forward code @code reads [] writes [@h]
    ppcrt.routine @update update code @code reads [] writes []
  }
  ppcrt.device @device1 at 1 {
    ppcrt.buffer @x message : memref<4xf32> slots 1
    ppcrt.routine @use forward code @code reads [@x] writes []
    ppcrt.routine @other backward code @code reads [] writes []
  }
  // expected-error @below {{does not leave its device}}
  ppcrt.message @m from @device0::@h after @forward to @device0::@h before @forward
}
func.func private @code()

// -----

// message_c1: types
ppcrt.program @train grid <pp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.routine @forward forward code @code reads [] writes [@h]
    ppcrt.routine @update update code @code reads [] writes []
  }
  ppcrt.device @device1 at 1 {
    // expected-note @below {{received here}}
    ppcrt.buffer @x message : memref<8xf32> slots 1
    ppcrt.routine @use forward code @code reads [@x] writes []
    ppcrt.routine @other backward code @code reads [] writes []
  }
  // expected-error-re @below {{is sent as {{.*}}memref<4xf32>{{.*}} and received as}}
  ppcrt.message @m from @device0::@h after @forward to @device1::@x before @use
}
func.func private @code()

// -----

// message_c1: slots
ppcrt.program @train grid <pp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.routine @forward forward code @code reads [] writes [@h]
    ppcrt.routine @update update code @code reads [] writes []
  }
  ppcrt.device @device1 at 1 {
    ppcrt.buffer @x message : memref<4xf32> slots 1
    ppcrt.routine @use forward code @code reads [@x] writes []
    ppcrt.routine @other backward code @code reads [] writes []
  }
  // expected-error @below {{needs buffers with slots, and one for messages where it arrives}}
  ppcrt.message @m from @device0::@a after @forward to @device1::@x before @use
}
func.func private @code()

// -----

// message_c2
ppcrt.program @train grid <pp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.routine @forward forward code @code reads [] writes [@h]
    ppcrt.routine @update update code @code reads [] writes []
  }
  ppcrt.device @device1 at 1 {
    ppcrt.buffer @x message : memref<4xf32> slots 1
    ppcrt.routine @use forward code @code reads [@x] writes []
    ppcrt.routine @other backward code @code reads [] writes []
  }
  // expected-error @below {{goes with @update, which is not a routine of micro-batches there}}
  ppcrt.message @m from @device0::@h after @update to @device1::@x before @use
}
func.func private @code()

// -----

// message_c2: unused
ppcrt.program @train grid <pp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.routine @forward forward code @code reads [] writes [@h]
    ppcrt.routine @update update code @code reads [] writes []
  }
  ppcrt.device @device1 at 1 {
    ppcrt.buffer @x message : memref<4xf32> slots 1
    ppcrt.routine @use forward code @code reads [@x] writes []
    ppcrt.routine @other backward code @code reads [] writes []
  }
  // expected-error @below {{goes with @other, which does not read its buffer}}
  ppcrt.message @m from @device0::@h after @forward to @device1::@x before @other
}
func.func private @code()

// -----

// message_c3
ppcrt.program @train grid <pp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.buffer @h saved : memref<4xf32> slots 1
    ppcrt.buffer @a accumulator : memref<4xf32>
    ppcrt.routine @forward forward code @code reads [] writes [@h]
    ppcrt.routine @update update code @code reads [] writes []
  }
  ppcrt.device @device1 at 1 {
    ppcrt.buffer @x message : memref<4xf32> slots 1
    ppcrt.routine @use forward code @code reads [@x] writes []
    ppcrt.routine @other backward code @code reads [] writes []
  }
  // expected-note @below {{this one}}
  ppcrt.message @first from @device0::@h after @forward to @device1::@x before @use
  // expected-error @below {{arrives in @device1::@x, as does another message}}
  ppcrt.message @m from @device0::@h after @forward to @device1::@x before @use
}
func.func private @code()
