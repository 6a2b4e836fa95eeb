// Blocks of four parameters: each is gathered where the one before it is used, across the layers and the reduction between them.
// RUN: ppc-opt %s --split-input-file --ppc-prefetch-gathers=ahead=1 --ppc-verify-program | FileCheck %s --check-prefixes=ALL,ONE
// RUN: ppc-opt %s --split-input-file --ppc-prefetch-gathers=ahead=2 --ppc-verify-program | FileCheck %s --check-prefixes=ALL,TWO
// RUN: ppc-opt %s --split-input-file --ppc-prefetch-gathers=ahead=1 --remarks-filter=ppc-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// By cost: where a gather takes far longer than all of the work, and so beginning earlier saves nearly nothing, all stay.
// RUN: ppc-opt %s --split-input-file --ppc-prefetch-gathers=cluster=dgx-h100 --remarks-filter=ppc-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=COST --allow-empty

// REMARK: keep: 4 gathers of parameters begin 1 ahead; of {{.*}} that they take, {{.*}} are saved
// COST-NOT: small{{.*}}gathers

// ALL-LABEL: func.func @keep(
// ALL-SAME: %[[X:[^:]*]]: tensor<1x4xf32>, %[[A:[^:]*]]: tensor<2x4xf32>, %[[B:[^:]*]]: tensor<2x4xf32>, %[[C:[^:]*]]: tensor<2x4xf32>, %[[D:[^:]*]]: tensor<2x4xf32>
// Gathers that start before everything, as a preceding layer would start them, are a layer of their own.
// ONE-NEXT: %[[AW:.*]] = ppc.all_gather %[[A]] {{.*}}ppc.layer = -1
// ONE-NEXT: %[[BW:.*]] = ppc.all_gather %[[B]] {{.*}}ppc.layer = 0
// ONE-NEXT: ppc.matmul "bh,fh->bf" %[[X]], %[[AW]] {ppc.layer = 0
// ONE-NEXT: %[[CW:.*]] = ppc.all_gather %[[C]] {{.*}}ppc.layer = 0
// ONE-NEXT: ppc.matmul "bh,fh->bf" %{{.*}}, %[[BW]] {ppc.layer = 0
// ONE-NEXT: %[[DW:.*]] = ppc.all_gather %[[D]] {{.*}}ppc.layer = 1
// ONE-NEXT: ppc.matmul "bh,fh->bf" %{{.*}}, %[[CW]] {ppc.layer = 1
// ONE-NEXT: ppc.all_reduce
// ONE-NEXT: ppc.matmul "bh,fh->bf" %{{.*}}, %[[DW]] {ppc.layer = 1
// TWO-NEXT: ppc.all_gather %[[A]] {{.*}}ppc.layer = -1
// TWO-NEXT: ppc.all_gather %[[B]] {{.*}}ppc.layer = -1
// TWO-NEXT: ppc.matmul {{.*}}ppc.layer = 0
// TWO-NEXT: ppc.all_gather %[[C]] {{.*}}ppc.layer = 0
module {
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x4xf32> sharding <[{dp}, {}]> slots 1
      ppcrt.buffer @a parameter "a" : memref<2x4xf32> sharding <[{dp}, {}]>
      ppcrt.buffer @b parameter "b" : memref<2x4xf32> sharding <[{dp}, {}]>
      ppcrt.buffer @c parameter "c" : memref<2x4xf32> sharding <[{dp}, {}]>
      ppcrt.buffer @d parameter "d" : memref<2x4xf32> sharding <[{dp}, {}]>
      ppcrt.buffer @h saved : memref<1x4xf32> slots 1
      ppcrt.routine @forward forward code @keep reads [@x, @a, @b, @c, @d] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @keep(%x: tensor<1x4xf32>, %a: tensor<2x4xf32>, %b: tensor<2x4xf32>, %c: tensor<2x4xf32>, %d: tensor<2x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.all_gather %a dim 0 over ["dp"] {ppc.layer = 0 : i64} : tensor<2x4xf32> to tensor<4x4xf32>
    %1 = ppc.matmul "bh,fh->bf" %x, %0 {ppc.layer = 0 : i64} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %2 = ppc.all_gather %b dim 0 over ["dp"] {ppc.layer = 0 : i64} : tensor<2x4xf32> to tensor<4x4xf32>
    %3 = ppc.matmul "bh,fh->bf" %1, %2 {ppc.layer = 0 : i64} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %4 = ppc.all_gather %c dim 0 over ["dp"] {ppc.layer = 1 : i64} : tensor<2x4xf32> to tensor<4x4xf32>
    %5 = ppc.matmul "bh,fh->bf" %3, %4 {ppc.layer = 1 : i64} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %6 = ppc.all_reduce %5 over ["dp"] <sum> {ppc.layer = 1 : i64} : tensor<1x4xf32>
    %7 = ppc.all_gather %d dim 0 over ["dp"] {ppc.layer = 1 : i64} : tensor<2x4xf32> to tensor<4x4xf32>
    %8 = ppc.matmul "bh,fh->bf" %6, %7 {ppc.layer = 1 : i64} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    return %8 : tensor<1x4xf32>
  }
}

// -----

// Two start ahead as long as at most twice as many bytes are gathered at a time as without prefetching: small ones after a large one, but not
// as large ones above. Ops without layers stay in their order.
// ALL-LABEL: func.func @small(
// ALL-NEXT: ppc.all_gather %{{.*}} : tensor<2x4xf32> to tensor<4x4xf32>
// ALL-NEXT: ppc.all_gather %{{.*}} : tensor<1x4xf32> to tensor<2x4xf32>
// TWO-NEXT: ppc.all_gather %{{.*}} : tensor<1x2xf32> to tensor<2x2xf32>
// ALL-NEXT: ppc.matmul
// ONE-NEXT: ppc.all_gather %{{.*}} : tensor<1x2xf32> to tensor<2x2xf32>
// ALL-NEXT: ppc.matmul
module {
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x4xf32> sharding <[{dp}, {}]> slots 1
      ppcrt.buffer @a parameter "a" : memref<2x4xf32> sharding <[{dp}, {}]>
      ppcrt.buffer @b parameter "b" : memref<1x4xf32> sharding <[{dp}, {}]>
      ppcrt.buffer @c parameter "c" : memref<1x2xf32> sharding <[{dp}, {}]>
      ppcrt.buffer @h saved : memref<1x2xf32> slots 1
      ppcrt.routine @forward forward code @small reads [@x, @a, @b, @c] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @small(%x: tensor<1x4xf32>, %a: tensor<2x4xf32>, %b: tensor<1x4xf32>, %c: tensor<1x2xf32>) -> tensor<1x2xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.all_gather %a dim 0 over ["dp"] : tensor<2x4xf32> to tensor<4x4xf32>
    %1 = ppc.matmul "bh,fh->bf" %x, %0 : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %2 = ppc.all_gather %b dim 0 over ["dp"] : tensor<1x4xf32> to tensor<2x4xf32>
    %3 = ppc.matmul "bh,fh->bf" %1, %2 : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
    %4 = ppc.all_gather %c dim 0 over ["dp"] : tensor<1x2xf32> to tensor<2x2xf32>
    %5 = ppc.matmul "bh,fh->bf" %3, %4 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    return %5 : tensor<1x2xf32>
  }
}
