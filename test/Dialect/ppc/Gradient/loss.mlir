// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @loss(%logits: tensor<2x3x4xf32>, %targets: tensor<2x3xi32>) -> tensor<2x3xf32> {
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [0, 1], reads results [1]}}
  // expected-remark @+1 {{operand 1 has no gradient}}
  %nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return %nll : tensor<2x3xf32>
}

func.func @none(%logits: tensor<2x4xf32>, %targets: tensor<2xi32>, %row: tensor<2xf32>) {
  // expected-remark @below {{no gradient: created from cross_entropy after autodiff}}
  %0 = ppc.pick %logits, %targets : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<2xf32>
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %1 = ppc.cross_entropy_backward %logits, %targets, %row, %row : (tensor<2x4xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}
