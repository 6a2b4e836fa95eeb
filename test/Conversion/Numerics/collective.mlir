// RUN: ppc-opt %s --ppc-test-host-numerics="ranks=3" -o /dev/null | FileCheck %s

// Collectives between three ranks, of whole and of padded blocks, along outer and inner dimensions.
// CHECK: @f32_reduces agrees
// CHECK: @f32_gathers agrees
// CHECK: @f32_scatters agrees
// CHECK: @f32_units agrees
// CHECK: @f32_exchanges agrees
// CHECK: @f32_slices agrees
// CHECK: @f64_reduces agrees
// CHECK: @f64_gathers agrees
// CHECK: @f64_scatters agrees
// CHECK: @f64_exchanges agrees
// CHECK: @f64_slices agrees

func.func @f32_reduces(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = ppc.all_reduce %x over ["tp"] <sum> : tensor<4x6xf32>
  %1 = ppc.all_reduce %x over ["tp"] <max> : tensor<4x6xf32>
  %2 = ppc.all_reduce %x over ["tp"] <log_sum_exp> : tensor<4x6xf32>
  return %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
func.func @f32_gathers(%x: tensor<2x3xf32>) -> (tensor<6x3xf32>, tensor<2x9xf32>, tensor<5x3xf32>, tensor<2x7xf32>) {
  %0 = ppc.all_gather %x dim 0 over ["tp"] : tensor<2x3xf32> to tensor<6x3xf32>
  %1 = ppc.all_gather %x dim 1 over ["tp"] : tensor<2x3xf32> to tensor<2x9xf32>
  %2 = ppc.all_gather %x dim 0 over ["tp"] : tensor<2x3xf32> to tensor<5x3xf32>
  %3 = ppc.all_gather %x dim 1 over ["tp"] : tensor<2x3xf32> to tensor<2x7xf32>
  return %0, %1, %2, %3 : tensor<6x3xf32>, tensor<2x9xf32>, tensor<5x3xf32>, tensor<2x7xf32>
}
func.func @f32_scatters(%x: tensor<6x9xf32>, %y: tensor<5x7xf32>) -> (tensor<2x9xf32>, tensor<6x3xf32>, tensor<2x7xf32>, tensor<5x3xf32>) {
  %0 = ppc.reduce_scatter %x dim 0 over ["tp"] <sum> : tensor<6x9xf32> to tensor<2x9xf32>
  %1 = ppc.reduce_scatter %x dim 1 over ["tp"] <max> : tensor<6x9xf32> to tensor<6x3xf32>
  %2 = ppc.reduce_scatter %y dim 0 over ["tp"] <sum> : tensor<5x7xf32> to tensor<2x7xf32>
  %3 = ppc.reduce_scatter %y dim 1 over ["tp"] <sum> : tensor<5x7xf32> to tensor<5x3xf32>
  return %0, %1, %2, %3 : tensor<2x9xf32>, tensor<6x3xf32>, tensor<2x7xf32>, tensor<5x3xf32>
}
func.func @f32_units(%x: tensor<1x1x2x3xf32>, %y: tensor<1x6x2xf32>, %z: tensor<1x5x2xf32>)
    -> (tensor<1x1x6x3xf32>, tensor<1x1x5x3xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) {
  %0 = ppc.all_gather %x dim 2 over ["tp"] : tensor<1x1x2x3xf32> to tensor<1x1x6x3xf32>
  %1 = ppc.all_gather %x dim 2 over ["tp"] : tensor<1x1x2x3xf32> to tensor<1x1x5x3xf32>
  %2 = ppc.reduce_scatter %y dim 1 over ["tp"] <sum> : tensor<1x6x2xf32> to tensor<1x2x2xf32>
  %3 = ppc.reduce_scatter %z dim 1 over ["tp"] <sum> : tensor<1x5x2xf32> to tensor<1x2x2xf32>
  return %0, %1, %2, %3 : tensor<1x1x6x3xf32>, tensor<1x1x5x3xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
}
func.func @f32_exchanges(%x: tensor<6x3x2xf32>) -> (tensor<2x9x2xf32>, tensor<6x1x6xf32>) {
  %0 = ppc.all_to_all %x split 0 concat 1 over ["tp"] : tensor<6x3x2xf32> to tensor<2x9x2xf32>
  %1 = ppc.all_to_all %x split 1 concat 2 over ["tp"] : tensor<6x3x2xf32> to tensor<6x1x6xf32>
  return %0, %1 : tensor<2x9x2xf32>, tensor<6x1x6xf32>
}
func.func @f32_slices(%x: tensor<5x7xf32>) -> (tensor<2x7xf32>, tensor<5x3xf32>) {
  %0 = ppc.local_slice %x dim 0 over ["tp"] : tensor<5x7xf32> to tensor<2x7xf32>
  %1 = ppc.local_slice %x dim 1 over ["tp"] : tensor<5x7xf32> to tensor<5x3xf32>
  return %0, %1 : tensor<2x7xf32>, tensor<5x3xf32>
}
func.func @f64_reduces(%x: tensor<4x6xf64>) -> (tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>) {
  %0 = ppc.all_reduce %x over ["tp"] <sum> : tensor<4x6xf64>
  %1 = ppc.all_reduce %x over ["tp"] <max> : tensor<4x6xf64>
  %2 = ppc.all_reduce %x over ["tp"] <log_sum_exp> : tensor<4x6xf64>
  return %0, %1, %2 : tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>
}
func.func @f64_gathers(%x: tensor<2x3xf64>) -> (tensor<6x3xf64>, tensor<2x9xf64>, tensor<5x3xf64>, tensor<2x7xf64>) {
  %0 = ppc.all_gather %x dim 0 over ["tp"] : tensor<2x3xf64> to tensor<6x3xf64>
  %1 = ppc.all_gather %x dim 1 over ["tp"] : tensor<2x3xf64> to tensor<2x9xf64>
  %2 = ppc.all_gather %x dim 0 over ["tp"] : tensor<2x3xf64> to tensor<5x3xf64>
  %3 = ppc.all_gather %x dim 1 over ["tp"] : tensor<2x3xf64> to tensor<2x7xf64>
  return %0, %1, %2, %3 : tensor<6x3xf64>, tensor<2x9xf64>, tensor<5x3xf64>, tensor<2x7xf64>
}
func.func @f64_scatters(%x: tensor<6x9xf64>, %y: tensor<5x7xf64>) -> (tensor<2x9xf64>, tensor<6x3xf64>, tensor<2x7xf64>, tensor<5x3xf64>) {
  %0 = ppc.reduce_scatter %x dim 0 over ["tp"] <sum> : tensor<6x9xf64> to tensor<2x9xf64>
  %1 = ppc.reduce_scatter %x dim 1 over ["tp"] <max> : tensor<6x9xf64> to tensor<6x3xf64>
  %2 = ppc.reduce_scatter %y dim 0 over ["tp"] <sum> : tensor<5x7xf64> to tensor<2x7xf64>
  %3 = ppc.reduce_scatter %y dim 1 over ["tp"] <sum> : tensor<5x7xf64> to tensor<5x3xf64>
  return %0, %1, %2, %3 : tensor<2x9xf64>, tensor<6x3xf64>, tensor<2x7xf64>, tensor<5x3xf64>
}
func.func @f64_exchanges(%x: tensor<6x3x2xf64>) -> (tensor<2x9x2xf64>, tensor<6x1x6xf64>) {
  %0 = ppc.all_to_all %x split 0 concat 1 over ["tp"] : tensor<6x3x2xf64> to tensor<2x9x2xf64>
  %1 = ppc.all_to_all %x split 1 concat 2 over ["tp"] : tensor<6x3x2xf64> to tensor<6x1x6xf64>
  return %0, %1 : tensor<2x9x2xf64>, tensor<6x1x6xf64>
}
func.func @f64_slices(%x: tensor<5x7xf64>) -> (tensor<2x7xf64>, tensor<5x3xf64>) {
  %0 = ppc.local_slice %x dim 0 over ["tp"] : tensor<5x7xf64> to tensor<2x7xf64>
  %1 = ppc.local_slice %x dim 1 over ["tp"] : tensor<5x7xf64> to tensor<5x3xf64>
  return %0, %1 : tensor<2x7xf64>, tensor<5x3xf64>
}
