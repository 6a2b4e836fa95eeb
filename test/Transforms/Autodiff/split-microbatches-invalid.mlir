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

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}, %y: tensor<4xf32> {ppc.parameter = "y"}) -> tensor<f32> {
  // expected-error @below {{would split dimension 0 of argument 1, parameter "y", along the batch, but the argument is not an input: it takes all samples in one micro-batch}}
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
  // expected-error @below {{is not linear in a value that sums over the batch, so it cannot run per micro-batch}}
  %r = ppc.mul %s, %s : tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  %b = ppc.broadcast %s dims [0] : tensor<f32> to tensor<4xf32>
  // expected-error @below {{mixes samples of a batch with a sum over the batch, so it cannot run per micro-batch}}
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

// expected-error @below {{result 1 is not a sum over the batch: write a mean as a sum times a constant}}
func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> (tensor<f32>, tensor<4xf32>) {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  %n = ppc.neg %x : tensor<4xf32>
  return %s, %n : tensor<f32>, tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  %s = ppc.reduce #ppc.combiner<sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  // expected-error @below {{is used in the update, but is not a sum over the batch}}
  %n = ppc.neg %x : tensor<4xf32>
  %r = ppc.reduce #ppc.combiner<sum> %n dims [0] {ppc.part = #ppc.part<update>} : tensor<4xf32> to tensor<f32>
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

// -----

func.func @f(%x: tensor<2x4xf32> {ppc.input = "x", ppc.dims = ["batch", "c"]}) -> tensor<f32> {
  // expected-error @below {{pairs the samples of a batch with each other, along its loops 'b' and 'c', and cannot run per micro-batch: it takes all samples in one micro-batch}}
  %g = ppc.matmul "bh,ch->bc" %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  %s = ppc.reduce #ppc.combiner<sum> %g dims [0, 1] : tensor<2x2xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<4x4xf32> {ppc.input = "x", ppc.dims = ["batch", "c"]}) -> tensor<f32> {
  %t = ppc.transpose %x by [1, 0] : tensor<4x4xf32> to tensor<4x4xf32>
  // expected-error @below {{pairs the samples of a batch with each other, along its loops 'd0' and 'd1'}}
  %p = ppc.mul %x, %t : tensor<4x4xf32>
  %s = ppc.reduce #ppc.combiner<sum> %p dims [0, 1] : tensor<4x4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<4x3x2xf32> {ppc.input = "x", ppc.dims = ["batch", "s", "h"]}) -> tensor<f32> {
  %t = ppc.transpose %x by [1, 0, 2] : tensor<4x3x2xf32> to tensor<3x4x2xf32>
  // expected-error @below {{depends on the number of a sample in the batch, along its loop 'd1', and cannot run per micro-batch: it takes all samples in one micro-batch}}
  %r = ppc.rotary %t frequencies [1.0] : tensor<3x4x2xf32>
  %s = ppc.reduce #ppc.combiner<sum> %r dims [0, 1, 2] : tensor<3x4x2xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<4x2xf32> {ppc.input = "x", ppc.dims = ["batch", "h"]}) -> tensor<f32> {
  %i = ppc.constant dense<[3, 1]> : tensor<2xi32>
  // expected-error @below {{depends on the number of a sample in the batch, along its loop 'v'}}
  %r = ppc.embedding %x, %i : (tensor<4x2xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  %s = ppc.reduce #ppc.combiner<sum> %r dims [0, 1] : tensor<2x2xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<4x3xf32> {ppc.input = "x", ppc.dims = ["batch", "h"]}) -> tensor<f32> {
  // expected-error @below {{takes dimension 0 of operand 0, the samples of a batch, apart or together with other dimensions}}
  %r = ppc.reshape %x : tensor<4x3xf32> to tensor<12xf32>
  %s = ppc.reduce #ppc.combiner<sum> %r dims [0] : tensor<12xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}, %w: tensor<2xf32> {ppc.parameter = "w"}) -> tensor<f32> {
  // expected-note @below {{which ppc.concat cannot compute: it takes the dimension apart or together with others}}
  %c = ppc.concat %w, %w dim 0 : tensor<2xf32>, tensor<2xf32> to tensor<4xf32>
  // expected-error @below {{needs a part of a value for each micro-batch: it takes all samples in one micro-batch}}
  %p = ppc.mul %x, %c : tensor<4xf32>
  %s = ppc.reduce #ppc.combiner<sum> %p dims [0] : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}
