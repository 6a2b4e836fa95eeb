// RUN: ppc-opt %s --ppc-verify-planned --split-input-file --verify-diagnostics

// expected-error @below {{has no ppc.plan: run ppc-make-plan first}}
module {
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0, 2], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // expected-error @below {{argument 0 has no sharding: run ppc-propagate-shardings}}
  func.func @argument(%x: tensor<8xf32>) {
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0, 2], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // expected-error @below {{argument 0 of type 'tensor<1xf32>' cannot have the sharding #ppc.sharding<[{a}]>: 2 devices for 1 elements}}
  func.func @too_few(%x: tensor<1xf32> {ppc.sharding = #ppc.sharding<[{a}]>}) {
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0, 2], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // expected-error @below {{argument 0 is sharded over axis "b", which the mesh does not have}}
  func.func @axis(%x: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{b}]>}) {
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0, 2], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  // expected-error @below {{result 0 is partial: #ppc.sharding<[], partial = {a: sum}>}}
  func.func @pending(%x: tensor<f32> {ppc.sharding = #ppc.sharding<[]>}) -> (tensor<f32> {ppc.sharding = #ppc.sharding<[], partial = {a: sum}>}) {
    return %x : tensor<f32>
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0, 2], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @op(%x: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{a}]>}) {
    // expected-error @below {{result 0 has no sharding: run ppc-propagate-shardings}}
    %y = ppc.exp %x : tensor<8xf32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0, 2], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @factors(%x: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{a}]>}) {
    // expected-error @below {{states result 0 as #ppc.sharding<[{a}]>, but its factors make it #ppc.sharding<[{}]>}}
    %y = ppc.exp %x {ppc.shardings = [#ppc.sharding<[{a}]>]} : tensor<8xf32>
    return
  }
}

// -----

#plan = #ppc.plan<grid = <a = 2>, stages = [0, 2], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}>
module attributes {ppc.plan = #plan} {
  func.func @stage(%x: tensor<8xf32> {ppc.sharding = #ppc.sharding<[{}]>}) {
    // expected-error @below {{is of layer 3 and belongs to stage 1: run ppc-apply-plan}}
    %y = ppc.exp %x {ppc.shardings = [#ppc.sharding<[{}]>], ppc.layer = 3 : i64, ppc.stage = 0 : i64} : tensor<8xf32>
    return
  }
}
