// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// Elementwise ops, alone and fused.
// CHECK: @f32_arithmetic agrees
// CHECK: @f32_functions agrees
// CHECK: @f32_chain agrees
// CHECK: @f32_table agrees
// CHECK: @f32_gelu agrees
// CHECK: @f32_gelu_exact agrees
// CHECK: @f64_arithmetic agrees
// CHECK: @f64_functions agrees
// CHECK: @f64_chain agrees
// CHECK: @f64_table agrees
// CHECK: @f64_gelu agrees

func.func @f32_arithmetic(%a: tensor<3x5xf32>, %b: tensor<3x5xf32> {test.range = array<f64: 0.5, 2.0>}) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %0 = ppc.add %a, %b : tensor<3x5xf32>
  %1 = ppc.sub %a, %b : tensor<3x5xf32>
  %2 = ppc.mul %a, %b : tensor<3x5xf32>
  %3 = ppc.div %a, %b : tensor<3x5xf32>
  %4 = ppc.sum %a, %b, %2 : tensor<3x5xf32>
  %5 = ppc.scale %4 by 0.3 : tensor<3x5xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}
func.func @f32_functions(%a: tensor<37xf32> {test.range = array<f64: -10.0, 10.0>}, %b: tensor<37xf32> {test.range = array<f64: 0.001, 20.0>}) -> (tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>) {
  %0 = ppc.neg %a : tensor<37xf32>
  %1 = ppc.exp %a : tensor<37xf32>
  %2 = ppc.log %b : tensor<37xf32>
  %3 = ppc.sqrt %b : tensor<37xf32>
  %4 = ppc.rsqrt %b : tensor<37xf32>
  %5 = ppc.sigmoid %a : tensor<37xf32>
  %6 = ppc.silu %a : tensor<37xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>, tensor<37xf32>
}
func.func @f32_chain(%x: tensor<4x7xf32>, %dy: tensor<4x7xf32>) -> (tensor<4x7xf32>, tensor<4x7xf32>) {
  %one = ppc.constant dense<1.0> : tensor<4x7xf32>
  %0 = ppc.silu_backward %x, %dy : tensor<4x7xf32>
  %1 = ppc.add %0, %one : tensor<4x7xf32>
  %2 = ppc.exp %1 : tensor<4x7xf32>
  return %0, %2 : tensor<4x7xf32>, tensor<4x7xf32>
}
func.func @f32_table(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c = ppc.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]> : tensor<2x3xf32>
  %0 = ppc.mul %x, %c : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @f32_gelu(%x: tensor<5x7xf32> {test.range = array<f64: -6.0, 6.0>}, %dy: tensor<5x7xf32>) -> (tensor<5x7xf32>, tensor<5x7xf32>) {
  %0 = ppc.gelu %x tanh : tensor<5x7xf32>
  %1 = ppc.gelu_backward %x, %dy tanh : tensor<5x7xf32>
  return %0, %1 : tensor<5x7xf32>, tensor<5x7xf32>
}
func.func @f32_gelu_exact(%x: tensor<5x7xf32> {test.range = array<f64: -6.0, 6.0>}, %dy: tensor<5x7xf32>) -> (tensor<5x7xf32>, tensor<5x7xf32>) {
  %0 = ppc.gelu %x : tensor<5x7xf32>
  %1 = ppc.gelu_backward %x, %dy : tensor<5x7xf32>
  return %0, %1 : tensor<5x7xf32>, tensor<5x7xf32>
}
func.func @f64_arithmetic(%a: tensor<3x5xf64>, %b: tensor<3x5xf64> {test.range = array<f64: 0.5, 2.0>}) -> (tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>) {
  %0 = ppc.add %a, %b : tensor<3x5xf64>
  %1 = ppc.sub %a, %b : tensor<3x5xf64>
  %2 = ppc.mul %a, %b : tensor<3x5xf64>
  %3 = ppc.div %a, %b : tensor<3x5xf64>
  %4 = ppc.sum %a, %b, %2 : tensor<3x5xf64>
  %5 = ppc.scale %4 by 0.3 : tensor<3x5xf64>
  return %0, %1, %2, %3, %4, %5 : tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>
}
func.func @f64_functions(%a: tensor<37xf64> {test.range = array<f64: -10.0, 10.0>}, %b: tensor<37xf64> {test.range = array<f64: 0.001, 20.0>}) -> (tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>) {
  %0 = ppc.neg %a : tensor<37xf64>
  %1 = ppc.exp %a : tensor<37xf64>
  %2 = ppc.log %b : tensor<37xf64>
  %3 = ppc.sqrt %b : tensor<37xf64>
  %4 = ppc.rsqrt %b : tensor<37xf64>
  %5 = ppc.sigmoid %a : tensor<37xf64>
  %6 = ppc.silu %a : tensor<37xf64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>, tensor<37xf64>
}
func.func @f64_chain(%x: tensor<4x7xf64>, %dy: tensor<4x7xf64>) -> (tensor<4x7xf64>, tensor<4x7xf64>) {
  %one = ppc.constant dense<1.0> : tensor<4x7xf64>
  %0 = ppc.silu_backward %x, %dy : tensor<4x7xf64>
  %1 = ppc.add %0, %one : tensor<4x7xf64>
  %2 = ppc.exp %1 : tensor<4x7xf64>
  return %0, %2 : tensor<4x7xf64>, tensor<4x7xf64>
}
func.func @f64_table(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %c = ppc.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]> : tensor<2x3xf64>
  %0 = ppc.mul %x, %c : tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
func.func @f64_gelu(%x: tensor<5x7xf64> {test.range = array<f64: -6.0, 6.0>}, %dy: tensor<5x7xf64>) -> (tensor<5x7xf64>, tensor<5x7xf64>) {
  %0 = ppc.gelu %x tanh : tensor<5x7xf64>
  %1 = ppc.gelu_backward %x, %dy tanh : tensor<5x7xf64>
  return %0, %1 : tensor<5x7xf64>, tensor<5x7xf64>
}
