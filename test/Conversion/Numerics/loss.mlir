// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// The ops of cross-entropy.
// CHECK: @f32_loss agrees
// CHECK: @f64_loss agrees

func.func @f32_loss(%x: tensor<2x5x11xf32>, %ids: tensor<2x5xi32> {test.below = 11 : i64}, %dnll: tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x5x11xf32>) {
  %lse = ppc.log_sum_exp %x : tensor<2x5x11xf32> to tensor<2x5xf32>
  %0 = ppc.pick %x, %ids : (tensor<2x5x11xf32>, tensor<2x5xi32>) -> tensor<2x5xf32>
  %1 = ppc.sub %lse, %0 : tensor<2x5xf32>
  %2 = ppc.cross_entropy_backward %x, %ids, %lse, %dnll : (tensor<2x5x11xf32>, tensor<2x5xi32>, tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5x11xf32>
  return %0, %1, %2 : tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x5x11xf32>
}
func.func @f64_loss(%x: tensor<2x5x11xf64>, %ids: tensor<2x5xi32> {test.below = 11 : i64}, %dnll: tensor<2x5xf64>) -> (tensor<2x5xf64>, tensor<2x5xf64>, tensor<2x5x11xf64>) {
  %lse = ppc.log_sum_exp %x : tensor<2x5x11xf64> to tensor<2x5xf64>
  %0 = ppc.pick %x, %ids : (tensor<2x5x11xf64>, tensor<2x5xi32>) -> tensor<2x5xf64>
  %1 = ppc.sub %lse, %0 : tensor<2x5xf64>
  %2 = ppc.cross_entropy_backward %x, %ids, %lse, %dnll : (tensor<2x5x11xf64>, tensor<2x5xi32>, tensor<2x5xf64>, tensor<2x5xf64>) -> tensor<2x5x11xf64>
  return %0, %1, %2 : tensor<2x5xf64>, tensor<2x5xf64>, tensor<2x5x11xf64>
}
