// RUN: ppc-opt %s --ppc-verify-spmd --split-input-file --verify-diagnostics

// expected-error @below {{has no ppc.plan: run ppc-make-plan first}}
module {
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 3>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // expected-error @below {{argument 0 needs ppc.sharding and ppc.logical_type: run ppc-partition-to-spmd}}
  func.func @logical(%x: tensor<3x8xf32> {ppc.sharding = #ppc.sharding<[{a}, {}]>}) {
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 3>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // expected-error @below {{argument 0 of type 'tensor<2x8xf32>' is not a block of 'tensor<5x8xf32>' under #ppc.sharding<[{a}, {}]> on #ppc.grid<a = 2, b = 3>}}
  func.func @truncated(%x: tensor<2x8xf32> {ppc.sharding = #ppc.sharding<[{a}, {}]>, ppc.logical_type = tensor<5x8xf32>}) {
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 3>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // expected-error @below {{result 0 is partial: #ppc.sharding<[], partial = {a: sum}>}}
  func.func @pending(%x: tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>})
      -> (tensor<f32> {ppc.sharding = #ppc.sharding<[], partial = {a: sum}>, ppc.logical_type = tensor<f32>}) {
    return %x : tensor<f32>
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 3>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @axis(%x: tensor<f32> {ppc.sharding = #ppc.sharding<[]>, ppc.logical_type = tensor<f32>}) {
    // expected-error @below {{names axis "tp", which is not an axis of several devices of #ppc.grid<a = 2, b = 3>}}
    %y = ppc.all_reduce %x over ["tp"] <sum> : tensor<f32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 3>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @group(%x: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{a}]>, ppc.logical_type = tensor<8xf32>}) {
    // expected-error @below {{cuts 8 elements over 3 devices of ["b"] in blocks of 4, expected 3}}
    %y = ppc.all_gather %x dim 0 over ["b"] : tensor<4xf32> to tensor<8xf32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 3>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @left(%x: tensor<4xf32> {ppc.sharding = #ppc.sharding<[{a}]>, ppc.logical_type = tensor<8xf32>}) {
    // expected-error @below {{is left: run ppc-partition-to-spmd}}
    %y = ppc.reshard %x to <[{}]> : tensor<4xf32>
    // expected-error @below {{still has ppc.factors: run ppc-partition-to-spmd}}
    %z = ppc.exp %x {ppc.factors = {d0 = ["a"]}} : tensor<4xf32>
    return
  }
}
