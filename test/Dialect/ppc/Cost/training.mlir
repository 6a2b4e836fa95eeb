// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

func.func @update(%p: tensor<5x3xf32>, %s: tensor<f32>) {
  // expected-remark @below {{vector: 255 flops, 252 bytes read, 180 written}}
  %0:3 = ppc.adamw %p, %p, %p, %p, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<5x3xf32>, tensor<f32>
  // expected-remark @below {{vector: 30 flops, 60 bytes read, 4 written}}
  %1 = ppc.squared_norm %p : tensor<5x3xf32> to tensor<f32>
  // expected-remark @below {{vector: 3 flops, 4 bytes read, 4 written}}
  %2 = ppc.clip_scale %s max_norm 1.000000e+00 : tensor<f32>
  return
}
