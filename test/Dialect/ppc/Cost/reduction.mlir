// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

func.func @reduce(%x: tensor<4x5x3xf32>) {
  // expected-remark @below {{vector: 60 flops, 240 bytes read, 48 written}}
  %0 = ppc.reduce <sum> %x dims [1] : tensor<4x5x3xf32> to tensor<4x3xf32>
  // expected-remark @below {{vector: 60 flops, 240 bytes read, 4 written}}
  %1 = ppc.reduce <sum> %x dims [0, 1, 2] : tensor<4x5x3xf32> to tensor<f32>
  // expected-remark @below {{vector: 60 flops, 240 bytes read, 48 written}}
  %2 = ppc.reduce <max> %x dims [1] : tensor<4x5x3xf32> to tensor<4x3xf32>
  return
}

func.func @rows(%x: tensor<4x3x5xf32>, %w: tensor<5xf32>) {
  // expected-remark @below {{vector: 240 flops, 240 bytes read, 48 written}}
  %0 = ppc.log_sum_exp %x : tensor<4x3x5xf32> to tensor<4x3xf32>
  // expected-remark @below {{vector: 300 flops, 240 bytes read, 240 written}}
  %1 = ppc.softmax %x : tensor<4x3x5xf32>
  // expected-remark @below {{vector: 240 flops, 480 bytes read, 240 written}}
  %2 = ppc.softmax_backward %x, %x : tensor<4x3x5xf32>
  // expected-remark @below {{vector: 240 flops, 260 bytes read, 240 written}}
  %3 = ppc.rms_norm %x, %w epsilon 1.000000e-05 : tensor<4x3x5xf32>, tensor<5xf32>
  // expected-remark @below {{vector: 480 flops, 500 bytes read, 240 written}}
  %4 = ppc.rms_norm_input_gradient %x, %w, %x epsilon 1.000000e-05 : tensor<4x3x5xf32>, tensor<5xf32>
  // expected-remark @below {{vector: 300 flops, 480 bytes read, 20 written}}
  %5 = ppc.rms_norm_weight_gradient %x, %x epsilon 1.000000e-05 : tensor<4x3x5xf32> to tensor<5xf32>
  return
}

func.func @layer_norm(%x: tensor<4x3x5xf32>, %w: tensor<5xf32>) {
  // expected-remark @below {{vector: 420 flops, 280 bytes read, 240 written}}
  %0 = ppc.layer_norm %x, %w, %w epsilon 1.000000e-05 : tensor<4x3x5xf32>, tensor<5xf32>
  // expected-remark @below {{vector: 780 flops, 500 bytes read, 240 written}}
  %1 = ppc.layer_norm_input_gradient %x, %w, %x epsilon 1.000000e-05 : tensor<4x3x5xf32>, tensor<5xf32>
  // expected-remark @below {{vector: 420 flops, 480 bytes read, 20 written}}
  %2 = ppc.layer_norm_weight_gradient %x, %x epsilon 1.000000e-05 : tensor<4x3x5xf32> to tensor<5xf32>
  return
}
