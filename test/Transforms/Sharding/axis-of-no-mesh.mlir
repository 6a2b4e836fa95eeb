// A sharding over an axis that the plan's mesh lacks is refused at its op, by the pass that meets it first.
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-propagate-shardings --ppc-insert-reshards -o /dev/null
// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-propagate-shardings --ppc-insert-reshards --ppc-partition-to-spmd -o /dev/null

#plan = #ppc.plan<grid = <tp = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{over axis "q", which the mesh does not have; it has tp}}
    %0 = ppc.reshard %x to <[{q}]> : tensor<4xf32>
    %1 = ppc.reshard %0 to <[{}]> : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

#plan = #ppc.plan<grid = <tp = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @behind_another(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{over axis "q", which the mesh does not have; it has tp}}
    %0 = ppc.reshard %x to <[{tp, q}]> : tensor<4xf32>
    %1 = ppc.reshard %0 to <[{}]> : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

#plan = #ppc.plan<grid = <tp = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @partial(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{over axis "q", which the mesh does not have; it has tp}}
    %0 = ppc.reshard %x to <[{tp}], partial = {q: sum}> : tensor<4xf32>
    %1 = ppc.reshard %0 to <[{}]> : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
