// Shardings that no sharding of an op gives are refused where they stand.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-propagate-shardings
#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @f(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
    // expected-error @below {{result 0 has the sharding #ppc.sharding<[{q}, {}]> over axis "q", which the mesh does not have; it has dp, tp}}
    %y = ppc.exp %x {ppc.shardings = [#ppc.sharding<[{q}, {}]>]} : tensor<6x8xf32>
    return %y : tensor<6x8xf32>
  }
}

// -----

#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @f(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
    // expected-error @below {{has the sharding #ppc.sharding<[{}, {}], partial = {tp: sum}> for result 0, but its factors shard the result as #ppc.sharding<[{}, {}]>}}
    %y = ppc.exp %x {ppc.shardings = [#ppc.sharding<[{}, {}], partial = {tp: sum}>]} : tensor<6x8xf32>
    return %y : tensor<6x8xf32>
  }
}

// -----

#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @f(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
    // expected-error @below {{has the sharding #ppc.sharding<[{}, {dp}]>, but factor}}
    %y = ppc.softmax %x {ppc.shardings = [#ppc.sharding<[{}, {dp}]>]} : tensor<6x8xf32>
    return %y : tensor<6x8xf32>
  }
}

// -----

#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @two_results(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
    // expected-error @below {{has the sharding #ppc.sharding<[{dp}, {}]> for result 0, but its factors shard the result as #ppc.sharding<[{tp}, {}]>}}
    %y:2 = ppc.split %x dim 1 {ppc.shardings = [#ppc.sharding<[{dp}, {}]>, #ppc.sharding<[{tp}, {}]>]} : tensor<6x8xf32> to tensor<6x4xf32>, tensor<6x4xf32>
    return %y#0 : tensor<6x4xf32>
  }
}

// -----

#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @too_few(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
    // expected-error @below {{needs a sharding for each of its 2 results, found [#ppc.sharding<[{dp}, {}]>]}}
    %y:2 = ppc.split %x dim 1 {ppc.shardings = [#ppc.sharding<[{dp}, {}]>]} : tensor<6x8xf32> to tensor<6x4xf32>, tensor<6x4xf32>
    return %y#0 : tensor<6x4xf32>
  }
}

// -----

#plan = #ppc.plan<grid = <dp = 2, tp = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @more_parts_than_elements(%x: tensor<6x3xf32>) -> tensor<6x3xf32> {
    // expected-error @below {{cannot be sharded over ["tp"]: 3 elements cannot be sharded 4 ways}}
    %y = ppc.exp %x {ppc.shardings = [#ppc.sharding<[{}, {tp}]>]} : tensor<6x3xf32>
    return %y : tensor<6x3xf32>
  }
}

// -----

#plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @which_loop(%x: tensor<6x8xf32>) -> tensor<f32> {
    // expected-error @below {{but several of its loops are reduced: name in ppc.factors the one that is sharded}}
    %y = ppc.reduce <sum> %x dims [0, 1] {ppc.shardings = [#ppc.sharding<[], partial = {tp: sum}>]} : tensor<6x8xf32> to tensor<f32>
    return %y : tensor<f32>
  }
}
