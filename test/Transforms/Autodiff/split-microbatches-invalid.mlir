// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-split-microbatches=count=2
// RUN: not ppc-opt %s --split-input-file --ppc-split-microbatches=count=-1 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: count is -1, expected at least 1 micro-batch

// expected-error @below {{must have one block, the step, to be split into micro-batches}}
func.func private @f(tensor<4xf32>) -> tensor<f32>

// -----

// expected-error @below {{has no argument with ppc.input: there is no batch to split}}
func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

// expected-error @below {{input "x" needs ppc.dims that start with "batch"}}
func.func @f(%x: tensor<4xf32> {ppc.input = "x"}) -> tensor<f32> {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

// expected-error @below {{batch of 5 in input "x" is not divisible by 2 micro-batches}}
func.func @f(%x: tensor<5xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<5xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

// expected-error @below {{argument 1 would be cut along the batch but is no input}}
func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}, %y: tensor<4xf32>) -> tensor<f32> {
  %p = ppc.mul %x, %y : tensor<4xf32>
  %s = ppc.reduce #ppc.combiner<sum> %p dims [0] : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  // expected-error @below {{mixes the samples of a batch along its loop 'd0' and cannot run per micro-batch}}
  %p = ppc.softmax %x : tensor<4xf32>
  %s = ppc.reduce #ppc.combiner<sum> %p dims [0] : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  // expected-error @below {{combines the samples of a batch by log_sum_exp and cannot run per micro-batch}}
  %s = ppc.log_sum_exp %x : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  // expected-error @below {{is not linear in a value that sums over the batch, so it cannot run per micro-batch}}
  %r = ppc.sqrt %s : tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  %c = ppc.constant dense<1.0> : tensor<f32>
  // expected-error @below {{is not linear in a value that sums over the batch, so it cannot run per micro-batch}}
  %r = ppc.add %s, %c : tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  // expected-error @below {{mixes samples of a batch with a sum over the batch, so it cannot run per micro-batch}}
  %b = ppc.broadcast %s dims [0] : tensor<f32> to tensor<4xf32>
  %p = ppc.mul %b, %x : tensor<4xf32>
  %r = ppc.reduce #ppc.combiner<sum> %p dims [0] : tensor<4xf32> to tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  // expected-error @below {{has different elements along the batch, so it cannot run per micro-batch: make it an input}}
  %c = ppc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %p = ppc.mul %c, %x : tensor<4xf32>
  %s = ppc.reduce #ppc.combiner<sum> %p dims [0] : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

// expected-error @below {{result 1 is no sum over the batch: write a mean as a sum times a constant}}
func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> (tensor<f32>, tensor<4xf32>) {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  %n = ppc.neg %x : tensor<4xf32>
  return %s, %n : tensor<f32>, tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}, %w: tensor<f32>) -> tensor<f32> {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  // expected-error @below {{is used in the update, but is no sum over the batch}}
  %n = ppc.neg %w : tensor<f32>
  %r = ppc.mul %s, %n {ppc.part = #ppc.part<update>} : tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  // expected-error @below {{has no sharding rule, so it cannot run per micro-batch}}
  %y = "builtin.unrealized_conversion_cast"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %s = ppc.reduce #ppc.combiner<sum> %y dims [0] : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  // expected-error @below {{has no sharding rule, so it cannot run per micro-batch: it moves between the two shardings it names}}
  %y = ppc.reshard %x to <[{}]> : tensor<4xf32>
  %s = ppc.reduce #ppc.combiner<sum> %y dims [0] : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}
