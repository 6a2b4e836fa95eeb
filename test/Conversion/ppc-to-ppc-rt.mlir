// RUN: ppc-opt %s --ppc-to-ppc-rt | FileCheck %s

// CHECK: module attributes {ppc.groups = [{axes = ["tp"]}, {axes = ["pp"], stages = array<i64: 0, 3>}]}

// Letters that lie side by side in every tensor are one dimension; a transpose is a stride.
// CHECK-LABEL: func.func @query
// CHECK:         ppcrt.gemm {{.*}} sizes [16, 16, 16] strides [16, 1, 1, 16, 16, 1] loops []
func.func @query(%x: tensor<2x8x16xf32>, %w: tensor<2x2x4x16xf32>) -> tensor<2x8x2x2x4xf32> {
  %q = ppc.matmul "bsh,kgdh->bskgd" %x, %w : (tensor<2x8x16xf32>, tensor<2x2x4x16xf32>) -> tensor<2x8x2x2x4xf32>
  return %q : tensor<2x8x2x2x4xf32>
}

// Batches are loops.
// CHECK-LABEL: func.func @scores
// CHECK:         ppcrt.gemm {{.*}} sizes [8, 8, 4] strides [16, 1, 1, 8, 8, 1] loops [2, 128, 64, 256, 2, 8, 4, 128, 2, 4, 0, 64]
func.func @scores(%q: tensor<2x8x2x2x4xf32>, %k: tensor<2x8x2x4xf32>) -> tensor<2x2x2x8x8xf32> {
  %s = ppc.matmul "bskgd,btkd->bkgst" %q, %k : (tensor<2x8x2x2x4xf32>, tensor<2x8x2x4xf32>) -> tensor<2x2x2x8x8xf32>
  return %s : tensor<2x2x2x8x8xf32>
}

// The operand with the result's last dimension goes to the right.
// CHECK-LABEL: func.func @swapped
// CHECK:         ppcrt.gemm ins(%arg1, %arg0 : tensor<5x4xf32>, tensor<3x4xf32>) {{.*}} sizes [5, 3, 4] strides [4, 1, 1, 4, 3, 1]
func.func @swapped(%a: tensor<3x4xf32>, %b: tensor<5x4xf32>) -> tensor<5x3xf32> {
  %c = ppc.matmul "nk,mk->mn" %a, %b : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<5x3xf32>
  return %c : tensor<5x3xf32>
}

// CHECK-LABEL: func.func @collectives
// CHECK:         ppcrt.all_reduce sum group 0 outs(%arg0 : tensor<4x8xf32>)
// CHECK:         ppcrt.all_reduce max group 1
// CHECK:         ppcrt.all_gather group 0 ins(%arg0 : tensor<4x8xf32>)
func.func @collectives(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>) {
  %a = ppc.all_reduce %x over ["tp"] <sum> : tensor<4x8xf32>
  %b = ppc.all_reduce %x over ["pp"] <max> stages [0, 3] : tensor<4x8xf32>
  %c = ppc.all_gather %x dim 0 over ["tp"] : tensor<4x8xf32> to tensor<8x8xf32>
  return %a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>
}
