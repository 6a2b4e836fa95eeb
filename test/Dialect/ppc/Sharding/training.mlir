// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @update(%p: tensor<5x3xf32>, %s: tensor<f32>) {
  // expected-remark @below {{([d0, d1], [d0, d1], [d0, d1], [d0, d1], [], [], []) -> ([d0, d1], [d0, d1], [d0, d1]), 8 cuts}}
  %0:3 = ppc.adamw %p, %p, %p, %p, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<5x3xf32>, tensor<f32>
  // expected-remark @below {{([d0, d1]) -> ([]) {d0: sum, d1: sum}, 8 cuts}}
  %1 = ppc.squared_norm %p : tensor<5x3xf32> to tensor<f32>
  // expected-remark @below {{([]) -> ([]), 0 cuts}}
  %2 = ppc.clip_scale %s max_norm 1.000000e+00 : tensor<f32>
  return
}
