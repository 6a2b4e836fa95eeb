// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

func.func @top_k(%scores: tensor<2x5x6xf32>, %ids: tensor<2x5x3xi32>, %dv: tensor<2x5x3xf32>) {
  // 3 passes over 60 elements.
  // expected-remark @below {{vector: 180 flops, 240 bytes read, 240 written}}
  %0:2 = ppc.top_k %scores : tensor<2x5x6xf32> -> tensor<2x5x3xf32>, tensor<2x5x3xi32>
  // expected-remark @below {{vector: 30 flops, 240 bytes read, 240 written}}
  %1 = ppc.top_k_backward %ids, %dv : (tensor<2x5x3xi32>, tensor<2x5x3xf32>) -> tensor<2x5x6xf32>
  return
}

// 2 of 4 experts for each of 16 tokens: 32 rows of 16 move.
func.func @slots(%x: tensor<2x8x16xf32>, %ids: tensor<2x8x2xi32>, %w: tensor<2x8x2xf32>, %slots: tensor<2x4x4x16xf32>) {
  // expected-remark @below {{vector: 0 flops, 1152 bytes read, 2048 written}}
  %0 = ppc.dispatch %x, %ids : (tensor<2x8x16xf32>, tensor<2x8x2xi32>) -> tensor<2x4x4x16xf32>
  // expected-remark @below {{vector: 512 flops, 1280 bytes read, 2048 written}}
  %1 = ppc.dispatch %x, %ids weights %w : (tensor<2x8x16xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x4x4x16xf32>
  // expected-remark @below {{vector: 1024 flops, 2304 bytes read, 1024 written}}
  %2 = ppc.combine %slots, %ids weights %w : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x8x16xf32>
  // expected-remark @below {{vector: 1024 flops, 3200 bytes read, 128 written}}
  %3 = ppc.routing_weights_gradient %slots, %ids, %x : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x16xf32>) -> tensor<2x8x2xf32>
  return
}
