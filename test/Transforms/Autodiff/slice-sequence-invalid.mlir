// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-slice-sequence=count=2
// RUN: not ppc-opt %s --split-input-file --ppc-slice-sequence=count=-1 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: count is -1, expected at least 1

// expected-error @below {{must have one block, the loss, to be split into slices of its sequences}}
func.func private @f(tensor<4xf32>) -> tensor<f32>

// -----

// expected-error @below {{has no ppc.input with a dimension "sequence" in ppc.dims: there is nothing to slice}}
func.func @f(%x: tensor<4xf32> {ppc.input = "x", ppc.dims = ["batch"]}) -> tensor<f32> {
  %s = ppc.reduce <sum> %x dims [0] : tensor<4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

// expected-error @below {{input "x" has sequences of 5 tokens, which cannot be split into 2 slices: use sequences that 2 divides, or another schedule}}
func.func @f(%x: tensor<2x5xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence"]}) -> tensor<f32> {
  %s = ppc.reduce <sum> %x dims [0, 1] : tensor<2x5xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<2x4xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence"]}) -> tensor<f32> {
  // expected-error @below {{cannot run in slices of the sequence: its loop 'd1' walks the sequence as a whole}}
  %y = ppc.softmax %x : tensor<2x4xf32>
  %s = ppc.reduce <sum> %y dims [0, 1] : tensor<2x4xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<2x4xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence"]}) -> tensor<f32> {
  // expected-error @below {{cannot run in slices of the sequence: it combines values over the sequence other than by a sum}}
  %y = ppc.log_sum_exp %x : tensor<2x4xf32> to tensor<2xf32>
  %s = ppc.reduce <sum> %y dims [0] : tensor<2xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<2x4x1x1x2xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence", "a", "b", "c"]}) -> tensor<f32> {
  %k = ppc.reshape %x : tensor<2x4x1x1x2xf32> to tensor<2x4x1x2xf32>
  // expected-error @below {{cannot run in slices of the sequence: a slice would read positions after it: only causal attention can be split into slices}}
  %out, %lse = ppc.attention %x, %k, %k scale 1.0 : tensor<2x4x1x1x2xf32>, tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32> -> tensor<2x4x1x1x2xf32>, tensor<2x4x1x1xf32>
  %s = ppc.reduce <sum> %lse dims [0, 1, 2, 3] : tensor<2x4x1x1xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<2x4xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence"]}) -> tensor<f32> {
  // expected-error @below {{cannot run in slices of the sequence: operand 0 does not lie along the sequence as a dimension of its own}}
  %y = ppc.reshape %x : tensor<2x4xf32> to tensor<8xf32>
  %s = ppc.reduce <sum> %y dims [0] : tensor<8xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

// expected-error @below {{returns a value that lies along the sequence, expected a loss}}
func.func @f(%x: tensor<2x4xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence"]}) -> tensor<2x4xf32> {
  %y = ppc.exp %x : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// The rows of the table are tokens: each slice has its own.
func.func @f(%x: tensor<4x2xf32> {ppc.input = "x", ppc.dims = ["sequence", "h"]}) -> tensor<f32> {
  %i = ppc.constant dense<[3, 1]> : tensor<2xi32>
  // expected-error @below {{cannot run in slices of the sequence: it depends on the position in the sequence, along its loop 'v'}}
  %y = ppc.embedding %x, %i : (tensor<4x2xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  %s = ppc.reduce <sum> %y dims [0, 1] : tensor<2x2xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<2x4x1x1x2xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence", "a", "b", "c"]},
             %m: tensor<2x8x1x2xf32> {ppc.input = "m", ppc.dims = ["batch", "sequence", "b", "c"]}) -> tensor<f32> {
  // expected-error @below {{or there are not as many keys along the sequence as queries}}
  %out, %lse = ppc.attention %x, %m, %m scale 1.0 causal : tensor<2x4x1x1x2xf32>, tensor<2x8x1x2xf32>, tensor<2x8x1x2xf32> -> tensor<2x4x1x1x2xf32>, tensor<2x4x1x1xf32>
  %s = ppc.reduce <sum> %lse dims [0, 1, 2, 3] : tensor<2x4x1x1xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @f(%x: tensor<2x4xf32> {ppc.input = "x", ppc.dims = ["batch", "sequence"]}) -> tensor<f32> {
  %r = ppc.reduce <sum> %x dims [1] : tensor<2x4xf32> to tensor<2xf32>
  // expected-error @below {{cannot run in slices of the sequence: slice 0 would read what slice 1 computes after it}}
  %b = ppc.broadcast %r dims [1] : tensor<2xf32> to tensor<2x4xf32>
  %p = ppc.mul %x, %b : tensor<2x4xf32>
  %s = ppc.reduce <sum> %p dims [0, 1] : tensor<2x4xf32> to tensor<f32>
  return %s : tensor<f32>
}
