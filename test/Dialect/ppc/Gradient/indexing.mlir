// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @embedding(%table: tensor<5x3xf32>, %ids: tensor<2x4xi32>) -> tensor<2x4x3xf32> {
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{operand 1 has no gradient}}
  %0 = ppc.embedding %table, %ids : (tensor<5x3xf32>, tensor<2x4xi32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// Ids are drawn among the others: for the padding index the gradient is to be another than the derivative.
func.func @padding(%table: tensor<5x3xf32>, %ids: tensor<2x4xi32>) -> tensor<2x4x3xf32> {
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{operand 1 has no gradient}}
  %0 = ppc.embedding %table, %ids padding_index 2 : (tensor<5x3xf32>, tensor<2x4xi32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

func.func @rotary(%x: tensor<2x3x2x4xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) {
  // expected-remark @below {{gradient of operand 0 agrees}}
  %2 = ppc.rotary %x frequencies [0.7] offset 1 interleaved : tensor<2x3x2x4xf32>
  // expected-remark @below {{gradient of operand 0 agrees}}
  %0 = ppc.rotary %x frequencies [1.0, 0.3] : tensor<2x3x2x4xf32>
  // expected-remark @below {{gradient of operand 0 agrees}}
  %1 = ppc.rotary %x frequencies [1.0, 0.3] inverse : tensor<2x3x2x4xf32>
  return %0, %1, %2 : tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>
}

func.func @none(%ids: tensor<2x4xi32>, %dy: tensor<2x4x3xf32>) {
  // expected-remark @below {{no gradient: second derivatives are not built}}
  %0 = ppc.embedding_backward %ids, %dy : (tensor<2x4xi32>, tensor<2x4x3xf32>) -> tensor<5x3xf32>
  return
}
