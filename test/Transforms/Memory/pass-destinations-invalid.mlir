// RUN: ppc-opt %s --ppc-pass-destinations --split-input-file --verify-diagnostics

// expected-error @below {{has two results for argument 0}}
func.func @two(%x: tensor<8xf32>)
    -> (tensor<8xf32> {ppc.destination = 0 : i64}, tensor<8xf32> {ppc.destination = 0 : i64}) {
  return %x, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @below {{result 0 of type 'tensor<f32>' cannot be written to argument 0}}
func.func @type(%x: tensor<8xf32>) -> (tensor<f32> {ppc.destination = 0 : i64}) {
  %y = ppc.squared_norm %x : tensor<8xf32> to tensor<f32>
  return %y : tensor<f32>
}
