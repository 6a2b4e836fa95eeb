// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// Tables and positions.
// CHECK: @f32_embedding agrees
// CHECK: @f32_accumulated agrees
// CHECK: @f32_padding agrees
// CHECK: @f32_rotary agrees
// CHECK: @f32_partial_rotary agrees
// CHECK: @f64_embedding agrees
// CHECK: @f64_accumulated agrees
// CHECK: @f64_rotary agrees
// CHECK: @f64_partial_rotary agrees

func.func @f32_embedding(%t: tensor<13x6xf32>, %ids: tensor<2x9xi32> {test.below = 13 : i64}, %dy: tensor<2x9x6xf32>) -> (tensor<2x9x6xf32>, tensor<13x6xf32>) {
  %0 = ppc.embedding %t, %ids : (tensor<13x6xf32>, tensor<2x9xi32>) -> tensor<2x9x6xf32>
  %1 = ppc.embedding_backward %ids, %dy : (tensor<2x9xi32>, tensor<2x9x6xf32>) -> tensor<13x6xf32>
  return %0, %1 : tensor<2x9x6xf32>, tensor<13x6xf32>
}
func.func @f32_accumulated(%acc: tensor<13x6xf32>, %ids: tensor<9xi64> {test.below = 13 : i64}, %dy: tensor<9x6xf32>) -> (tensor<13x6xf32> {ppc.destination = 0 : i64}) {
  %0 = ppc.embedding_backward %ids, %dy : (tensor<9xi64>, tensor<9x6xf32>) -> tensor<13x6xf32>
  %1 = ppc.add %acc, %0 : tensor<13x6xf32>
  return %1 : tensor<13x6xf32>
}
func.func @f32_padding(%acc: tensor<3x6xf32>, %ids: tensor<2x9xi32> {test.below = 3 : i64}, %dy: tensor<2x9x6xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32> {ppc.destination = 0 : i64}) {
  %0 = ppc.embedding_backward %ids, %dy padding_index 1 : (tensor<2x9xi32>, tensor<2x9x6xf32>) -> tensor<3x6xf32>
  %1 = ppc.embedding_backward %ids, %dy padding_index 2 : (tensor<2x9xi32>, tensor<2x9x6xf32>) -> tensor<3x6xf32>
  %2 = ppc.add %acc, %1 : tensor<3x6xf32>
  return %0, %2 : tensor<3x6xf32>, tensor<3x6xf32>
}
func.func @f32_rotary(%x: tensor<2x7x3x2x6xf32>) -> (tensor<2x7x3x2x6xf32>, tensor<2x7x3x2x6xf32>) {
  %0 = ppc.rotary %x frequencies [1.0, 0.1, 0.01] : tensor<2x7x3x2x6xf32>
  %1 = ppc.rotary %0 frequencies [1.0, 0.1, 0.01] inverse : tensor<2x7x3x2x6xf32>
  return %0, %1 : tensor<2x7x3x2x6xf32>, tensor<2x7x3x2x6xf32>
}
func.func @f32_partial_rotary(%x: tensor<2x7x3x6xf32>) -> (tensor<2x7x3x6xf32>, tensor<2x7x3x6xf32>, tensor<2x7x3x6xf32>, tensor<2x7x3x6xf32>) {
  %0 = ppc.rotary %x frequencies [1.0, 0.1] : tensor<2x7x3x6xf32>
  %1 = ppc.rotary %x frequencies [1.0, 0.1] offset 2 interleaved inverse : tensor<2x7x3x6xf32>
  %2 = ppc.rotary %x frequencies [1.0, 0.1, 0.3] interleaved : tensor<2x7x3x6xf32>
  %3 = ppc.rotary %x frequencies [1.0] offset 3 : tensor<2x7x3x6xf32>
  return %0, %1, %2, %3 : tensor<2x7x3x6xf32>, tensor<2x7x3x6xf32>, tensor<2x7x3x6xf32>, tensor<2x7x3x6xf32>
}
func.func @f64_embedding(%t: tensor<13x6xf64>, %ids: tensor<2x9xi32> {test.below = 13 : i64}, %dy: tensor<2x9x6xf64>) -> (tensor<2x9x6xf64>, tensor<13x6xf64>) {
  %0 = ppc.embedding %t, %ids : (tensor<13x6xf64>, tensor<2x9xi32>) -> tensor<2x9x6xf64>
  %1 = ppc.embedding_backward %ids, %dy : (tensor<2x9xi32>, tensor<2x9x6xf64>) -> tensor<13x6xf64>
  return %0, %1 : tensor<2x9x6xf64>, tensor<13x6xf64>
}
func.func @f64_accumulated(%acc: tensor<13x6xf64>, %ids: tensor<9xi64> {test.below = 13 : i64}, %dy: tensor<9x6xf64>) -> (tensor<13x6xf64> {ppc.destination = 0 : i64}) {
  %0 = ppc.embedding_backward %ids, %dy : (tensor<9xi64>, tensor<9x6xf64>) -> tensor<13x6xf64>
  %1 = ppc.add %acc, %0 : tensor<13x6xf64>
  return %1 : tensor<13x6xf64>
}
func.func @f64_rotary(%x: tensor<2x7x3x2x6xf64>) -> (tensor<2x7x3x2x6xf64>, tensor<2x7x3x2x6xf64>) {
  %0 = ppc.rotary %x frequencies [1.0, 0.1, 0.01] : tensor<2x7x3x2x6xf64>
  %1 = ppc.rotary %0 frequencies [1.0, 0.1, 0.01] inverse : tensor<2x7x3x2x6xf64>
  return %0, %1 : tensor<2x7x3x2x6xf64>, tensor<2x7x3x2x6xf64>
}
func.func @f64_partial_rotary(%x: tensor<2x7x3x6xf64>) -> (tensor<2x7x3x6xf64>, tensor<2x7x3x6xf64>, tensor<2x7x3x6xf64>, tensor<2x7x3x6xf64>) {
  %0 = ppc.rotary %x frequencies [1.0, 0.1] : tensor<2x7x3x6xf64>
  %1 = ppc.rotary %x frequencies [1.0, 0.1] offset 2 interleaved inverse : tensor<2x7x3x6xf64>
  %2 = ppc.rotary %x frequencies [1.0, 0.1, 0.3] interleaved : tensor<2x7x3x6xf64>
  %3 = ppc.rotary %x frequencies [1.0] offset 3 : tensor<2x7x3x6xf64>
  return %0, %1, %2, %3 : tensor<2x7x3x6xf64>, tensor<2x7x3x6xf64>, tensor<2x7x3x6xf64>, tensor<2x7x3x6xf64>
}
