// Gradients that do not exist are refused.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics --split-input-file -o /dev/null

func.func @attention_lse(%q: tensor<1x2x2x2x2xf32>, %k: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  // expected-error @below {{'ppc.attention' op cannot be differentiated through 'lse', only through 'out'}}
  %out, %lse = ppc.attention %q, %k, %k scale 1.000000e+00 : tensor<1x2x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32> -> tensor<1x2x2x2x2xf32>, tensor<1x2x2x2xf32>
  return %lse : tensor<1x2x2x2xf32>
}

// -----

func.func @cross_entropy_lse(%logits: tensor<2x4xf32>, %targets: tensor<2xi32>) -> tensor<2xf32> {
  // expected-error @below {{'ppc.cross_entropy' op cannot be differentiated through 'lse', only through 'nll'}}
  %nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %lse : tensor<2xf32>
}
