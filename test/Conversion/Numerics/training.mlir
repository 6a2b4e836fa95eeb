// RUN: ppc-opt %s --ppc-test-host-numerics -o /dev/null | FileCheck %s

// The optimizer, in place, and clipping.
// CHECK: @f32_adamw agrees
// CHECK: @f32_clip agrees
// CHECK: @f64_adamw agrees
// CHECK: @f64_clip agrees

func.func @f32_adamw(%p: tensor<5x7xf32>, %g: tensor<5x7xf32>, %m: tensor<5x7xf32>, %v: tensor<5x7xf32> {test.range = array<f64: 0.0, 1.0>},
    %lr: tensor<f32> {test.value = 0.01 : f64}, %step: tensor<f32> {test.value = 3.0 : f64}, %scale: tensor<f32> {test.range = array<f64: 0.1, 1.0>})
    -> (tensor<5x7xf32> {ppc.destination = 0 : i64}, tensor<5x7xf32> {ppc.destination = 2 : i64}, tensor<5x7xf32> {ppc.destination = 3 : i64}) {
  %0, %1, %2 = ppc.adamw %p, %g, %m, %v, %lr, %step, %scale {beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<5x7xf32>, tensor<f32>
  return %0, %1, %2 : tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>
}
func.func @f32_clip(%g: tensor<5x7xf32>, %h: tensor<3xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = ppc.squared_norm %g : tensor<5x7xf32> to tensor<f32>
  %1 = ppc.squared_norm %h : tensor<3xf32> to tensor<f32>
  %2 = ppc.sum %0, %1 : tensor<f32>
  %3 = ppc.sqrt %2 : tensor<f32>
  %4 = ppc.clip_scale %3 max_norm 0.5 : tensor<f32>
  return %3, %4 : tensor<f32>, tensor<f32>
}
func.func @f64_adamw(%p: tensor<5x7xf64>, %g: tensor<5x7xf64>, %m: tensor<5x7xf64>, %v: tensor<5x7xf64> {test.range = array<f64: 0.0, 1.0>},
    %lr: tensor<f64> {test.value = 0.01 : f64}, %step: tensor<f64> {test.value = 3.0 : f64}, %scale: tensor<f64> {test.range = array<f64: 0.1, 1.0>})
    -> (tensor<5x7xf64> {ppc.destination = 0 : i64}, tensor<5x7xf64> {ppc.destination = 2 : i64}, tensor<5x7xf64> {ppc.destination = 3 : i64}) {
  %0, %1, %2 = ppc.adamw %p, %g, %m, %v, %lr, %step, %scale {beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<5x7xf64>, tensor<f64>
  return %0, %1, %2 : tensor<5x7xf64>, tensor<5x7xf64>, tensor<5x7xf64>
}
func.func @f64_clip(%g: tensor<5x7xf64>, %h: tensor<3xf64>) -> (tensor<f64>, tensor<f64>) {
  %0 = ppc.squared_norm %g : tensor<5x7xf64> to tensor<f64>
  %1 = ppc.squared_norm %h : tensor<3xf64> to tensor<f64>
  %2 = ppc.sum %0, %1 : tensor<f64>
  %3 = ppc.sqrt %2 : tensor<f64>
  %4 = ppc.clip_scale %3 max_norm 0.5 : tensor<f64>
  return %3, %4 : tensor<f64>, tensor<f64>
}
