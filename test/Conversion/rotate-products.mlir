// Matmuls of blocks that rotate over three ranks: each rank sends its block on and multiplies with it.
// RUN: ppc-opt %s --ppc-rotate-products | FileCheck %s
// As buffers a block is in flight while its matmul runs, in two slots at most.
// RUN: ppc-compile %source/test/Integration/Inputs/even.json --seq-len 16 --global-batch 4 --micro-batch 1 --dp 4 --zero 3 --rotate=on --emit=device | FileCheck %s --check-prefix=BESIDE

// One partial sum lives at a time, and no block of a result twice: scratch does not grow with the number of ranks.
// RUN: ppc-compile %source/test/Integration/Inputs/even.json --seq-len 16 --global-batch 16 --micro-batch 1 --dp 4 --zero 3 --rotate=on --emit=program -o %t.few
// RUN: ppc-compile %source/test/Integration/Inputs/even.json --seq-len 16 --global-batch 16 --micro-batch 1 --dp 16 --zero 3 --rotate=on --emit=program -o %t.many
// RUN: %python -c "import re, sys; few, many = ([int(b) for b in re.findall(r'buffer @scratch[.](?:forward|backward) .*?memref<(\d+)xi8>', open(path).read())] for path in sys.argv[1:]); print(few, many); sys.exit(len(few) != 2 or any(m > f for f, m in zip(few, many, strict=True)))" %t.few %t.many

// BESIDE: %[[T:.*]] = ppcrt.start permute group @{{.*}} shift 1 ins(%[[OWN:[^ ]*]] : {{.*}}) outs(%[[NEXT:[^ ]*]] :
// BESIDE: ppcrt.gemm {{.*}}%[[OWN]]
// BESIDE: ppcrt.wait %[[T]](%[[OWN]], %[[NEXT]] :

// Columns: blocks of the result, at the offsets of their ranks.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[A:.*]]: tensor<2x8xf32>)
// CHECK: %[[RANK:.*]] = ppcrt.coordinate {{.*}}@[[DP:.*]]
// CHECK: %[[B:.*]] = ppcrt.permute group @[[DP]] shift 1 ins(%[[A]] : tensor<2x8xf32>)
// CHECK: %[[P:.*]] = ppc.matmul "bh,fh->bf" %[[X]], %[[A]] : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32>
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[P]] into %{{.*}}[0, 0, 0] [1, 4, 2] [1, 1, 1] : tensor<4x2xf32> into tensor<3x4x2xf32>
// CHECK: %[[C:.*]] = ppcrt.permute group @[[DP]] shift 1 ins(%[[B]] : tensor<2x8xf32>)
// CHECK: %[[Q:.*]] = ppc.matmul "bh,fh->bf" %[[X]], %[[B]]
// CHECK: %[[BOTH:.*]] = tensor.insert_slice %[[Q]] into %[[FIRST]][1, 0, 0]
// CHECK-NOT: ppcrt.permute
// CHECK: %[[R:.*]] = ppc.matmul "bh,fh->bf" %[[X]], %[[C]]
// CHECK: %[[ALL:.*]] = tensor.insert_slice %[[R]] into %[[BOTH]][2, 0, 0]
// CHECK: %[[LAST:.*]] = arith.addi %[[RANK]], %c3
// CHECK: linalg.generic
// CHECK: %[[NUMBER:.*]] = arith.divui
// CHECK: %[[WITHIN:.*]] = arith.remui
// CHECK: %[[BACK:.*]] = arith.subi %[[LAST]], %[[NUMBER]]
// CHECK: %[[STEP:.*]] = arith.remui %[[BACK]]
// CHECK: tensor.extract %[[ALL]][%[[STEP]], %{{.*}}, %[[WITHIN]]]
// CHECK-NOT: ppc.all_gather
func.func @columns(%x: tensor<4x8xf32>, %a: tensor<2x8xf32>) -> tensor<4x6xf32> {
  %0 = ppc.all_gather %a dim 0 over ["dp"] rotated : tensor<2x8xf32> to tensor<6x8xf32>
  %1 = ppc.matmul "bh,fh->bf" %x, %0 : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// Rows: partial sums, each of its block of the other operand.
// CHECK-LABEL: func.func @rows
// CHECK: linalg.generic
// CHECK: %[[FIRST:.*]] = ppc.matmul "fh,bf->bh" %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
// CHECK: %[[SECOND:.*]] = ppc.matmul
// CHECK: %[[BOTH:.*]] = ppc.add %[[FIRST]], %[[SECOND]]
// CHECK: %[[SUM:.*]] = bufferization.materialize_in_destination %[[BOTH]] in %[[FIRST]]
// CHECK: %[[THIRD:.*]] = ppc.matmul
// CHECK: %[[THREE:.*]] = ppc.add %[[SUM]], %[[THIRD]]
// CHECK: %[[ALL:.*]] = bufferization.materialize_in_destination %[[THREE]] in %[[SUM]]
// CHECK: return %[[ALL]]
func.func @rows(%x: tensor<4x6xf32>, %a: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %0 = ppc.all_gather %a dim 0 over ["dp"] rotated : tensor<2x8xf32> to tensor<6x8xf32>
  %1 = ppc.matmul "fh,bf->bh" %0, %x : (tensor<6x8xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
