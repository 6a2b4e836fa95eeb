// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @reduce(%x: tensor<2x3x4xf32>) -> (tensor<2x4xf32>, tensor<f32>, tensor<2x3xf32>) {
  // expected-remark @below {{gradient of operand 0 agrees}}
  %0 = ppc.reduce <sum> %x dims [1] : tensor<2x3x4xf32> to tensor<2x4xf32>
  // expected-remark @below {{gradient of operand 0 agrees}}
  %1 = ppc.reduce <sum> %x dims [0, 1, 2] : tensor<2x3x4xf32> to tensor<f32>
  // expected-remark @below {{no gradient: maxima are not differentiated}}
  %2 = ppc.reduce <max> %x dims [2] : tensor<2x3x4xf32> to tensor<2x3xf32>
  return %0, %1, %2 : tensor<2x4xf32>, tensor<f32>, tensor<2x3xf32>
}

func.func @rows(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) -> (tensor<2x3xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  // expected-remark @below {{no gradient: created from cross_entropy after autodiff}}
  %0 = ppc.log_sum_exp %x : tensor<2x3x4xf32> to tensor<2x3xf32>
  // expected-remark @below {{gradient of operand 0 agrees, reads results [0]}}
  %1 = ppc.softmax %x : tensor<2x3x4xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [0, 1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [0]}}
  %2 = ppc.rms_norm %x, %w epsilon 1.000000e-05 : tensor<2x3x4xf32>, tensor<4xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

func.func @none(%x: tensor<2x4xf32>, %w: tensor<4xf32>) {
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %0 = ppc.softmax_backward %x, %x : tensor<2x4xf32>
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %1 = ppc.rms_norm_input_gradient %x, %w, %x epsilon 1.000000e-05 : tensor<2x4xf32>, tensor<4xf32>
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %2 = ppc.rms_norm_weight_gradient %x, %x epsilon 1.000000e-05 : tensor<2x4xf32> to tensor<4xf32>
  return
}

func.func @layer_norm(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xf32> {
  // expected-remark @+3 {{gradient of operand 0 agrees, reads operands [0, 1]}}
  // expected-remark @+2 {{gradient of operand 1 agrees, reads operands [0]}}
  // expected-remark @+1 {{gradient of operand 2 agrees}}
  %0 = ppc.layer_norm %x, %w, %b epsilon 1.000000e-05 : tensor<2x3x4xf32>, tensor<4xf32>
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %1 = ppc.layer_norm_input_gradient %x, %w, %x epsilon 1.000000e-05 : tensor<2x3x4xf32>, tensor<4xf32>
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %2 = ppc.layer_norm_weight_gradient %x, %x epsilon 1.000000e-05 : tensor<2x3x4xf32> to tensor<4xf32>
  return %0 : tensor<2x3x4xf32>
}
