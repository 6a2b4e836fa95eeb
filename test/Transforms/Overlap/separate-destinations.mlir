// The result that a reduce-scatter takes has an empty tensor of its own, of whatever wrote it first (SeparateDestinations.cpp).
// RUN: ppc-opt %s --pass-pipeline='builtin.module(func.func(ppc-separate-destinations))' | FileCheck %s
// Then the next product runs beside it; in the same buffer it could not.
// DEFINE: %{rest} = one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},ppc-start-collectives
// RUN: ppc-opt %s --pass-pipeline='builtin.module(func.func(ppc-separate-destinations),%{rest})' | FileCheck %s --check-prefix=BESIDE
// RUN: ppc-opt %s --pass-pipeline='builtin.module(%{rest})' | FileCheck %s --check-prefix=BEHIND

ppcrt.group @tp axes ["tp"]

// CHECK-LABEL: func.func @pieces(
// CHECK: %[[SHARED:.*]] = tensor.empty() : tensor<8x8xf32>
// CHECK: %[[FIRST:.*]] = tensor.empty() : tensor<8x8xf32>
// CHECK-NEXT: %[[P:.*]] = ppcrt.gemm {{.*}} outs(%[[FIRST]] :
// CHECK-NEXT: ppcrt.gemm {{.*}} outs(%[[P]] : {{.*}} accumulate
// CHECK: ppcrt.reduce_scatter
// CHECK-NEXT: ppcrt.gemm {{.*}} outs(%[[SHARED]] :
// BESIDE: ppcrt.gemm
// BESIDE: ppcrt.gemm {{.*}} accumulate
// BESIDE: ppcrt.start reduce_scatter
// BESIDE-NEXT: ppcrt.gemm
// BESIDE: ppcrt.wait
// BEHIND-NOT: ppcrt.start
func.func @pieces(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %w: tensor<4x8xf32>, %c: tensor<4x8xf32>, %d: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %empty = tensor.empty() : tensor<8x8xf32>
  %0 = ppcrt.gemm ins(%a, %w : tensor<8x4xf32>, tensor<4x8xf32>) outs(%empty : tensor<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 8, 1, 8, 1] loops [] -> tensor<8x8xf32>
  %1 = ppcrt.gemm ins(%b, %w : tensor<8x4xf32>, tensor<4x8xf32>) outs(%0 : tensor<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 8, 1, 8, 1] loops [] accumulate -> tensor<8x8xf32>
  %2 = ppcrt.reduce_scatter sum group @tp ins(%1 : tensor<8x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = ppcrt.gemm ins(%b, %w : tensor<8x4xf32>, tensor<4x8xf32>) outs(%empty : tensor<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 8, 1, 8, 1] loops [] -> tensor<8x8xf32>
  %4 = ppcrt.reduce_scatter sum group @tp ins(%3 : tensor<8x8xf32>) outs(%d : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// What the function is given, and what has an empty tensor alone, stay.
// CHECK-LABEL: func.func @alone(
// CHECK-COUNT-1: tensor.empty()
// CHECK-NOT: tensor.empty()
func.func @alone(%a: tensor<8x4xf32>, %w: tensor<4x8xf32>, %c: tensor<4x8xf32>, %given: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %empty = tensor.empty() : tensor<8x8xf32>
  %0 = ppcrt.gemm ins(%a, %w : tensor<8x4xf32>, tensor<4x8xf32>) outs(%empty : tensor<8x8xf32>) sizes [8, 8, 4] strides [4, 1, 8, 1, 8, 1] loops [] -> tensor<8x8xf32>
  %1 = ppcrt.reduce_scatter sum group @tp ins(%0 : tensor<8x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ppcrt.reduce_scatter sum group @tp ins(%given : tensor<8x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
