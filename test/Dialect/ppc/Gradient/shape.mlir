// Each gradient agrees with finite differences, and reads what it says.
// RUN: ppc-opt %s --test-ppc-gradients --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-gradients=seed=2 --verify-diagnostics -o /dev/null

func.func @shape(%x: tensor<4x3x2xf32>) -> (tensor<2x4x3xf32>, tensor<2x2x6xf32>, tensor<4x5x3x2xf32>) {
  // expected-remark @below {{gradient of operand 0 agrees}}
  %0 = ppc.transpose %x by [2, 0, 1] : tensor<4x3x2xf32> to tensor<2x4x3xf32>
  // expected-remark @below {{gradient of operand 0 agrees}}
  %1 = ppc.reshape %x : tensor<4x3x2xf32> to tensor<2x2x6xf32>
  // expected-remark @below {{gradient of operand 0 agrees}}
  %2 = ppc.broadcast %x dims [1] : tensor<4x3x2xf32> to tensor<4x5x3x2xf32>
  return %0, %1, %2 : tensor<2x4x3xf32>, tensor<2x2x6xf32>, tensor<4x5x3x2xf32>
}
