// RUN: ppc-opt %s --ppc-insert-reshards --split-input-file --verify-diagnostics

// expected-error @below {{has no ppc.plan: run ppc-make-plan and ppc-apply-plan first}}
module {
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @unknown_factor(%x: tensor<8x3xf32>) {
    // expected-error @below {{ppc.factors names "z", but the rule is ([d0, d1]) -> ([d0, d1])}}
    %y = ppc.exp %x {ppc.factors = {z = ["a"]}} : tensor<8x3xf32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @unknown_axis(%x: tensor<8x3xf32>) {
    // expected-error @below {{factor "d0" is sharded over axis "c", which the mesh does not have; it has a, b}}
    %y = ppc.exp %x {ppc.factors = {d0 = ["c"]}} : tensor<8x3xf32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @too_few(%x: tensor<8x3xf32>) {
    // expected-error @below {{factor "d1" cannot be sharded over ["b"]: 3 elements cannot be sharded 4 ways}}
    %y = ppc.exp %x {ppc.factors = {d1 = ["b"]}} : tensor<8x3xf32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @twice(%x: tensor<8x3xf32>) {
    // expected-error @below {{factor "d1" cannot be sharded over ["a"]: axis "a" shards factor "d0" already}}
    %y = ppc.exp %x {ppc.factors = {d0 = ["a"], d1 = ["a"]}} : tensor<8x3xf32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2, b = 4>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @one_piece(%x: tensor<8x4xf32>) {
    // expected-error @below {{factor "d1" cannot be sharded over ["a"]: its iterations depend on each other}}
    %y = ppc.softmax %x {ppc.factors = {d1 = ["a"]}} : tensor<8x4xf32>
    return
  }
}
