// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @loss(%logits: tensor<2x3x7xf32>, %targets: tensor<2x3xi32>, %row: tensor<2x3xf32>) {
  // expected-remark @below {{([d0, d1, v], [d0, d1]) -> ([d0, d1], [d0, d1]) {v: replicated}, 8 cuts}}
  %0:2 = ppc.cross_entropy %logits, %targets : (tensor<2x3x7xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // expected-remark @below {{([d0, d1, v], [d0, d1]) -> ([d0, d1]) {v: sum positional}, 15 cuts}}
  %1 = ppc.pick %logits, %targets : (tensor<2x3x7xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  // expected-remark @below {{([d0, d1, v], [d0, d1], [d0, d1], [d0, d1]) -> ([d0, d1, v]) {v: positional}, 15 cuts}}
  %2 = ppc.cross_entropy_backward %logits, %targets, %row, %row : (tensor<2x3x7xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x7xf32>
  return
}

// The target indices may be 64 bits wide.
func.func @rows(%logits: tensor<5x4xf64>, %targets: tensor<5xi64>) {
  // expected-remark @below {{([d0, v], [d0]) -> ([d0]) {v: sum positional}, 8 cuts}}
  %0 = ppc.pick %logits, %targets : (tensor<5x4xf64>, tensor<5xi64>) -> tensor<5xf64>
  return
}
