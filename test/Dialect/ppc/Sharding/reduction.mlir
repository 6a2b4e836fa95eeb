// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @reduce(%x: tensor<4x5x3xf32>) {
  // expected-remark @below {{([d0, d1, d2]) -> ([d0, d2]) {d1: sum}, 15 cuts}}
  %0 = ppc.reduce <sum> %x dims [1] : tensor<4x5x3xf32> to tensor<4x3xf32>
  // expected-remark @below {{([d0, d1, d2]) -> ([]) {d0: sum, d1: sum, d2: sum}, 15 cuts}}
  %1 = ppc.reduce <sum> %x dims [0, 1, 2] : tensor<4x5x3xf32> to tensor<f32>
  // expected-remark @below {{([d0, d1, d2]) -> ([d0, d2]) {d1: replicated}, 8 cuts}}
  %2 = ppc.reduce <max> %x dims [1] : tensor<4x5x3xf32> to tensor<4x3xf32>
  return
}

func.func @rows(%x: tensor<4x3x5xf32>, %w: tensor<5xf32>) {
  // expected-remark @below {{([d0, d1, d2]) -> ([d0, d1]) {d2: log_sum_exp}, 15 cuts}}
  %0 = ppc.log_sum_exp %x : tensor<4x3x5xf32> to tensor<4x3xf32>
  // expected-remark @below {{([d0, d1, d2]) -> ([d0, d1, d2]) {d2: replicated}, 8 cuts}}
  %1 = ppc.softmax %x : tensor<4x3x5xf32>
  // expected-remark @below {{([d0, d1, d2], [d0, d1, d2]) -> ([d0, d1, d2]) {d2: replicated}, 8 cuts}}
  %2 = ppc.softmax_backward %x, %x : tensor<4x3x5xf32>
  // expected-remark @below {{([d0, d1, d2], [d2]) -> ([d0, d1, d2]) {d2: replicated}, 8 cuts}}
  %3 = ppc.rms_norm %x, %w epsilon 1.000000e-05 : tensor<4x3x5xf32>, tensor<5xf32>
  // expected-remark @below {{([d0, d1, d2], [d2], [d0, d1, d2]) -> ([d0, d1, d2]) {d2: replicated}, 8 cuts}}
  %4 = ppc.rms_norm_input_gradient %x, %w, %x epsilon 1.000000e-05 : tensor<4x3x5xf32>, tensor<5xf32>
  // expected-remark @below {{([d0, d1, d2], [d0, d1, d2]) -> ([d2]) {d0: sum, d1: sum, d2: replicated}, 8 cuts}}
  %5 = ppc.rms_norm_weight_gradient %x, %x epsilon 1.000000e-05 : tensor<4x3x5xf32> to tensor<5xf32>
  return
}

func.func @layer_norm(%x: tensor<2x5x3xf32>, %w: tensor<3xf32>) {
  // expected-remark @below {{([d0, d1, d2], [d2], [d2]) -> ([d0, d1, d2]) {d2: replicated}, 8 cuts}}
  %0 = ppc.layer_norm %x, %w, %w epsilon 1.000000e-05 : tensor<2x5x3xf32>, tensor<3xf32>
  // expected-remark @below {{([d0, d1, d2], [d2], [d0, d1, d2]) -> ([d0, d1, d2]) {d2: replicated}, 8 cuts}}
  %1 = ppc.layer_norm_input_gradient %x, %w, %x epsilon 1.000000e-05 : tensor<2x5x3xf32>, tensor<3xf32>
  // expected-remark @below {{([d0, d1, d2], [d0, d1, d2]) -> ([d2]) {d0: sum, d1: sum, d2: replicated}, 8 cuts}}
  %2 = ppc.layer_norm_weight_gradient %x, %x epsilon 1.000000e-05 : tensor<2x5x3xf32> to tensor<3xf32>
  return
}
