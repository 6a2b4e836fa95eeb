// Invalid actions and invalid overlapped communication.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics

// step_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is not an action: only actions are allowed in a ppcrt.step}}
      %0 = arith.constant 1 : i64
    }
  }
}
func.func private @code()

// -----

// evaluate_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.evaluate {
      // expected-error @below {{is not an action: only actions are allowed in a ppcrt.evaluate}}
      %0 = arith.constant 1 : i64
    }
  }
}
func.func private @code()

// -----

// evaluate_c2
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.evaluate {
      // expected-error @below {{writes parameter w in an evaluation}}
      ppcrt.run @update on @compute
    }
  }
}
func.func private @code()

// -----

// load_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is for micro-batch -1}}
      ppcrt.load micro_batch -1 on @compute
    }
  }
}
func.func private @code()

// -----

// run_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is for micro-batch -1}}
      ppcrt.run @update micro_batch -1 on @compute
    }
  }
}
func.func private @code()

// -----

// send_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is for micro-batch -1}}
      ppcrt.send @m micro_batch -1 on @compute
    }
  }
}
func.func private @code()

// -----

// receive_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is for micro-batch -1}}
      ppcrt.receive @m micro_batch -1 on @compute
    }
  }
}
func.func private @code()

// -----

// exchange_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is for micro-batch -1}}
      ppcrt.exchange send @m micro_batch 0 receive @n micro_batch -1 on @compute
    }
  }
}
func.func private @code()

// -----

// exchange_c2
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{sends and receives @m}}
      ppcrt.exchange send @m micro_batch 0 receive @m micro_batch 1 on @compute
    }
  }
}
func.func private @code()

// -----

// collective_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{does not say how values are combined}}
      ppcrt.collective all_reduce group @dp reads [@w] writes [@w] on @compute
    }
  }
}
func.func private @code()

// -----

// collective_c1: gather
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{combines nothing}}
      ppcrt.collective all_gather sum group @dp reads [@w] writes [@wide] on @compute
    }
  }
}
func.func private @code()

// -----

// collective_c2
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{has 1 buffers to read and 2 to write}}
      ppcrt.collective all_gather group @dp reads [@w] writes [@wide, @w] on @compute
    }
  }
}
func.func private @code()

// -----

// collective_c2: ragged
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{has 1 buffers to read and 1 to write}}
      ppcrt.collective ragged_all_to_all group @dp reads [@w] writes [@wide] on @compute
    }
  }
}
func.func private @code()

// -----

// collective_c3
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is between}}
      ppcrt.collective permute group @dp reads [@w] writes [@wide] on @compute
    }
  }
}
func.func private @code()

// -----

// collective_c4
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is for micro-batch -2}}
      ppcrt.collective all_reduce sum group @dp reads [@w] writes [@w] micro_batch -2 on @compute
    }
  }
}
func.func private @code()

// -----

// copy_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{copies @w to itself}}
      ppcrt.copy @w to @w on @compute
    }
  }
}
func.func private @code()

// -----

// copy_c2
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is for micro-batch -1}}
      ppcrt.copy @w to @wide micro_batch -1 on @compute
    }
  }
}
func.func private @code()

// -----

// check_finite_c1
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{checks no buffer}}
      ppcrt.check_finite [] on @compute
    }
  }
}
func.func private @code()

// -----

// check_finite_c2
ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @w parameter "w" : memref<4xf32>
    ppcrt.buffer @wide accumulator : memref<8xf32>
    ppcrt.routine @update update code @code reads [] writes [@w]
    ppcrt.step {
      // expected-error @below {{is for micro-batch -1}}
      ppcrt.check_finite [@w] micro_batch -1 on @compute
    }
  }
}
func.func private @code()

// -----

// permute_c1
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{cannot move elements of type 'i8'}}
  ppcrt.permute group @dp shift 1 ins(%t8 : memref<4xi8>) outs(%t8 : memref<4xi8>)
  return
}

// -----

// permute_c2
ppcrt.group @dp axes ["dp"]
func.func @f(%x: tensor<3xf32>) {
  // expected-error @below {{must return nothing or a tensor of the destination's type}}
  %r = ppcrt.permute group @dp shift 1 ins(%x : tensor<3xf32>) outs(%x : tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

// permute_c3
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{is from 'memref<3xf32>' to 'memref<6xf32>'}}
  ppcrt.permute group @dp shift 1 ins(%x : memref<3xf32>) outs(%y : memref<6xf32>)
  return
}

