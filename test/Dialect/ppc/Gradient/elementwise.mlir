// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @binary(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // expected-remark @+2 {{gradient of operand 0 agrees}}
  // expected-remark @+1 {{gradient of operand 1 agrees}}
  %0 = ppc.add %a, %b : tensor<2x3xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees}}
  // expected-remark @+1 {{gradient of operand 1 agrees}}
  %1 = ppc.sub %a, %b : tensor<2x3xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [0]}}
  %2 = ppc.mul %a, %b : tensor<2x3xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [1], reads results [0]}}
  %3 = ppc.div %a, %b : tensor<2x3xf32>
  // expected-remark @+3 {{gradient of operand 0 agrees}}
  // expected-remark @+2 {{gradient of operand 1 agrees}}
  // expected-remark @+1 {{gradient of operand 2 agrees}}
  %4 = ppc.sum %a, %b, %a : tensor<2x3xf32>
  return %0, %1, %2, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// One value as both operands: each use has a gradient of its own.
func.func @square(%a: tensor<3xf32>) -> tensor<3xf32> {
  // expected-remark @+2 {{gradient of operand 0 agrees, reads operands [1]}}
  // expected-remark @+1 {{gradient of operand 1 agrees, reads operands [0]}}
  %0 = ppc.mul %a, %a : tensor<3xf32>
  return %0 : tensor<3xf32>
}

func.func @roots(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // expected-remark @below {{gradient of operand 0 agrees, reads results [0]}}
  %0 = ppc.exp %a : tensor<2x3xf32>
  // expected-remark @below {{gradient of operand 0 agrees, reads operands [0]}}
  %1 = ppc.log %a : tensor<2x3xf32>
  // expected-remark @below {{gradient of operand 0 agrees, reads results [0]}}
  %2 = ppc.sqrt %a : tensor<2x3xf32>
  // expected-remark @below {{gradient of operand 0 agrees, reads results [0]}}
  %3 = ppc.rsqrt %a : tensor<2x3xf32>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @activations(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xbf16>) {
  // expected-remark @below {{gradient of operand 0 agrees}}
  %0 = ppc.neg %a : tensor<2x3xf32>
  // expected-remark @below {{gradient of operand 0 agrees, reads results [0]}}
  %1 = ppc.sigmoid %a : tensor<2x3xf32>
  // expected-remark @below {{gradient of operand 0 agrees, reads operands [0]}}
  %2 = ppc.silu %a : tensor<2x3xf32>
  // expected-remark @below {{gradient of operand 0 agrees}}
  %3 = ppc.scale %a by -2.500000e-01 : tensor<2x3xf32>
  // expected-remark @below {{gradient of operand 0 agrees}}
  %4 = ppc.convert %a : tensor<2x3xf32> to tensor<2x3xbf16>
  return %0, %1, %2, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xbf16>
}

func.func @none(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %0 = ppc.silu_backward %a, %a : tensor<2x3xf32>
  // expected-remark @below {{no gradient: a constant depends on nothing}}
  %1 = ppc.constant dense<1.0> : tensor<2xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2xf32>
}

func.func @gelu(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  // expected-remark @below {{gradient of operand 0 agrees, reads operands [0]}}
  %0 = ppc.gelu %x : tensor<3x4xf32>
  // expected-remark @below {{gradient of operand 0 agrees, reads operands [0]}}
  %1 = ppc.gelu %x tanh : tensor<3x4xf32>
  // expected-remark @below {{no gradient: second derivatives are not implemented}}
  %2 = ppc.gelu_backward %x, %x : tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}
