// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// Tokens to experts and back, with and without slots for all of them.
// CHECK: @f32_top_k agrees
// CHECK: @f32_groups agrees
// CHECK: @f32_dispatch agrees
// CHECK: @f64_top_k agrees
// CHECK: @f64_groups agrees
// CHECK: @f64_dispatch agrees

func.func @f32_top_k(%x: tensor<2x5x7xf32>, %dy: tensor<2x5x3xf32>) -> (tensor<2x5x3xf32>, tensor<2x5x3xi32>, tensor<2x5x7xf32>) {
  %0, %1 = ppc.top_k %x : tensor<2x5x7xf32> -> tensor<2x5x3xf32>, tensor<2x5x3xi32>
  %2 = ppc.top_k_backward %1, %dy : (tensor<2x5x3xi32>, tensor<2x5x3xf32>) -> tensor<2x5x7xf32>
  return %0, %1, %2 : tensor<2x5x3xf32>, tensor<2x5x3xi32>, tensor<2x5x7xf32>
}
func.func @f32_groups(%x: tensor<5x12xf32>, %b: tensor<12xf32>) -> (tensor<5x4xf32>, tensor<5x4xi32>) {
  %0, %1 = ppc.top_k %x bias %b as tensor<12xf32> groups 4 groups_per_row 2 : tensor<5x12xf32> -> tensor<5x4xf32>, tensor<5x4xi32>
  return %0, %1 : tensor<5x4xf32>, tensor<5x4xi32>
}
func.func @f32_dispatch(%x: tensor<2x9x4xf32>, %ids: tensor<2x9x2xi32> {test.below = 3 : i64}, %w: tensor<2x9x2xf32>, %dy: tensor<2x9x4xf32>) -> (tensor<2x3x5x4xf32>, tensor<2x3x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x2xf32>) {
  %0 = ppc.dispatch %x, %ids : (tensor<2x9x4xf32>, tensor<2x9x2xi32>) -> tensor<2x3x5x4xf32>
  %1 = ppc.dispatch %x, %ids weights %w : (tensor<2x9x4xf32>, tensor<2x9x2xi32>, tensor<2x9x2xf32>) -> tensor<2x3x9x4xf32>
  %2 = ppc.combine %0, %ids : (tensor<2x3x5x4xf32>, tensor<2x9x2xi32>) -> tensor<2x9x4xf32>
  %3 = ppc.combine %1, %ids weights %w : (tensor<2x3x9x4xf32>, tensor<2x9x2xi32>, tensor<2x9x2xf32>) -> tensor<2x9x4xf32>
  %4 = ppc.routing_weights_gradient %0, %ids, %dy : (tensor<2x3x5x4xf32>, tensor<2x9x2xi32>, tensor<2x9x4xf32>) -> tensor<2x9x2xf32>
  return %0, %1, %2, %3, %4 : tensor<2x3x5x4xf32>, tensor<2x3x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x2xf32>
}
func.func @f64_top_k(%x: tensor<2x5x7xf64>, %dy: tensor<2x5x3xf64>) -> (tensor<2x5x3xf64>, tensor<2x5x3xi32>, tensor<2x5x7xf64>) {
  %0, %1 = ppc.top_k %x : tensor<2x5x7xf64> -> tensor<2x5x3xf64>, tensor<2x5x3xi32>
  %2 = ppc.top_k_backward %1, %dy : (tensor<2x5x3xi32>, tensor<2x5x3xf64>) -> tensor<2x5x7xf64>
  return %0, %1, %2 : tensor<2x5x3xf64>, tensor<2x5x3xi32>, tensor<2x5x7xf64>
}
func.func @f64_groups(%x: tensor<5x12xf64>, %b: tensor<12xf64>) -> (tensor<5x4xf64>, tensor<5x4xi32>) {
  %0, %1 = ppc.top_k %x bias %b as tensor<12xf64> groups 4 groups_per_row 2 : tensor<5x12xf64> -> tensor<5x4xf64>, tensor<5x4xi32>
  return %0, %1 : tensor<5x4xf64>, tensor<5x4xi32>
}
func.func @f64_dispatch(%x: tensor<2x9x4xf64>, %ids: tensor<2x9x2xi32> {test.below = 3 : i64}, %w: tensor<2x9x2xf64>, %dy: tensor<2x9x4xf64>) -> (tensor<2x3x5x4xf64>, tensor<2x3x9x4xf64>, tensor<2x9x4xf64>, tensor<2x9x4xf64>, tensor<2x9x2xf64>) {
  %0 = ppc.dispatch %x, %ids : (tensor<2x9x4xf64>, tensor<2x9x2xi32>) -> tensor<2x3x5x4xf64>
  %1 = ppc.dispatch %x, %ids weights %w : (tensor<2x9x4xf64>, tensor<2x9x2xi32>, tensor<2x9x2xf64>) -> tensor<2x3x9x4xf64>
  %2 = ppc.combine %0, %ids : (tensor<2x3x5x4xf64>, tensor<2x9x2xi32>) -> tensor<2x9x4xf64>
  %3 = ppc.combine %1, %ids weights %w : (tensor<2x3x9x4xf64>, tensor<2x9x2xi32>, tensor<2x9x2xf64>) -> tensor<2x9x4xf64>
  %4 = ppc.routing_weights_gradient %0, %ids, %dy : (tensor<2x3x5x4xf64>, tensor<2x9x2xi32>, tensor<2x9x4xf64>) -> tensor<2x9x2xf64>
  return %0, %1, %2, %3, %4 : tensor<2x3x5x4xf64>, tensor<2x3x9x4xf64>, tensor<2x9x4xf64>, tensor<2x9x4xf64>, tensor<2x9x2xf64>
}
