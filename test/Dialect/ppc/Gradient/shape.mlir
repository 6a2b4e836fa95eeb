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

// One part is used, or both.
func.func @parts(%x: tensor<2x5xf32>, %a: tensor<2x2xf32>) -> (tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x7xf32>) {
  // expected-remark @below {{gradient of operand 0 agrees}}
  %0:2 = ppc.split %x dim 1 : tensor<2x5xf32> to tensor<2x3xf32>, tensor<2x2xf32>
  // expected-remark @below {{gradient of operand 0 agrees}}
  %1:2 = ppc.split %x dim 1 : tensor<2x5xf32> to tensor<2x4xf32>, tensor<2x1xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees}}
  // expected-remark @+1 {{gradient of operand 1 agrees}}
  %2 = ppc.concat %x, %a dim 1 : tensor<2x5xf32>, tensor<2x2xf32> to tensor<2x7xf32>
  return %0#0, %1#0, %1#1, %2 : tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x7xf32>
}

// In runs: each part takes its part of every run.
func.func @runs(%x: tensor<2x8xf32>, %a: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>) {
  // expected-remark @below {{gradient of operand 0 agrees}}
  %0:2 = ppc.split %x dim 1 runs 2 : tensor<2x8xf32> to tensor<2x4xf32>, tensor<2x4xf32>
  // expected-remark @+2 {{gradient of operand 0 agrees}}
  // expected-remark @+1 {{gradient of operand 1 agrees}}
  %1 = ppc.concat %x, %a dim 1 runs 4 : tensor<2x8xf32>, tensor<2x4xf32> to tensor<2x12xf32>
  return %0#0, %0#1, %1 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>
}
