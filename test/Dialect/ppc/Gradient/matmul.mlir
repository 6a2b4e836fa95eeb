// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @plain(%a: tensor<2x4xf32>, %b: tensor<3x4xf32>) -> tensor<2x3xf32> {
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [0]}}
  %0 = ppc.matmul "mk,nk->mn" %a, %b : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Two summed dimensions, a batch in another order, nothing summed, an outer product.
func.func @forms(%a: tensor<2x3x4xf32>, %b: tensor<4x3x5xf32>, %c: tensor<5x2x3xf32>, %d: tensor<2xf32>, %e: tensor<3xf32>) -> (tensor<2x5xf32>, tensor<3x5x2x4xf32>, tensor<2x3xf32>) {
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [0]}}
  %0 = ppc.matmul "bst,tsn->bn" %a, %b : (tensor<2x3x4xf32>, tensor<4x3x5xf32>) -> tensor<2x5xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [0]}}
  %1 = ppc.matmul "bst,nbs->snbt" %a, %c : (tensor<2x3x4xf32>, tensor<5x2x3xf32>) -> tensor<3x5x2x4xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [0]}}
  %2 = ppc.matmul "m,n->mn" %d, %e : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<2x5xf32>, tensor<3x5x2x4xf32>, tensor<2x3xf32>
}

// The projections of grouped heads.
func.func @heads(%x: tensor<2x3x4xf32>, %wq: tensor<2x3x2x4xf32>, %wo: tensor<4x2x3x2xf32>) -> tensor<2x3x4xf32> {
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [0]}}
  %0 = ppc.matmul "bsh,kgdh->bskgd" %x, %wq : (tensor<2x3x4xf32>, tensor<2x3x2x4xf32>) -> tensor<2x3x2x3x2xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [0]}}
  %1 = ppc.matmul "bskgd,hkgd->bsh" %0, %wo : (tensor<2x3x2x3x2xf32>, tensor<4x2x3x2xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}
