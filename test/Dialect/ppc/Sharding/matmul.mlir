// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @plain(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>) {
  // expected-remark @below {{([m, k], [n, k]) -> ([m, n]) {k: sum}, 15 cuts}}
  %0 = ppc.matmul "mk,nk->mn" %a, %b : (tensor<4x5xf32>, tensor<3x5xf32>) -> tensor<4x3xf32>
  return
}

// Two summed dimensions, a batch in another order, nothing summed.
func.func @forms(%a: tensor<2x3x4xf32>, %b: tensor<4x3x5xf32>, %c: tensor<5x2x3xf32>) {
  // expected-remark @below {{([b, s, t], [t, s, n]) -> ([b, n]) {s: sum, t: sum}, 24 cuts}}
  %0 = ppc.matmul "bst,tsn->bn" %a, %b : (tensor<2x3x4xf32>, tensor<4x3x5xf32>) -> tensor<2x5xf32>
  // expected-remark @below {{([b, s, t], [n, b, s]) -> ([s, n, b, t]), 24 cuts}}
  %1 = ppc.matmul "bst,nbs->snbt" %a, %c : (tensor<2x3x4xf32>, tensor<5x2x3xf32>) -> tensor<3x5x2x4xf32>
  return
}

// The projections of grouped heads.
func.func @heads(%x: tensor<2x3x4xf32>, %wq: tensor<2x3x2x4xf32>, %q: tensor<2x3x2x3x2xf32>, %wo: tensor<4x2x3x2xf32>) {
  // expected-remark @below {{([b, s, h], [k, g, d, h]) -> ([b, s, k, g, d]) {h: sum}, 48 cuts}}
  %0 = ppc.matmul "bsh,kgdh->bskgd" %x, %wq : (tensor<2x3x4xf32>, tensor<2x3x2x4xf32>) -> tensor<2x3x2x3x2xf32>
  // expected-remark @below {{([b, s, k, g, d], [h, k, g, d]) -> ([b, s, h]) {k: sum, g: sum, d: sum}, 48 cuts}}
  %1 = ppc.matmul "bskgd,hkgd->bsh" %q, %wo : (tensor<2x3x2x3x2xf32>, tensor<4x2x3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// An inner product.
func.func @scalar(%a: tensor<5xf32>, %b: tensor<5xf32>) {
  // expected-remark @below {{([k], [k]) -> ([]) {k: sum}, 3 cuts}}
  %0 = ppc.matmul "k,k->" %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<f32>
  return
}
