// RUN: ppc-opt %s --ppc-fuse-accumulation | FileCheck %s

// CHECK-LABEL: func.func @accumulate
// CHECK-SAME:    (%[[ACC:.*]]: tensor<4x4xf32>,
// CHECK:         %[[SUM:.*]] = ppcrt.gemm ins(%{{.*}}) outs(%[[ACC]] : tensor<4x4xf32>) {{.*}} accumulate
// CHECK-NOT:     ppc.add
// CHECK:         bufferization.materialize_in_destination %[[SUM]] in %[[ACC]]
func.func @accumulate(%acc: tensor<4x4xf32>, %a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %empty = tensor.empty() : tensor<4x4xf32>
  %p = ppcrt.gemm ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%empty : tensor<4x4xf32>)
    sizes [4, 4, 8] strides [8, 1, 4, 1, 4, 1] loops [] -> tensor<4x4xf32>
  %s = ppc.add %p, %acc : tensor<4x4xf32>
  %r = bufferization.materialize_in_destination %s in %acc : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// The matmul's result has another use.
// CHECK-LABEL: func.func @two_users
// CHECK:         ppc.add
func.func @two_users(%acc: tensor<4x4xf32>, %a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %empty = tensor.empty() : tensor<4x4xf32>
  %p = ppcrt.gemm ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%empty : tensor<4x4xf32>)
    sizes [4, 4, 8] strides [8, 1, 4, 1, 4, 1] loops [] -> tensor<4x4xf32>
  %s = ppc.add %p, %acc : tensor<4x4xf32>
  %r = bufferization.materialize_in_destination %s in %acc : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r, %p : tensor<4x4xf32>, tensor<4x4xf32>
}
