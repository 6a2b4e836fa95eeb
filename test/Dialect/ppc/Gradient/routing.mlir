// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @top_k(%scores: tensor<2x3x6xf32>, %bias: tensor<6xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xf32>) {
  // expected-remark @below {{gradient of operand 0 agrees, reads results [1]}}
  %0:2 = ppc.top_k %scores : tensor<2x3x6xf32> -> tensor<2x3x2xf32>, tensor<2x3x2xi32>
  // expected-remark @+2 {{gradient of operand 0 agrees, reads results [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads results [1]}}
  %1:2 = ppc.top_k %scores bias %bias as tensor<6xf32> groups 3 groups_per_row 2 : tensor<2x3x6xf32> -> tensor<2x3x2xf32>, tensor<2x3x2xi32>
  return %0#0, %1#0 : tensor<2x3x2xf32>, tensor<2x3x2xf32>
}

// Slots for all tokens, and for some.
func.func @slots(%x: tensor<2x4x3xf32>, %ids: tensor<2x4x2xi32>, %w: tensor<2x4x2xf32>, %slots: tensor<2x3x2x3xf32>) -> (tensor<2x3x8x3xf32>, tensor<2x3x2x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) {
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{operand 1 has no gradient}}
  %0 = ppc.dispatch %x, %ids : (tensor<2x4x3xf32>, tensor<2x4x2xi32>) -> tensor<2x3x8x3xf32>
  // expected-remark @+3 {{gradient of operand 0 agrees, reads operands [1, 2]}}
  // expected-remark @+2 {{operand 1 has no gradient}}
  // expected-remark @+1 {{gradient of operand 2 agrees, reads operands [0, 1]}}
  %1 = ppc.dispatch %x, %ids weights %w : (tensor<2x4x3xf32>, tensor<2x4x2xi32>, tensor<2x4x2xf32>) -> tensor<2x3x2x3xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{operand 1 has no gradient}}
  %2 = ppc.combine %slots, %ids : (tensor<2x3x2x3xf32>, tensor<2x4x2xi32>) -> tensor<2x4x3xf32>
  // expected-remark @+3 {{gradient of operand 0 agrees, reads operands [1, 2]}}
  // expected-remark @+2 {{operand 1 has no gradient}}
  // expected-remark @+1 {{gradient of operand 2 agrees, reads operands [0, 1]}}
  %3 = ppc.combine %slots, %ids weights %w : (tensor<2x3x2x3xf32>, tensor<2x4x2xi32>, tensor<2x4x2xf32>) -> tensor<2x4x3xf32>
  return %0, %1, %2, %3 : tensor<2x3x8x3xf32>, tensor<2x3x2x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>
}

func.func @none(%ids: tensor<2x4x2xi32>, %dv: tensor<2x4x2xf32>, %slots: tensor<2x3x2x3xf32>, %x: tensor<2x4x3xf32>) {
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %0 = ppc.top_k_backward %ids, %dv : (tensor<2x4x2xi32>, tensor<2x4x2xf32>) -> tensor<2x4x3xf32>
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %1 = ppc.routing_weights_gradient %slots, %ids, %x : (tensor<2x3x2x3xf32>, tensor<2x4x2xi32>, tensor<2x4x3xf32>) -> tensor<2x4x2xf32>
  return
}
