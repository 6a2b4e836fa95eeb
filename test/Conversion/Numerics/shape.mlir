// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// Rearranged elements.
// CHECK: @f32_transposes agrees
// CHECK: @f32_broadcasts agrees
// CHECK: @f32_reshapes agrees
// CHECK: @f32_parts agrees
// CHECK: @f32_runs agrees
// CHECK: @f32_pieces agrees
// CHECK: @f64_transposes agrees
// CHECK: @f64_broadcasts agrees
// CHECK: @f64_reshapes agrees
// CHECK: @f64_parts agrees
// CHECK: @f64_runs agrees
// CHECK: @f64_pieces agrees

func.func @f32_transposes(%x: tensor<2x3x5xf32>) -> (tensor<5x2x3xf32>, tensor<3x2x5xf32>) {
  %0 = ppc.transpose %x by [2, 0, 1] : tensor<2x3x5xf32> to tensor<5x2x3xf32>
  %1 = ppc.transpose %x by [1, 0, 2] : tensor<2x3x5xf32> to tensor<3x2x5xf32>
  return %0, %1 : tensor<5x2x3xf32>, tensor<3x2x5xf32>
}
func.func @f32_broadcasts(%x: tensor<3xf32>, %s: tensor<f32>) -> (tensor<2x3x4xf32>, tensor<2x2xf32>) {
  %0 = ppc.broadcast %x dims [0, 2] : tensor<3xf32> to tensor<2x3x4xf32>
  %1 = ppc.broadcast %s dims [0, 1] : tensor<f32> to tensor<2x2xf32>
  return %0, %1 : tensor<2x3x4xf32>, tensor<2x2xf32>
}
func.func @f32_reshapes(%x: tensor<4x6xf32>, %s: tensor<f32>, %o: tensor<1x1xf32>) -> (tensor<3x2x4xf32>, tensor<24xf32>, tensor<1x1xf32>, tensor<f32>) {
  %e = ppc.exp %x : tensor<4x6xf32>
  %0 = ppc.reshape %e : tensor<4x6xf32> to tensor<3x2x4xf32>
  %1 = ppc.reshape %x : tensor<4x6xf32> to tensor<24xf32>
  %2 = ppc.reshape %s : tensor<f32> to tensor<1x1xf32>
  %3 = ppc.reshape %o : tensor<1x1xf32> to tensor<f32>
  return %0, %1, %2, %3 : tensor<3x2x4xf32>, tensor<24xf32>, tensor<1x1xf32>, tensor<f32>
}
func.func @f32_parts(%x: tensor<2x6x3xf32>, %a: tensor<2x1x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x2x3xf32>, tensor<2x10x3xf32>, tensor<2x4x3xf32>) {
  %0:2 = ppc.split %x dim 1 : tensor<2x6x3xf32> to tensor<2x4x3xf32>, tensor<2x2x3xf32>
  %1 = ppc.concat %0#1, %a, %x, %a dim 1 : tensor<2x2x3xf32>, tensor<2x1x3xf32>, tensor<2x6x3xf32>, tensor<2x1x3xf32> to tensor<2x10x3xf32>
  %2 = ppc.exp %0#0 : tensor<2x4x3xf32>
  return %0#0, %0#1, %1, %2 : tensor<2x4x3xf32>, tensor<2x2x3xf32>, tensor<2x10x3xf32>, tensor<2x4x3xf32>
}
func.func @f32_runs(%x: tensor<2x6x3xf32>, %y: tensor<8xf32>) -> (tensor<2x4x3xf32>, tensor<2x6x3xf32>, tensor<8xf32>, tensor<2xf32>) {
  %0:2 = ppc.split %x dim 1 runs 2 : tensor<2x6x3xf32> to tensor<2x4x3xf32>, tensor<2x2x3xf32>
  %1 = ppc.exp %0#1 : tensor<2x2x3xf32>
  %2 = ppc.concat %1, %0#0 dim 1 runs 2 : tensor<2x2x3xf32>, tensor<2x4x3xf32> to tensor<2x6x3xf32>
  %3:2 = ppc.split %y dim 0 runs 2 : tensor<8xf32> to tensor<6xf32>, tensor<2xf32>
  %4 = ppc.concat %3#1, %3#0 dim 0 runs 2 : tensor<2xf32>, tensor<6xf32> to tensor<8xf32>
  return %0#0, %2, %4, %3#1 : tensor<2x4x3xf32>, tensor<2x6x3xf32>, tensor<8xf32>, tensor<2xf32>
}
func.func @f32_pieces(%x: tensor<1x5x4xf32>, %w: tensor<3x4xf32>) -> (tensor<1x3x3xf32>, tensor<1x2x3xf32>) {
  %0:2 = ppc.split %x dim 1 : tensor<1x5x4xf32> to tensor<1x3x4xf32>, tensor<1x2x4xf32>
  %1 = ppc.matmul "bsf,hf->bsh" %0#0, %w : (tensor<1x3x4xf32>, tensor<3x4xf32>) -> tensor<1x3x3xf32>
  %2 = ppc.matmul "bsf,hf->bsh" %0#1, %w : (tensor<1x2x4xf32>, tensor<3x4xf32>) -> tensor<1x2x3xf32>
  return %1, %2 : tensor<1x3x3xf32>, tensor<1x2x3xf32>
}
func.func @f64_transposes(%x: tensor<2x3x5xf64>) -> (tensor<5x2x3xf64>, tensor<3x2x5xf64>) {
  %0 = ppc.transpose %x by [2, 0, 1] : tensor<2x3x5xf64> to tensor<5x2x3xf64>
  %1 = ppc.transpose %x by [1, 0, 2] : tensor<2x3x5xf64> to tensor<3x2x5xf64>
  return %0, %1 : tensor<5x2x3xf64>, tensor<3x2x5xf64>
}
func.func @f64_broadcasts(%x: tensor<3xf64>, %s: tensor<f64>) -> (tensor<2x3x4xf64>, tensor<2x2xf64>) {
  %0 = ppc.broadcast %x dims [0, 2] : tensor<3xf64> to tensor<2x3x4xf64>
  %1 = ppc.broadcast %s dims [0, 1] : tensor<f64> to tensor<2x2xf64>
  return %0, %1 : tensor<2x3x4xf64>, tensor<2x2xf64>
}
func.func @f64_reshapes(%x: tensor<4x6xf64>, %s: tensor<f64>, %o: tensor<1x1xf64>) -> (tensor<3x2x4xf64>, tensor<24xf64>, tensor<1x1xf64>, tensor<f64>) {
  %e = ppc.exp %x : tensor<4x6xf64>
  %0 = ppc.reshape %e : tensor<4x6xf64> to tensor<3x2x4xf64>
  %1 = ppc.reshape %x : tensor<4x6xf64> to tensor<24xf64>
  %2 = ppc.reshape %s : tensor<f64> to tensor<1x1xf64>
  %3 = ppc.reshape %o : tensor<1x1xf64> to tensor<f64>
  return %0, %1, %2, %3 : tensor<3x2x4xf64>, tensor<24xf64>, tensor<1x1xf64>, tensor<f64>
}
func.func @f64_parts(%x: tensor<2x6x3xf64>, %a: tensor<2x1x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x2x3xf64>, tensor<2x10x3xf64>, tensor<2x4x3xf64>) {
  %0:2 = ppc.split %x dim 1 : tensor<2x6x3xf64> to tensor<2x4x3xf64>, tensor<2x2x3xf64>
  %1 = ppc.concat %0#1, %a, %x, %a dim 1 : tensor<2x2x3xf64>, tensor<2x1x3xf64>, tensor<2x6x3xf64>, tensor<2x1x3xf64> to tensor<2x10x3xf64>
  %2 = ppc.exp %0#0 : tensor<2x4x3xf64>
  return %0#0, %0#1, %1, %2 : tensor<2x4x3xf64>, tensor<2x2x3xf64>, tensor<2x10x3xf64>, tensor<2x4x3xf64>
}
func.func @f64_runs(%x: tensor<2x6x3xf64>, %y: tensor<8xf64>) -> (tensor<2x4x3xf64>, tensor<2x6x3xf64>, tensor<8xf64>, tensor<2xf64>) {
  %0:2 = ppc.split %x dim 1 runs 2 : tensor<2x6x3xf64> to tensor<2x4x3xf64>, tensor<2x2x3xf64>
  %1 = ppc.exp %0#1 : tensor<2x2x3xf64>
  %2 = ppc.concat %1, %0#0 dim 1 runs 2 : tensor<2x2x3xf64>, tensor<2x4x3xf64> to tensor<2x6x3xf64>
  %3:2 = ppc.split %y dim 0 runs 2 : tensor<8xf64> to tensor<6xf64>, tensor<2xf64>
  %4 = ppc.concat %3#1, %3#0 dim 0 runs 2 : tensor<2xf64>, tensor<6xf64> to tensor<8xf64>
  return %0#0, %2, %4, %3#1 : tensor<2x4x3xf64>, tensor<2x6x3xf64>, tensor<8xf64>, tensor<2xf64>
}
func.func @f64_pieces(%x: tensor<1x5x4xf64>, %w: tensor<3x4xf64>) -> (tensor<1x3x3xf64>, tensor<1x2x3xf64>) {
  %0:2 = ppc.split %x dim 1 : tensor<1x5x4xf64> to tensor<1x3x4xf64>, tensor<1x2x4xf64>
  %1 = ppc.matmul "bsf,hf->bsh" %0#0, %w : (tensor<1x3x4xf64>, tensor<3x4xf64>) -> tensor<1x3x3xf64>
  %2 = ppc.matmul "bsf,hf->bsh" %0#1, %w : (tensor<1x2x4xf64>, tensor<3x4xf64>) -> tensor<1x2x3xf64>
  return %1, %2 : tensor<1x3x3xf64>, tensor<1x2x3xf64>
}
