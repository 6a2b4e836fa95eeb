// The operand of a reduce-scatter whose result is a chunk has an empty tensor of its own, whichever op wrote it first (SeparateDestinations.cpp).
// RUN: ppc-opt %s --pass-pipeline='builtin.module(func.func(ppc-separate-destinations))' | FileCheck %s
// Then the next matmul overlaps it; in the same buffer it could not.
// DEFINE: %{rest} = one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},func.func(cse,canonicalize),ppc-start-collectives
// RUN: ppc-opt %s --pass-pipeline='builtin.module(func.func(ppc-separate-destinations),eliminate-empty-tensors,%{rest})' | FileCheck %s --check-prefix=BESIDE
// RUN: ppc-opt %s --pass-pipeline='builtin.module(eliminate-empty-tensors,%{rest})' | FileCheck %s --check-prefix=BEHIND

ppcrt.group @tp axes ["tp"]

// CHECK-LABEL: func.func @pieces(
// CHECK: %[[SHARED:.*]] = tensor.empty() : tensor<8x8xf32>
// CHECK: %[[FIRST:.*]] = tensor.empty() : tensor<8x8xf32>
// CHECK-NEXT: %[[P:.*]] = ppcrt.gemm {{.*}} outs(%[[FIRST]] :
// CHECK-NEXT: ppcrt.gemm {{.*}} outs(%[[P]] : {{.*}} accumulate
// CHECK: ppcrt.reduce_scatter
// CHECK-NEXT: tensor.insert_slice
// CHECK-NEXT: ppcrt.gemm {{.*}} outs(%[[SHARED]] :
// BESIDE: ppcrt.gemm
// BESIDE: ppcrt.gemm {{.*}} accumulate
// BESIDE: ppcrt.start reduce_scatter
// BESIDE-NOT: ppcrt.wait
// BESIDE: ppcrt.gemm
// BESIDE: ppcrt.wait
// BEHIND-NOT: ppcrt.start
func.func @pieces(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %w: tensor<4x8xf32>, %whole: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %empty = tensor.empty() : tensor<8x8xf32>
  %out = tensor.empty() : tensor<4x8xf32>
  %0 = ppcrt.gemm ins(%a, %w : tensor<8x4xf32>, tensor<4x8xf32>) outs(%empty : tensor<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 8, 1, 8, 1] loops [] -> tensor<8x8xf32>
  %1 = ppcrt.gemm ins(%b, %w : tensor<8x4xf32>, tensor<4x8xf32>) outs(%0 : tensor<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 8, 1, 8, 1] loops [] accumulate -> tensor<8x8xf32>
  %2 = ppcrt.reduce_scatter sum group @tp ins(%1 : tensor<8x8xf32>) outs(%out : tensor<4x8xf32>) -> tensor<4x8xf32>
  %upper = tensor.insert_slice %2 into %whole[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %3 = ppcrt.gemm ins(%b, %w : tensor<8x4xf32>, tensor<4x8xf32>) outs(%empty : tensor<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 8, 1, 8, 1] loops [] -> tensor<8x8xf32>
  %4 = ppcrt.reduce_scatter sum group @tp ins(%3 : tensor<8x8xf32>) outs(%out : tensor<4x8xf32>) -> tensor<4x8xf32>
  %both = tensor.insert_slice %4 into %upper[4, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  return %both : tensor<8x8xf32>
}

// An unsplit scattered value shares its buffer, and function arguments stay.
// CHECK-LABEL: func.func @alone(
// CHECK-COUNT-1: tensor.empty()
// CHECK-NOT: tensor.empty()
func.func @alone(%a: tensor<8x4xf32>, %w: tensor<4x8xf32>, %c: tensor<4x8xf32>, %given: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %empty = tensor.empty() : tensor<8x8xf32>
  %0 = ppcrt.gemm ins(%a, %w : tensor<8x4xf32>, tensor<4x8xf32>) outs(%empty : tensor<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 8, 1, 8, 1] loops [] -> tensor<8x8xf32>
  %1 = ppcrt.reduce_scatter sum group @tp ins(%0 : tensor<8x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ppcrt.gemm ins(%a, %w : tensor<8x4xf32>, tensor<4x8xf32>) outs(%empty : tensor<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 8, 1, 8, 1] loops [] -> tensor<8x8xf32>
  %3 = ppcrt.reduce_scatter sum group @tp ins(%2 : tensor<8x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = ppcrt.reduce_scatter sum group @tp ins(%given : tensor<8x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}
