// Each numbered constraint of micro-batches, placement, collectives, attributes and sequence slices is checked.
// RUN: ppc-opt %s --verify-diagnostics --split-input-file --allow-unregistered-dialect

func.func @accumulate_c1(%x: tensor<7x4xf32>) {
  // expected-error @below {{'ppc.accumulate' op operand 'tensor<7x4xf32>' does not hold 3 micro-batches of 'tensor<2x4xf32>'}}
  "ppc.accumulate"(%x) <{micro_batches = 3 : i64}> ({
  ^bb0(%xi: tensor<2x4xf32>):
    ppc.yield
  }) : (tensor<7x4xf32>) -> ()
  return
}

// -----

func.func @accumulate_c1_arguments(%x: tensor<6x4xf32>) {
  // expected-error @below {{'ppc.accumulate' op has 1 operands and 0 block arguments}}
  "ppc.accumulate"(%x) <{micro_batches = 3 : i64}> ({
    ppc.yield
  }) : (tensor<6x4xf32>) -> ()
  return
}

// -----

func.func @accumulate_c2(%x: tensor<6x4xf32>) {
  // expected-error @below {{'ppc.accumulate' op region must end in ppc.yield with values of the result types}}
  %0 = ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<2x4xf32>) -> (tensor<6x4xf32>) {
    ppc.yield %xi : tensor<2x4xf32>
  }
  return
}

// -----

func.func @accumulate_c3() {
  // expected-error @below {{micro_batches is 0, expected at least 1}}
  ppc.accumulate () micro_batches(0) : () -> () {
    ppc.yield
  }
  return
}

// -----

func.func @yield_parent(%x: tensor<f32>) {
  // expected-error @below {{'ppc.yield' op expects parent op 'ppc.accumulate'}}
  ppc.yield %x : tensor<f32>
}

// -----

func.func @accumulate_types(%x: tensor<6x4xf32>) {
  // expected-error @below {{expected 1 types, found 2}}
  ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<2x4xf32>, tensor<f32>) -> () {
    ppc.yield
  }
  return
}

// -----

func.func @accumulate_scalars(%x: tensor<f32>) {
  // expected-error @below {{micro-batched values have a batch dimension, found 'tensor<f32>'}}
  ppc.accumulate (%xi = %x) micro_batches(3) : (tensor<f32>) -> () {
    ppc.yield
  }
  return
}

// -----

func.func @reshard_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.reshard' op sharding #ppc.sharding<[{dp}]> has 1 dimensions, expected those of 'tensor<4x8xf32>'}}
  %0 = ppc.reshard %x to <[{dp}]> : tensor<4x8xf32>
  return
}

// -----

func.func @mask_padding_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.mask_padding' op dim 2 is not a dimension of 'tensor<4x8xf32>'}}
  %0 = ppc.mask_padding %x dim 2 block <[tp], 15> : tensor<4x8xf32>
  return
}

// -----

func.func @all_reduce_c1_twice(%x: tensor<4xf32>) {
  // expected-error @below {{'ppc.all_reduce' op axis "tp" appears twice}}
  %0 = ppc.all_reduce %x over ["tp", "tp"] <sum> : tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c1_empty(%x: tensor<4xf32>) {
  // expected-error @below {{'ppc.all_reduce' op needs at least one axis}}
  %0 = ppc.all_reduce %x over [] <sum> : tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'ppc.all_reduce' op stages go with the axis "pp" only}}
  %0 = ppc.all_reduce %x over ["tp"] <sum> stages [0, 1] : tensor<4xf32>
  return
}

// -----

func.func @all_gather_c1_axes(%x: tensor<3x8xf32>) {
  // expected-error @below {{'ppc.all_gather' op needs at least one axis}}
  %0 = ppc.all_gather %x dim 0 over [] : tensor<3x8xf32> to tensor<5x8xf32>
  return
}

// -----

func.func @all_gather_c1_dim(%x: tensor<3x8xf32>) {
  // expected-error @below {{'ppc.all_gather' op dim 2 is not a dimension of 'tensor<5x8xf32>'}}
  %0 = ppc.all_gather %x dim 2 over ["tp"] : tensor<3x8xf32> to tensor<5x8xf32>
  return
}

// -----

// Blocks of 4 elements: 9 = 4 + 4 + 1 over 3 devices have 3 each, 5 over 2 devices have 3.
func.func @all_gather_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.all_gather' op 'tensor<4x8xf32>' is not a block of 'tensor<5x8xf32>' along dimension 0}}
  %0 = ppc.all_gather %x dim 0 over ["tp"] : tensor<4x8xf32> to tensor<5x8xf32>
  return
}

// -----

