// RUN: ppc-opt %s --split-input-file --verify-diagnostics --ppc-build-backward

// expected-error @below {{expected one function that computes a loss, found 0}}
module {
}

// -----

// expected-error @below {{expected one function that computes a loss, found 2}}
module {
  func.func @a() { return }
  func.func @b() { return }
}

// -----

// expected-error @below {{must have one block and return one float scalar, the loss; its type is '(tensor<4xf32>) -> tensor<4xf32>'}}
func.func @loss(%w: tensor<4xf32> {ppc.parameter = "w"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{must have one block and return one float scalar, the loss; its type is '(tensor<4xf32>) -> tensor<f32>'}}
func.func private @loss(%w: tensor<4xf32> {ppc.parameter = "w"}) -> tensor<f32>

// -----

// expected-error @below {{loss depends on no parameter: mark arguments with ppc.parameter}}
func.func @loss(%w: tensor<4xf32>) -> tensor<f32> {
  %l = ppc.reduce #ppc.combiner<sum> %w dims [0] : tensor<4xf32> to tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @below {{returns an argument as its loss: there is nothing to differentiate}}
func.func @loss(%w: tensor<f32> {ppc.parameter = "w"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{parameter "unused" does not influence the loss}}
func.func @loss(%w: tensor<4xf32> {ppc.parameter = "w"}, %u: tensor<4xf32> {ppc.parameter = "unused"}) -> tensor<f32> {
  %l = ppc.reduce #ppc.combiner<sum> %w dims [0] : tensor<4xf32> to tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4x3xf32> {ppc.parameter = "w"}) -> tensor<f32> {
  // expected-error @below {{is between a parameter and the loss but has no derivative: created from cross_entropy after autodiff}}
  %y = ppc.log_sum_exp %w : tensor<4x3xf32> to tensor<4xf32>
  %l = ppc.reduce #ppc.combiner<sum> %y dims [0] : tensor<4xf32> to tensor<f32>
  return %l : tensor<f32>
}

// -----


module {
  func.func @loss(%w: tensor<4xf32> {ppc.parameter = "w"}) -> tensor<f32> {
    // expected-error @below {{is between a parameter and the loss but has no derivative}}
    %y = "builtin.unrealized_conversion_cast"(%w) : (tensor<4xf32>) -> tensor<4xf32>
    %l = ppc.reduce #ppc.combiner<sum> %y dims [0] : tensor<4xf32> to tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

func.func @loss(%w: tensor<4x3xf32> {ppc.parameter = "w"}, %t: tensor<4xi32> {ppc.input = "targets"}) -> tensor<f32> {
  // expected-error @+2 {{cannot be differentiated through 'lse', only through 'nll'}}
  // expected-error @+1 {{has no derivative with respect to operand 0}}
  %nll, %lse = ppc.cross_entropy %w, %t : (tensor<4x3xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
  %l = ppc.reduce #ppc.combiner<sum> %lse dims [0] : tensor<4xf32> to tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%x: tensor<4x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                %w: tensor<4x8xf32> {ppc.parameter = "w"}) -> tensor<f32> {
  // expected-error @below {{has a region, which cannot be differentiated: differentiate before ppc-split-microbatches}}
  %l = ppc.accumulate (%xi = %x) micro_batches(1) : (tensor<4x8xf32>) -> (tensor<f32>) {
    %p = ppc.mul %xi, %w : tensor<4x8xf32>
    %s = ppc.reduce #ppc.combiner<sum> %p dims [0, 1] : tensor<4x8xf32> to tensor<f32>
    ppc.yield %s : tensor<f32>
  }
  return %l : tensor<f32>
}
