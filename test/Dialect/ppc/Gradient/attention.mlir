// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @causal(%q: tensor<2x3x2x3x2xf32>, %k: tensor<2x3x2x2xf32>, %v: tensor<2x3x2x2xf32>) -> tensor<2x3x2x3x2xf32> {
  // expected-remark @+3 {{gradient of operand 0 agrees, reads operands [0, 1, 2], reads results [0, 1]}}
  // expected-remark @+2 {{gradient of operand 1 agrees, reads operands [0, 1, 2], reads results [0, 1]}}
  // expected-remark @+1 {{gradient of operand 2 agrees, reads operands [0, 1, 2], reads results [0, 1]}}
  %out, %lse = ppc.attention %q, %k, %v scale 7.000000e-01 causal : tensor<2x3x2x3x2xf32>, tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32> -> tensor<2x3x2x3x2xf32>, tensor<2x3x2x3xf32>
  return %out : tensor<2x3x2x3x2xf32>
}

// More keys than queries, with and without a mask.
func.func @keys(%q: tensor<1x2x2x2x2xf32>, %k: tensor<1x4x2x2xf32>, %v: tensor<1x4x2x2xf32>) -> (tensor<1x2x2x2x2xf32>, tensor<1x2x2x2x2xf32>) {
  // expected-remark @+3 {{gradient of operand 0 agrees, reads operands [0, 1, 2], reads results [0, 1]}}
  // expected-remark @+2 {{gradient of operand 1 agrees, reads operands [0, 1, 2], reads results [0, 1]}}
  // expected-remark @+1 {{gradient of operand 2 agrees, reads operands [0, 1, 2], reads results [0, 1]}}
  %0:2 = ppc.attention %q, %k, %v scale 7.000000e-01 : tensor<1x2x2x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32> -> tensor<1x2x2x2x2xf32>, tensor<1x2x2x2xf32>
  // expected-remark @+3 {{gradient of operand 0 agrees, reads operands [0, 1, 2], reads results [0, 1]}}
  // expected-remark @+2 {{gradient of operand 1 agrees, reads operands [0, 1, 2], reads results [0, 1]}}
  // expected-remark @+1 {{gradient of operand 2 agrees, reads operands [0, 1, 2], reads results [0, 1]}}
  %1:2 = ppc.attention %q, %k, %v scale 7.000000e-01 causal : tensor<1x2x2x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32> -> tensor<1x2x2x2x2xf32>, tensor<1x2x2x2xf32>
  return %0#0, %1#0 : tensor<1x2x2x2x2xf32>, tensor<1x2x2x2x2xf32>
}

func.func @none(%q: tensor<1x2x2x2x2xf32>, %k: tensor<1x4x2x2xf32>, %lse: tensor<1x2x2x2xf32>) {
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %0:3 = ppc.attention_backward %q, %k, %k, %q, %lse, %q scale 5.000000e-01 : tensor<1x2x2x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x2x2x2x2xf32>, tensor<1x2x2x2xf32>
  return
}

// Values narrower than keys, a window, slopes.
func.func @window(%q: tensor<1x3x2x2x3xf32>, %k: tensor<1x4x2x3xf32>, %v: tensor<1x4x2x2xf32>, %slopes: tensor<2x2xf32>) -> tensor<1x3x2x2x2xf32> {
  // expected-remark @+4 {{gradient of operand 0 agrees, reads operands [0, 1, 2, 3], reads results [0, 1]}}
  // expected-remark @+3 {{gradient of operand 1 agrees, reads operands [0, 1, 2, 3], reads results [0, 1]}}
  // expected-remark @+2 {{gradient of operand 2 agrees, reads operands [0, 1, 2, 3], reads results [0, 1]}}
  // expected-remark @+1 {{gradient of operand 3 agrees, reads operands [0, 1, 2, 3], reads results [0, 1]}}
  %0:2 = ppc.attention %q, %k, %v scale 7.000000e-01 causal window 2 slopes %slopes as tensor<2x2xf32> : tensor<1x3x2x2x3xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x2xf32> -> tensor<1x3x2x2x2xf32>, tensor<1x3x2x2xf32>
  return %0#0 : tensor<1x3x2x2x2xf32>
}