func.func @all_gather_c2_empty(%x: tensor<1x8xf32>) {
  // expected-error @below {{'ppc.all_gather' op result #0 must be statically shaped tensor of 16-bit float or bfloat16 type or 32-bit float or 64-bit float or 32-bit signless integer or 64-bit signless integer values with no dimension of size zero, at most 2^46 elements and 64 dimensions, but got 'tensor<0x8xf32>'}}
  %0 = ppc.all_gather %x dim 0 over ["tp"] : tensor<1x8xf32> to tensor<0x8xf32>
  return
}

// -----

func.func @all_gather_c3_use(%x: tensor<2x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'ppc.all_gather' op cannot be a ring exchange: expected blocks of one size, and a matmul as its only use}}
  %0 = ppc.all_gather %x dim 0 over ["tp"] rotated : tensor<2x8xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @all_gather_c3_uneven(%x: tensor<3x8xf32>, %y: tensor<2x8xf32>) -> tensor<2x5xf32> {
  // expected-error @below {{'ppc.all_gather' op cannot be a ring exchange}}
  %0 = ppc.all_gather %x dim 0 over ["tp"] rotated : tensor<3x8xf32> to tensor<5x8xf32>
  %1 = ppc.matmul "bh,fh->bf" %y, %0 : (tensor<2x8xf32>, tensor<5x8xf32>) -> tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}

// -----

