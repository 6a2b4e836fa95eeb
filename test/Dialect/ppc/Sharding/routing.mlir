// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @top_k(%scores: tensor<2x5x6xf32>, %bias: tensor<6xf32>, %ids: tensor<2x5x3xi32>, %dv: tensor<2x5x3xf32>) {
  // expected-remark @below {{([d0, d1, e]) -> ([d0, d1, k], [d0, d1, k]) {e: replicated, k: replicated}, 8 cuts}}
  %0:2 = ppc.top_k %scores : tensor<2x5x6xf32> -> tensor<2x5x3xf32>, tensor<2x5x3xi32>
  // expected-remark @below {{([d0, d1, e], [e]) -> ([d0, d1, k], [d0, d1, k]) {e: replicated, k: replicated}, 8 cuts}}
  %1:2 = ppc.top_k %scores bias %bias as tensor<6xf32> groups 3 groups_per_row 2 : tensor<2x5x6xf32> -> tensor<2x5x3xf32>, tensor<2x5x3xi32>
  // expected-remark @below {{([d0, d1, k], [d0, d1, k]) -> ([d0, d1, e]) {k: sum, e: replicated}, 15 cuts}}
  %2 = ppc.top_k_backward %ids, %dv : (tensor<2x5x3xi32>, tensor<2x5x3xf32>) -> tensor<2x5x6xf32>
  return
}

// Sharded experts, with and without padding, some with too few slots.
func.func @slots(%x: tensor<3x5x2xf32>, %ids: tensor<3x5x2xi32>, %w: tensor<3x5x2xf32>, %slots: tensor<3x5x3x2xf32>) {
  // expected-remark @below {{([b, s, h], [b, s, k]) -> ([b, e, c, h]) {s: replicated, k: replicated, e: positional, c: replicated}, 15 cuts}}
  %0 = ppc.dispatch %x, %ids : (tensor<3x5x2xf32>, tensor<3x5x2xi32>) -> tensor<3x5x3x2xf32>
  // expected-remark @below {{([b, s, h], [b, s, k], [b, s, k]) -> ([b, e, c, h]) {s: replicated, k: replicated, e: positional, c: replicated}, 15 cuts}}
  %1 = ppc.dispatch %x, %ids weights %w : (tensor<3x5x2xf32>, tensor<3x5x2xi32>, tensor<3x5x2xf32>) -> tensor<3x5x1x2xf32>
  // expected-remark @below {{([b, e, c, h], [b, s, k]) -> ([b, s, h]) {e: sum positional, c: replicated, s: replicated, k: replicated}, 15 cuts}}
  %2 = ppc.combine %slots, %ids : (tensor<3x5x3x2xf32>, tensor<3x5x2xi32>) -> tensor<3x5x2xf32>
  // expected-remark @below {{([b, e, c, h], [b, s, k], [b, s, k]) -> ([b, s, h]) {e: sum positional, c: replicated, s: replicated, k: replicated}, 15 cuts}}
  %3 = ppc.combine %slots, %ids weights %w : (tensor<3x5x3x2xf32>, tensor<3x5x2xi32>, tensor<3x5x2xf32>) -> tensor<3x5x2xf32>
  // expected-remark @below {{([b, e, c, h], [b, s, k], [b, s, h]) -> ([b, s, k]) {e: sum positional, c: replicated, h: sum, s: replicated, k: replicated}, 15 cuts}}
  %4 = ppc.routing_weights_gradient %slots, %ids, %x : (tensor<3x5x3x2xf32>, tensor<3x5x2xi32>, tensor<3x5x2xf32>) -> tensor<3x5x2xf32>
  return
}

// As many slots as tokens: both are sharded together.
func.func @own_slots(%x: tensor<3x5x2xf32>, %ids: tensor<3x5x2xi32>, %w: tensor<3x5x2xf32>, %slots: tensor<3x4x5x2xf32>) {
  // expected-remark @below {{([b, s, h], [b, s, k]) -> ([b, e, s, h]) {k: replicated, e: positional}, 24 cuts}}
  %0 = ppc.dispatch %x, %ids : (tensor<3x5x2xf32>, tensor<3x5x2xi32>) -> tensor<3x4x5x2xf32>
  // expected-remark @below {{([b, e, s, h], [b, s, k], [b, s, k]) -> ([b, s, h]) {e: sum positional, k: replicated}, 24 cuts}}
  %1 = ppc.combine %slots, %ids weights %w : (tensor<3x4x5x2xf32>, tensor<3x5x2xi32>, tensor<3x5x2xf32>) -> tensor<3x5x2xf32>
  // expected-remark @below {{([b, e, s, h], [b, s, k], [b, s, h]) -> ([b, s, k]) {e: sum positional, h: sum, k: replicated}, 24 cuts}}
  %2 = ppc.routing_weights_gradient %slots, %ids, %x : (tensor<3x4x5x2xf32>, tensor<3x5x2xi32>, tensor<3x5x2xf32>) -> tensor<3x5x2xf32>
  return
}