// -----

// permute_c4
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{has shift 0, which moves no block}}
  ppcrt.permute group @dp shift 0 ins(%x : memref<3xf32>) outs(%x : memref<3xf32>)
  return
}

// -----

// permute: the group
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{is of group @dp, which the module does not have}}
  ppcrt.permute group @dp shift 1 ins(%x : memref<3xf32>) outs(%x : memref<3xf32>)
  return
}

// -----

// ragged_all_to_all_c1
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{cannot move elements of type 'i8'}}
  ppcrt.ragged_all_to_all group @dp ins(%t8, %n, %n : memref<4xi8>, memref<2xi32>, memref<2xi32>) outs(%t8 : memref<4xi8>)
  return
}

// -----

// ragged_all_to_all_c2
ppcrt.group @dp axes ["dp"]
func.func @f(%x: tensor<3xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{must return nothing or a tensor of the destination's type}}
  %r = ppcrt.ragged_all_to_all group @dp ins(%x, %n, %n : tensor<3xf32>, tensor<2xi32>, tensor<2xi32>) outs(%x : tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

// ragged_all_to_all_c3
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %n: memref<2xi32>, %z: memref<4x2xf32>) {
  // expected-error @below {{moves rows of 'memref<3xf32>' to 'memref<4x2xf32>'}}
  ppcrt.ragged_all_to_all group @dp ins(%x, %n, %n : memref<3xf32>, memref<2xi32>, memref<2xi32>) outs(%z : memref<4x2xf32>)
  return
}

// -----

// ragged_all_to_all_c4
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{expected as many i32 as ranks}}
  ppcrt.ragged_all_to_all group @dp ins(%x, %n, %y : memref<3xf32>, memref<2xi32>, memref<6xf32>) outs(%x : memref<3xf32>)
  return
}

// -----

// start_c1
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{does not say how values are combined}}
  %t = ppcrt.start reduce_scatter group @dp ins(%x : memref<3xf32>) outs(%y : memref<6xf32>)
  ppcrt.wait %t (%x, %y : memref<3xf32>, memref<6xf32>)
  return
}

// -----

// start_c2
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{has 1 buffers to read and 1 to write, expected 0 and 1}}
  %t = ppcrt.start all_reduce sum group @dp ins(%x : memref<3xf32>) outs(%y : memref<6xf32>)
  ppcrt.wait %t (%x, %y : memref<3xf32>, memref<6xf32>)
  return
}

// -----

// start_c3
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{cannot move elements of type 'i8'}}
  %t = ppcrt.start all_reduce sum group @dp outs(%t8 : memref<4xi8>)
  ppcrt.wait %t (%t8 : memref<4xi8>)
  return
}

// -----

// start_c4
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{needs a shift that is not 0}}
  %t = ppcrt.start permute group @dp ins(%x : memref<3xf32>) outs(%y : memref<6xf32>)
  ppcrt.wait %t (%x, %y : memref<3xf32>, memref<6xf32>)
  return
}

// -----

// start_c4: others
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{has a shift, which only a permute has}}
  %t = ppcrt.start all_gather group @dp shift 1 ins(%x : memref<3xf32>) outs(%y : memref<6xf32>)
  ppcrt.wait %t (%x, %y : memref<3xf32>, memref<6xf32>)
  return
}

// -----

// start_c5
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{needs one wait after it, in its block}}
  %t = ppcrt.start all_gather group @dp ins(%x : memref<3xf32>) outs(%y : memref<6xf32>)
  return
}

// -----

// start_c5: buffers
ppcrt.group @dp axes ["dp"]
func.func @f(%x: memref<3xf32>, %y: memref<6xf32>, %n: memref<2xi32>, %t8: memref<4xi8>) {
  // expected-error @below {{has other buffers in flight than its wait names}}
  %t = ppcrt.start all_gather group @dp ins(%x : memref<3xf32>) outs(%y : memref<6xf32>)
  // expected-note @below {{the wait}}
  ppcrt.wait %t (%x : memref<3xf32>)
  return
}

// -----

// wait_c1
func.func @f(%t: !ppcrt.token, %x: memref<3xf32>) {
  // expected-error @below {{waits for a token that no ppcrt.start gives}}
  ppcrt.wait %t (%x : memref<3xf32>)
  return
}
