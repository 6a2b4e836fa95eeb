// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-apply-plan

// expected-error @below {{has no ppc.plan: run ppc-search-plan or ppc-make-plan first}}
module {
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <tp = 4>, stages = [0], schedule = "gpipe", micro_batches = 1,
                                        dimensions = {ffn = ["tp"], hidden = ["tp"]}, parameters = {}>} {
  // expected-error @below {{the plan shards both dimensions 'ffn' and 'hidden' of 'w' over axis 'tp': shard one of them over another axis}}
  func.func @twice(%w: tensor<8x8xf32> {ppc.parameter = "w", ppc.dims = ["ffn", "hidden"]}) -> tensor<8x8xf32> {
    return %w : tensor<8x8xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <tp = 4>, stages = [0], schedule = "gpipe", micro_batches = 1,
                                        dimensions = {kv_heads = ["tp"]}, parameters = {}>} {
  // expected-error @below {{dimension 0 ('kv_heads') of 'w' has 3 elements and cannot be sharded into 4 parts: use fewer parallel ranks along it}}
  func.func @small(%w: tensor<3x8xf32> {ppc.parameter = "w", ppc.dims = ["kv_heads", "hidden"]}) -> tensor<3x8xf32> {
    return %w : tensor<3x8xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <tp = 4>, stages = [0], schedule = "gpipe", micro_batches = 1,
                                        dimensions = {}, parameters = {v = #ppc.sharding<[{tp}]>}>} {
  // expected-error @below {{the plan shards parameter 'v', which the model does not have}}
  func.func @unknown(%w: tensor<4xf32> {ppc.parameter = "w", ppc.dims = ["hidden"]}) -> tensor<4xf32> {
    return %w : tensor<4xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <tp = 4>, stages = [0], schedule = "gpipe", micro_batches = 1,
                                        dimensions = {}, parameters = {w = #ppc.sharding<[{tp}, {}]>}>} {
  // expected-error @below {{the plan shards 2 dimensions of 'w', which has 1}}
  func.func @rank(%w: tensor<4xf32> {ppc.parameter = "w", ppc.dims = ["hidden"]}) -> tensor<4xf32> {
    return %w : tensor<4xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <tp = 4>, stages = [0], schedule = "gpipe", micro_batches = 1,
                                        dimensions = {}, parameters = {w = #ppc.sharding<[{cp}]>}>} {
  // expected-error @below {{the plan shards 'w' over axis 'cp', which the mesh does not have}}
  func.func @axis(%w: tensor<4xf32> {ppc.parameter = "w", ppc.dims = ["hidden"]}) -> tensor<4xf32> {
    return %w : tensor<4xf32>
  }
}

// -----

module attributes {ppc.plan = #ppc.plan<grid = <tp = 4>, stages = [0, 3], schedule = "gpipe", micro_batches = 1,
                                        dimensions = {}, parameters = {}>} {
  // expected-error @below {{the plan's last stage starts at layer 3 but the model's last layer is 1 (the embedding and the LM head are layers too)}}
  func.func @stages(%w: tensor<4xf32> {ppc.parameter = "w", ppc.dims = ["hidden"]}) -> tensor<4xf32> {
    %0 = ppc.silu %w {ppc.layer = 1 : i64} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