func.func @all_gather_c3_batch(%x: tensor<2x8xf32>, %y: tensor<4x8xf32>) -> tensor<4xf32> {
  // expected-error @below {{'ppc.all_gather' op cannot be a ring exchange}}
  %0 = ppc.all_gather %x dim 0 over ["tp"] rotated : tensor<2x8xf32> to tensor<4x8xf32>
  %1 = ppc.matmul "bh,bh->b" %y, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @all_gather_c2_others(%x: tensor<3x8xf32>) {
  // expected-error @below {{'ppc.all_gather' op 'tensor<3x8xf32>' is not a block of 'tensor<5x9xf32>' along dimension 0}}
  %0 = ppc.all_gather %x dim 0 over ["tp"] : tensor<3x8xf32> to tensor<5x9xf32>
  return
}

// -----

func.func @reduce_scatter_c1(%x: tensor<5x8xf32>) {
  // expected-error @below {{'ppc.reduce_scatter' op axis "tp" appears twice}}
  %0 = ppc.reduce_scatter %x dim 0 over ["tp", "tp"] <sum> : tensor<5x8xf32> to tensor<3x8xf32>
  return
}

// -----

func.func @reduce_scatter_c2(%x: tensor<5x8xf32>) {
  // expected-error @below {{'ppc.reduce_scatter' op 'tensor<4x8xf32>' is not a block of 'tensor<5x8xf32>' along dimension 0}}
  %0 = ppc.reduce_scatter %x dim 0 over ["tp"] <sum> : tensor<5x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @reduce_scatter_c3(%x: tensor<5x8xf32>) {
  // expected-error @below {{'ppc.reduce_scatter' op combiner must be sum or max}}
  %0 = ppc.reduce_scatter %x dim 0 over ["tp"] <log_sum_exp> : tensor<5x8xf32> to tensor<3x8xf32>
  return
}

// -----

func.func @all_to_all_c1_axes(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.all_to_all' op needs at least one axis}}
  %0 = ppc.all_to_all %x split 0 concat 1 over [] : tensor<4x8xf32> to tensor<2x16xf32>
  return
}

// -----

func.func @all_to_all_c1_same(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.all_to_all' op splits and concatenates the same dimension 0}}
  %0 = ppc.all_to_all %x split 0 concat 0 over ["tp"] : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @all_to_all_c1_dim(%x: tensor<4x8xf32>) {
  // expected-error @below {{'ppc.all_to_all' op dim 2 is not a dimension of 'tensor<4x8xf32>'}}
  %0 = ppc.all_to_all %x split 0 concat 2 over ["tp"] : tensor<4x8xf32> to tensor<2x16xf32>
  return
}

// -----

func.func @all_to_all_c2(%x: tensor<5x8xf32>) {
  // expected-error @below {{'ppc.all_to_all' op cannot turn 'tensor<5x8xf32>' into 'tensor<2x16xf32>' by splitting dimension 0 and concatenating dimension 1}}
  %0 = ppc.all_to_all %x split 0 concat 1 over ["tp"] : tensor<5x8xf32> to tensor<2x16xf32>
  return
}

// -----

func.func @local_slice_c1(%x: tensor<5x8xf32>) {
  // expected-error @below {{'ppc.local_slice' op dim 3 is not a dimension of 'tensor<5x8xf32>'}}
  %0 = ppc.local_slice %x dim 3 over ["tp"] : tensor<5x8xf32> to tensor<3x8xf32>
  return
}

// -----

func.func @local_slice_c2(%x: tensor<5x8xf32>) {
  // expected-error @below {{'ppc.local_slice' op 'tensor<4x8xf32>' is not a block of 'tensor<5x8xf32>' along dimension 0}}
  %0 = ppc.local_slice %x dim 0 over ["tp"] : tensor<5x8xf32> to tensor<4x8xf32>
  return
}

// -----

// expected-error @below {{mesh axis "dp" appears twice}}
"test.op"() {grid = #ppc.grid<dp = 2, dp = 4>} : () -> ()

// -----

// expected-error @below {{mesh axis "dp" has size 0, expected at least 1}}
"test.op"() {grid = #ppc.grid<dp = 0>} : () -> ()

// -----

// expected-error @below {{axis "tp" appears twice in one sharding}}
"test.op"() {sharding = #ppc.sharding<[{tp}, {tp}]>} : () -> ()

// -----

// expected-error @below {{axis "tp" appears twice in one sharding}}
"test.op"() {sharding = #ppc.sharding<[{tp}], partial = {tp: sum}>} : () -> ()

// -----

// expected-error @below {{unknown combiner 'mean', expected sum, max or log_sum_exp}}
"test.op"() {sharding = #ppc.sharding<[{tp}], partial = {dp: mean}>} : () -> ()

// -----

// expected-error @below {{unknown initialisation 'uniform', expected zeros, ones or normal}}
"test.op"() {init = #ppc.init<uniform>} : () -> ()

// -----

// expected-error @below {{a plan's stages start with layer 0}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [1], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>} : () -> ()

// -----

// expected-error @below {{a plan's stages must start at increasing layers, found 3 then 3}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0, 3, 3], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>} : () -> ()

// -----

// expected-error @below {{micro_batches is 0, expected 1 to 16777216}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 0, dimensions = {}, parameters = {}>} : () -> ()

// -----

// expected-error @below {{dimension "batch" must name a list of axes, found "dp"}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {batch = "dp"}, parameters = {}>} : () -> ()

// -----

// expected-error @below {{dimension "batch" is sharded over axis "tp", which the mesh does not have}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {batch = ["tp"]}, parameters = {}>} : () -> ()

// -----

// expected-error @below {{parameter "w" must have a #ppc.sharding, found 1 : i64}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {w = 1}>} : () -> ()

// -----

func.func @attention_c7(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op holds 8 queries as a block of 7}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 causal queries <[cp], 7> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_c7_strategy(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x16x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op holds a block of the queries and still has strategy #ppc.attention_strategy<gather>; partitioning must remove the strategy}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 causal strategy <gather> queries <[cp], 16> : tensor<2x8x2x3x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

// Queries of all blocks count.
func.func @attention_c4_block(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>) {
  // expected-error @below {{'ppc.attention' op causal attention needs at least as many keys as queries, found 8 keys and 16 queries}}
  %0:2 = ppc.attention %q, %k, %k scale 0.5 causal queries <[cp], 16> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

func.func @attention_backward_c7(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %lse: tensor<2x8x2x3xf32>) {
  // expected-error @below {{'ppc.attention_backward' op holds 8 queries as a block of 7}}
  %0:3 = ppc.attention_backward %q, %k, %k, %q, %lse, %q scale 0.5 queries <[cp], 7> : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>
  return
}

// -----

// expected-error @below {{dimension "sequence" of activations is sharded over axis "tp", which the mesh does not have}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, activations = {sequence = ["tp"]}>} : () -> ()

// -----

// expected-error @below {{dimension "sequence" of activations must name a list of axes, found 1 : i64}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, activations = {sequence = 1}>} : () -> ()

// -----

// expected-error @below {{the update is sharded over axis "tp", which the mesh does not have}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, update = ["tp"]>} : () -> ()

// -----

// expected-error @below {{gradients are sharded over ["dp"], expected the first axes of the update}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, gradients = ["dp"]>} : () -> ()

// -----

// expected-error @below {{offload is "weights", expected "optimizer", "activations", "parameters" or several with + between them}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, offload = "weights">} : () -> ()

// -----

// expected-error @below {{offload is "optimizer+optimizer"}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, offload = "optimizer+optimizer">} : () -> ()

// -----

// expected-error @below {{storage is sharded over ["dp"], expected the first axes of the update}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2, ep = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, update = ["ep", "dp"], gradients = ["ep"], storage = ["dp"]>} : () -> ()

// -----

// expected-error @below {{rotate = true goes with storage: nothing else has blocks to rotate}}
"test.op"() {plan = #ppc.plan<grid = <dp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, update = ["dp"], gradients = ["dp"], rotate = true>} : () -> ()

// -----

// expected-error @below {{mesh axis "pp" has the role stage: a plan specifies pipeline stages by 'stages'}}
"test.op"() {plan = #ppc.plan<grid = <pp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}>} : () -> ()

// -----

// expected-error @below {{unknown role 'columns' of a mesh axis, expected data, tensor, context, expert, replica or stage}}
"test.op"() {grid = #ppc.grid<dp = 2 : columns>} : () -> ()
