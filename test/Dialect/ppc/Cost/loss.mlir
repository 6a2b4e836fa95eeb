// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

func.func @loss(%logits: tensor<2x3x7xf32>, %targets: tensor<2x3xi32>, %row: tensor<2x3xf32>) {
  // expected-remark @below {{vector: 168 flops, 192 bytes read, 48 written}}
  %0:2 = ppc.cross_entropy %logits, %targets : (tensor<2x3x7xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // expected-remark @below {{vector: 0 flops, 48 bytes read, 24 written}}
  %1 = ppc.pick %logits, %targets : (tensor<2x3x7xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  // expected-remark @below {{vector: 126 flops, 240 bytes read, 168 written}}
  %2 = ppc.cross_entropy_backward %logits, %targets, %row, %row : (tensor<2x3x7xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x7xf32>
  return
}

// The target indices may be 64 bits wide.
func.func @rows(%logits: tensor<5x4xf64>, %targets: tensor<5xi64>) {
  // expected-remark @below {{vector: 0 flops, 80 bytes read, 40 written}}
  %0 = ppc.pick %logits, %targets : (tensor<5x4xf64>, tensor<5xi64>) -> tensor<5xf64>
  return
}
