// Each rule, and that the op cut along it in every way computes the same as the whole.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @embedding(%table: tensor<7x4xf32>, %ids: tensor<2x5xi32>, %dy: tensor<2x5x4xf32>) {
  // expected-remark @below {{([v, h], [d0, d1]) -> ([d0, d1, h]) {v: sum positional}, 24 cuts}}
  %0 = ppc.embedding %table, %ids : (tensor<7x4xf32>, tensor<2x5xi32>) -> tensor<2x5x4xf32>
  // expected-remark @below {{([d0, d1], [d0, d1, h]) -> ([v, h]) {d0: sum, d1: sum, v: positional}, 24 cuts}}
  %1 = ppc.embedding_backward %ids, %dy : (tensor<2x5xi32>, tensor<2x5x4xf32>) -> tensor<7x4xf32>
  // An index is of the whole table, whichever block has it.
  // expected-remark @below {{([v, h], [d0, d1]) -> ([d0, d1, h]) {v: sum positional}, 24 cuts}}
  %2 = ppc.embedding %table, %ids padding_index 5 : (tensor<7x4xf32>, tensor<2x5xi32>) -> tensor<2x5x4xf32>
  // expected-remark @below {{([d0, d1], [d0, d1, h]) -> ([v, h]) {d0: sum, d1: sum, v: positional}, 24 cuts}}
  %3 = ppc.embedding_backward %ids, %dy padding_index 5 : (tensor<2x5xi32>, tensor<2x5x4xf32>) -> tensor<7x4xf32>
  return
}

func.func @rotary(%x: tensor<2x5x3x4xf32>) {
  // expected-remark @below {{([d0, d1, d2, d3]) -> ([d0, d1, d2, d3]) {d1: positional, d3: replicated}, 15 cuts}}
  %0 = ppc.rotary %x frequencies [1.0, 0.01] : tensor<2x5x3x4xf32>
  // expected-remark @below {{([d0, d1, d2, d3]) -> ([d0, d1, d2, d3]) {d1: positional, d3: replicated}, 15 cuts}}
  %1 = ppc.rotary %x frequencies [1.0, 0.01] inverse : tensor<2x5x3x4xf32>
  // expected-remark @below {{([d0, d1, d2, d3]) -> ([d0, d1, d2, d3]) {d1: positional, d3: replicated}, 15 cuts}}
  %2 = ppc.rotary %x frequencies [1.0] offset 1 interleaved : tensor<2x5x3x4xf32>
  return
}
