// Products of blocks that go round three ranks: each rank passes its block on and multiplies with it.
// RUN: ppc-opt %s --ppc-rotate-products | FileCheck %s
// As buffers a block is on its way while the product with it runs, in two places at most.
// RUN: ppc-compile %source/test/Integration/Inputs/even.json --seq-len 16 --global-batch 4 --micro-batch 1 --dp 4 --zero 3 --rotate=on --emit=device | FileCheck %s --check-prefix=BESIDE

// BESIDE: %[[T:.*]] = ppcrt.start permute group @{{.*}} shift 1 ins(%[[OWN:[^ ]*]] : {{.*}}) outs(%[[NEXT:[^ ]*]] :
// BESIDE: ppcrt.gemm {{.*}}%[[OWN]]
// BESIDE: ppcrt.wait %[[T]](%[[OWN]], %[[NEXT]] :

// Columns: blocks of the result, at the places of their numbers.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[A:.*]]: tensor<2x8xf32>)
// CHECK: %[[RANK:.*]] = ppcrt.coordinate {{.*}}@[[DP:.*]]
// CHECK: %[[B:.*]] = ppcrt.permute group @[[DP]] shift 1 ins(%[[A]] : tensor<2x8xf32>)
// CHECK: ppc.matmul "bh,fh->bf" %[[X]], %[[A]] : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32>
// CHECK: %[[C:.*]] = ppcrt.permute group @[[DP]] shift 1 ins(%[[B]] : tensor<2x8xf32>)
// CHECK: ppc.matmul "bh,fh->bf" %[[X]], %[[B]]
// CHECK-NOT: ppcrt.permute
// CHECK: ppc.matmul "bh,fh->bf" %[[X]], %[[C]]
// CHECK: linalg.generic
// CHECK-NOT: ppc.all_gather
func.func @columns(%x: tensor<4x8xf32>, %a: tensor<2x8xf32>) -> tensor<4x6xf32> {
  %0 = ppc.all_gather %a dim 0 over ["dp"] rotated : tensor<2x8xf32> to tensor<6x8xf32>
  %1 = ppc.matmul "bh,fh->bf" %x, %0 : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// Rows: parts of a sum, each of its block of the other operand.
// CHECK-LABEL: func.func @rows
// CHECK: linalg.generic
// CHECK: %[[FIRST:.*]] = ppc.matmul "fh,bf->bh" %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
// CHECK: %[[SECOND:.*]] = ppc.matmul
// CHECK: %[[SUM:.*]] = ppc.add %[[FIRST]], %[[SECOND]]
// CHECK: %[[THIRD:.*]] = ppc.matmul
// CHECK: %[[ALL:.*]] = ppc.add %[[SUM]], %[[THIRD]]
// CHECK: return %[[ALL]]
func.func @rows(%x: tensor<4x6xf32>, %a: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %0 = ppc.all_gather %a dim 0 over ["dp"] rotated : tensor<2x8xf32> to tensor<6x8xf32>
  %1 = ppc.matmul "fh,bf->bh" %0, %x : (tensor<6x8xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
