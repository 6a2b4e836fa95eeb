// Work of each op.
// RUN: ppc-opt %s --test-ppc-cost --verify-diagnostics -o /dev/null

// 2 m n k flops; every operand is read once, the result written once.
func.func @plain(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>) {
  // expected-remark @below {{matrix: 120 flops, 140 bytes read, 48 written}}
  %0 = ppc.matmul "mk,nk->mn" %a, %b : (tensor<4x5xf32>, tensor<3x5xf32>) -> tensor<4x3xf32>
  return
}

// 2 * 2 * 8 * 16 * (2 * 3 * 4) flops; two bytes per element.
func.func @heads(%x: tensor<2x8x16xbf16>, %w: tensor<2x3x4x16xbf16>) {
  // expected-remark @below {{matrix: 12288 flops, 1280 bytes read, 768 written}}
  %0 = ppc.matmul "bsh,kgdh->bskgd" %x, %w : (tensor<2x8x16xbf16>, tensor<2x3x4x16xbf16>) -> tensor<2x8x2x3x4xbf16>
  return
}

// Two summed dimensions and an index of rhs alone; no summed dimension at all.
func.func @forms(%a: tensor<2x3x4xf64>, %b: tensor<4x3x5xf64>, %c: tensor<5x2x3xf64>) {
  // expected-remark @below {{matrix: 240 flops, 672 bytes read, 80 written}}
  %0 = ppc.matmul "bst,tsn->bn" %a, %b : (tensor<2x3x4xf64>, tensor<4x3x5xf64>) -> tensor<2x5xf64>
  // expected-remark @below {{matrix: 240 flops, 432 bytes read, 960 written}}
  %1 = ppc.matmul "bst,nbs->snbt" %a, %c : (tensor<2x3x4xf64>, tensor<5x2x3xf64>) -> tensor<3x5x2x4xf64>
  return
}
