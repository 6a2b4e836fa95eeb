// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// Sums, maxima, softmax and normalisation.
// CHECK: @f32_reduce agrees
// CHECK: @f32_softmax agrees
// CHECK: @f32_rms_norm agrees
// CHECK: @f32_layer_norm agrees
// CHECK: @f64_reduce agrees
// CHECK: @f64_softmax agrees
// CHECK: @f64_rms_norm agrees
// CHECK: @f64_layer_norm agrees

func.func @f32_reduce(%x: tensor<3x5x7xf32>) -> (tensor<5xf32>, tensor<3x5xf32>, tensor<f32>, tensor<7xf32>) {
  %0 = ppc.reduce <sum> %x dims [0, 2] : tensor<3x5x7xf32> to tensor<5xf32>
  %1 = ppc.reduce <max> %x dims [2] : tensor<3x5x7xf32> to tensor<3x5xf32>
  %2 = ppc.reduce <sum> %x dims [0, 1, 2] : tensor<3x5x7xf32> to tensor<f32>
  %3 = ppc.reduce <sum> %x dims [0, 1] : tensor<3x5x7xf32> to tensor<7xf32>
  return %0, %1, %2, %3 : tensor<5xf32>, tensor<3x5xf32>, tensor<f32>, tensor<7xf32>
}
func.func @f32_softmax(%x: tensor<4x33xf32> {test.range = array<f64: -20.0, 20.0>}, %dy: tensor<4x33xf32>) -> (tensor<4x33xf32>, tensor<4x33xf32>, tensor<4xf32>) {
  %0 = ppc.softmax %x : tensor<4x33xf32>
  %1 = ppc.softmax_backward %0, %dy : tensor<4x33xf32>
  %2 = ppc.log_sum_exp %x : tensor<4x33xf32> to tensor<4xf32>
  return %0, %1, %2 : tensor<4x33xf32>, tensor<4x33xf32>, tensor<4xf32>
}
func.func @f32_rms_norm(%x: tensor<2x3x19xf32>, %w: tensor<19xf32>, %dy: tensor<2x3x19xf32>) -> (tensor<2x3x19xf32>, tensor<2x3x19xf32>, tensor<19xf32>) {
  %0 = ppc.rms_norm %x, %w epsilon 1.0e-05 : tensor<2x3x19xf32>, tensor<19xf32>
  %1 = ppc.rms_norm_input_gradient %x, %w, %dy epsilon 1.0e-05 : tensor<2x3x19xf32>, tensor<19xf32>
  %2 = ppc.rms_norm_weight_gradient %x, %dy epsilon 1.0e-05 : tensor<2x3x19xf32> to tensor<19xf32>
  return %0, %1, %2 : tensor<2x3x19xf32>, tensor<2x3x19xf32>, tensor<19xf32>
}
func.func @f32_layer_norm(%x: tensor<2x3x19xf32>, %w: tensor<19xf32>, %b: tensor<19xf32>, %dy: tensor<2x3x19xf32>) -> (tensor<2x3x19xf32>, tensor<2x3x19xf32>, tensor<19xf32>) {
  %0 = ppc.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<2x3x19xf32>, tensor<19xf32>
  %1 = ppc.layer_norm_input_gradient %x, %w, %dy epsilon 1.0e-05 : tensor<2x3x19xf32>, tensor<19xf32>
  %2 = ppc.layer_norm_weight_gradient %x, %dy epsilon 1.0e-05 : tensor<2x3x19xf32> to tensor<19xf32>
  return %0, %1, %2 : tensor<2x3x19xf32>, tensor<2x3x19xf32>, tensor<19xf32>
}
func.func @f64_reduce(%x: tensor<3x5x7xf64>) -> (tensor<5xf64>, tensor<3x5xf64>, tensor<f64>, tensor<7xf64>) {
  %0 = ppc.reduce <sum> %x dims [0, 2] : tensor<3x5x7xf64> to tensor<5xf64>
  %1 = ppc.reduce <max> %x dims [2] : tensor<3x5x7xf64> to tensor<3x5xf64>
  %2 = ppc.reduce <sum> %x dims [0, 1, 2] : tensor<3x5x7xf64> to tensor<f64>
  %3 = ppc.reduce <sum> %x dims [0, 1] : tensor<3x5x7xf64> to tensor<7xf64>
  return %0, %1, %2, %3 : tensor<5xf64>, tensor<3x5xf64>, tensor<f64>, tensor<7xf64>
}
func.func @f64_softmax(%x: tensor<4x33xf64> {test.range = array<f64: -20.0, 20.0>}, %dy: tensor<4x33xf64>) -> (tensor<4x33xf64>, tensor<4x33xf64>, tensor<4xf64>) {
  %0 = ppc.softmax %x : tensor<4x33xf64>
  %1 = ppc.softmax_backward %0, %dy : tensor<4x33xf64>
  %2 = ppc.log_sum_exp %x : tensor<4x33xf64> to tensor<4xf64>
  return %0, %1, %2 : tensor<4x33xf64>, tensor<4x33xf64>, tensor<4xf64>
}
func.func @f64_rms_norm(%x: tensor<2x3x19xf64>, %w: tensor<19xf64>, %dy: tensor<2x3x19xf64>) -> (tensor<2x3x19xf64>, tensor<2x3x19xf64>, tensor<19xf64>) {
  %0 = ppc.rms_norm %x, %w epsilon 1.0e-05 : tensor<2x3x19xf64>, tensor<19xf64>
  %1 = ppc.rms_norm_input_gradient %x, %w, %dy epsilon 1.0e-05 : tensor<2x3x19xf64>, tensor<19xf64>
  %2 = ppc.rms_norm_weight_gradient %x, %dy epsilon 1.0e-05 : tensor<2x3x19xf64> to tensor<19xf64>
  return %0, %1, %2 : tensor<2x3x19xf64>, tensor<2x3x19xf64>, tensor<19xf64>
}
func.func @f64_layer_norm(%x: tensor<2x3x19xf64>, %w: tensor<19xf64>, %b: tensor<19xf64>, %dy: tensor<2x3x19xf64>) -> (tensor<2x3x19xf64>, tensor<2x3x19xf64>, tensor<19xf64>) {
  %0 = ppc.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<2x3x19xf64>, tensor<19xf64>
  %1 = ppc.layer_norm_input_gradient %x, %w, %dy epsilon 1.0e-05 : tensor<2x3x19xf64>, tensor<19xf64>
  %2 = ppc.layer_norm_weight_gradient %x, %dy epsilon 1.0e-05 : tensor<2x3x19xf64> to tensor<19xf64>
  return %0, %1, %2 : tensor<2x3x19xf64>, tensor<2x3x19xf64>, tensor<19xf64>
}
