// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @none(%p: tensor<3xf32>, %s: tensor<f32>) {
  // expected-remark @below {{no gradient: the optimizer is not differentiated}}
  %0:3 = ppc.adamw %p, %p, %p, %p, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<3xf32>, tensor<f32>
  // expected-remark @below {{no gradient: the optimizer is not differentiated}}
  %1 = ppc.squared_norm %p : tensor<3xf32> to tensor<f32>
  // expected-remark @below {{no gradient: the optimizer is not differentiated}}
  %2 = ppc.clip_scale %s max_norm 1.000000e+00 : tensor<f32>
  return
}
