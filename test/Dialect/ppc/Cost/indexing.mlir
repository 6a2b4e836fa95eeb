// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

func.func @embedding(%table: tensor<7x4xf32>, %ids: tensor<2x5xi32>, %dy: tensor<2x5x4xf32>) {
  // expected-remark @below {{vector: 0 flops, 200 bytes read, 160 written}}
  %0 = ppc.embedding %table, %ids : (tensor<7x4xf32>, tensor<2x5xi32>) -> tensor<2x5x4xf32>
  // expected-remark @below {{vector: 40 flops, 200 bytes read, 112 written}}
  %1 = ppc.embedding_backward %ids, %dy : (tensor<2x5xi32>, tensor<2x5x4xf32>) -> tensor<7x4xf32>
  return
}

func.func @rotary(%x: tensor<2x5x3x4xf32>) {
  // expected-remark @below {{vector: 360 flops, 480 bytes read, 480 written}}
  %0 = ppc.rotary %x frequencies [1.0, 0.01] : tensor<2x5x3x4xf32>
  // expected-remark @below {{vector: 360 flops, 480 bytes read, 480 written}}
  %1 = ppc.rotary %x frequencies [1.0, 0.01] inverse : tensor<2x5x3x4xf32>
  return
}
