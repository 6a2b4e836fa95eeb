// Chunked matmuls and the all-reduce or reduce-scatter of their result: rows of the outermost dimension with several elements, and of the next
// one if that has too few. Operands without rows are used unsplit.
// RUN: ppc-opt %s --split-input-file --ppc-cut-products --ppc-verify-program | FileCheck %s
// RUN: ppc-opt %s --split-input-file --ppc-cut-products --remarks-filter=ppc-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// Not chunked if the plan forbids it, and by cost if latency alone exceeds the gain (PieceTimes.cpp).
// RUN: sed 's/pieces = [0-9]*/pieces = 1/' %s | ppc-opt --split-input-file --ppc-cut-products | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/, pieces = [0-9]*//' %s | ppc-opt --split-input-file --ppc-cut-products=cluster=dgx-h100 | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: ppc.split
// WHOLE-NOT: ppc.concat
// By cost a remark tells for every candidate collective why it is not chunked; if chunks were requested and nothing can be chunked, a remark reports it.
// RUN: sed 's/, pieces = [0-9]*//' %s | ppc-opt --split-input-file --ppc-cut-products=cluster=dgx-h100 --remarks-filter=ppc-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=COST
// COST: forward: 1 collectives run unchunked after their matmuls, which leaves {{.*}} of them exposed; {{.*}} would be if chunked: the matmuls take {{.*}}, the collectives {{.*}}, and {{.*}} if chunked
// COST: sums: 1 collectives run unchunked
// COST: scattered: 2 collectives run unchunked
// COST-NOT: does nothing

// REMARK: forward: 1 collectives are chunked and overlapped with their matmuls, which leaves {{.*}} of them exposed instead of {{.*}}
// REMARK: sums: 1 collectives are chunked
// REMARK: scattered: 2 collectives are chunked
// REMARK: Missed{{.*}}product_pieces 2 does nothing: no matmul that is summed over ranks has rows to split
// REMARK: Missed{{.*}}product_pieces 2 does nothing: ring matmuls (rotate) are not split into chunks

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x5x4xf32>, %[[W:[^:]*]]: tensor<6x4xf32>
// CHECK-NEXT: %[[P:.*]]:2 = ppc.split %[[X]] dim 1 {ppc.layer = 0 : i64} : tensor<1x5x4xf32> to tensor<1x2x4xf32>, tensor<1x3x4xf32>
// CHECK-NEXT: %[[A:.*]] = ppc.matmul "bsf,hf->bsh" %[[P]]#0, %[[W]] {ppc.layer = 0 : i64} : {{.*}} -> tensor<1x2x6xf32>
// CHECK-NEXT: %[[B:.*]] = ppc.all_reduce %[[A]] over ["tp"] <sum> {ppc.layer = 0 : i64} : tensor<1x2x6xf32>
// CHECK-NEXT: %[[C:.*]] = ppc.matmul "bsf,hf->bsh" %[[P]]#1, %[[W]] {ppc.layer = 0 : i64} : {{.*}} -> tensor<1x3x6xf32>
// CHECK-NEXT: %[[D:.*]] = ppc.all_reduce %[[C]] over ["tp"] <sum> {ppc.layer = 0 : i64} : tensor<1x3x6xf32>
// CHECK-NEXT: %[[Y:.*]] = ppc.concat %[[B]], %[[D]] dim 1 {ppc.layer = 0 : i64} : {{.*}} to tensor<1x5x6xf32>
// CHECK-NEXT: ppc.silu %[[Y]]
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, overlap = true, pieces = 2>} {
  ppcrt.program @train grid <pp = 1, tp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x5x4xf32> slots 1
      ppcrt.buffer @w parameter "w" : memref<6x4xf32> sharding <[{}, {tp}]>
      ppcrt.buffer @h saved : memref<1x5x6xf32> slots 1
      ppcrt.routine @forward forward code @forward reads [@x, @w] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @forward(%x: tensor<1x5x4xf32>, %w: tensor<6x4xf32>) -> tensor<1x5x6xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bsf,hf->bsh" %x, %w {ppc.layer = 0 : i64} : (tensor<1x5x4xf32>, tensor<6x4xf32>) -> tensor<1x5x6xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <sum> {ppc.layer = 0 : i64} : tensor<1x5x6xf32>
    %2 = ppc.silu %1 {ppc.layer = 0 : i64} : tensor<1x5x6xf32>
    return %2 : tensor<1x5x6xf32>
  }
}

// -----

// The sum of two matmuls, of two sequences: four chunks are two of each sequence. A maximum, a matmul with another user,
// one whose rows are summed over and values that no matmul makes are not chunked.
// CHECK-LABEL: func.func @sums(
// CHECK: ppc.split %{{.*}} dim 0 : tensor<2x5x4xf32> to tensor<1x5x4xf32>, tensor<1x5x4xf32>
// CHECK: ppc.split %{{.*}} dim 1 : tensor<1x5x4xf32> to tensor<1x2x4xf32>, tensor<1x3x4xf32>
// CHECK-COUNT-4: ppc.add {{.*}}{{$[[:space:]]*}}%{{.*}} = ppc.all_reduce
// CHECK: ppc.concat {{.*}} dim 1 : tensor<1x2x6xf32>, tensor<1x3x6xf32> to tensor<1x5x6xf32>
// CHECK: ppc.concat {{.*}} dim 1 : tensor<1x2x6xf32>, tensor<1x3x6xf32> to tensor<1x5x6xf32>
// CHECK: ppc.concat {{.*}} dim 0 : tensor<1x5x6xf32>, tensor<1x5x6xf32> to tensor<2x5x6xf32>
// CHECK-NOT: ppc.split
// CHECK: ppc.all_reduce %{{.*}} <max>
// CHECK-NOT: ppc.split
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, overlap = true, pieces = 4>} {
  ppcrt.program @train grid <pp = 1, tp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<2x5x4xf32> slots 1
      ppcrt.buffer @w parameter "w" : memref<6x4xf32> sharding <[{}, {tp}]>
      ppcrt.buffer @h saved : memref<2x5x6xf32> slots 1
      ppcrt.buffer @g saved : memref<6x4xf32> slots 1
      ppcrt.routine @forward forward code @sums reads [@x, @w] writes [@h, @g]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @sums(%x: tensor<2x5x4xf32>, %w: tensor<6x4xf32>) -> (tensor<2x5x6xf32>, tensor<6x4xf32>) attributes {ppcrt.routine = "forward"} {
    %0 = ppc.silu %x : tensor<2x5x4xf32>
    %1 = ppc.matmul "bsf,hf->bsh" %x, %w : (tensor<2x5x4xf32>, tensor<6x4xf32>) -> tensor<2x5x6xf32>
    %2 = ppc.matmul "bsf,hf->bsh" %0, %w : (tensor<2x5x4xf32>, tensor<6x4xf32>) -> tensor<2x5x6xf32>
    %3 = ppc.add %1, %2 : tensor<2x5x6xf32>
    %4 = ppc.all_reduce %3 over ["tp"] <sum> : tensor<2x5x6xf32>
    %5 = ppc.matmul "bsf,hf->bsh" %0, %w : (tensor<2x5x4xf32>, tensor<6x4xf32>) -> tensor<2x5x6xf32>
    %6 = ppc.all_reduce %5 over ["tp"] <max> : tensor<2x5x6xf32>
    %7 = ppc.matmul "bsf,hf->bsh" %0, %w : (tensor<2x5x4xf32>, tensor<6x4xf32>) -> tensor<2x5x6xf32>
    %8 = ppc.all_reduce %7 over ["tp"] <sum> : tensor<2x5x6xf32>
    %9 = ppc.add %7, %8 : tensor<2x5x6xf32>
    %10 = ppc.all_reduce %9 over ["tp"] <sum> : tensor<2x5x6xf32>
    %11 = ppc.add %4, %6 : tensor<2x5x6xf32>
    %12 = ppc.add %11, %10 : tensor<2x5x6xf32>
    %13 = ppc.silu %w : tensor<6x4xf32>
    %14 = ppc.all_reduce %13 over ["tp"] <sum> : tensor<6x4xf32>
    return %12, %14 : tensor<2x5x6xf32>, tensor<6x4xf32>
  }
}

// -----

// One sequence of fewer rows than chunks has as many chunks as rows: heads after the rows belong to the other operand.
// CHECK-LABEL: func.func @heads(
// CHECK: ppc.split %{{.*}} dim 1 : tensor<1x2x4xf32> to tensor<1x1x4xf32>, tensor<1x1x4xf32>
// CHECK-NOT: ppc.split
// CHECK-COUNT-2: ppc.matmul "bsf,hdf->bshd" {{.*}} -> tensor<1x1x4x6xf32>
// CHECK: ppc.concat {{.*}} dim 1 : tensor<1x1x4x6xf32>, tensor<1x1x4x6xf32> to tensor<1x2x4x6xf32>
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, overlap = true, pieces = 5>} {
  ppcrt.program @train grid <pp = 1, tp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x2x4xf32> slots 1
      ppcrt.buffer @w parameter "w" : memref<4x6x4xf32> sharding <[{}, {}, {tp}]>
      ppcrt.buffer @h saved : memref<1x2x4x6xf32> slots 1
      ppcrt.routine @forward forward code @heads reads [@x, @w] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @heads(%x: tensor<1x2x4xf32>, %w: tensor<4x6x4xf32>) -> tensor<1x2x4x6xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bsf,hdf->bshd" %x, %w : (tensor<1x2x4xf32>, tensor<4x6x4xf32>) -> tensor<1x2x4x6xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <sum> : tensor<1x2x4x6xf32>
    return %1 : tensor<1x2x4x6xf32>
  }
}

// -----

// With a reduce-scatter a chunk has a part of each rank's block: rows 0 and 3 of six on two ranks, then the others. Two sequences are
// chunks before rows are. Padded blocks, and gradients of weights, are not chunked.
// CHECK-LABEL: func.func @scattered(
// CHECK: %[[P:.*]]:2 = ppc.split %arg0 dim 1 runs 2 : tensor<1x6x4xf32> to tensor<1x2x4xf32>, tensor<1x4x4xf32>
// CHECK-NEXT: %[[A:.*]] = ppc.matmul "bsf,hf->bsh" %[[P]]#0, %arg1 : {{.*}} -> tensor<1x2x6xf32>
// CHECK-NEXT: %[[B:.*]] = ppc.reduce_scatter %[[A]] dim 1 over ["tp"] <sum> : tensor<1x2x6xf32> to tensor<1x1x6xf32>
// CHECK-NEXT: %[[C:.*]] = ppc.matmul "bsf,hf->bsh" %[[P]]#1, %arg1 : {{.*}} -> tensor<1x4x6xf32>
// CHECK-NEXT: %[[D:.*]] = ppc.reduce_scatter %[[C]] dim 1 over ["tp"] <sum> : tensor<1x4x6xf32> to tensor<1x2x6xf32>
// CHECK-NEXT: ppc.concat %[[B]], %[[D]] dim 1 : {{.*}} to tensor<1x3x6xf32>
// CHECK: ppc.split %arg2 dim 0 : tensor<2x6x4xf32> to tensor<1x6x4xf32>, tensor<1x6x4xf32>
// CHECK-COUNT-2: ppc.reduce_scatter {{.*}} : tensor<1x6x6xf32> to tensor<1x3x6xf32>
// CHECK: ppc.reduce_scatter {{.*}} : tensor<1x5x6xf32> to tensor<1x3x6xf32>
// CHECK: ppc.reduce_scatter {{.*}} : tensor<6x6xf32> to tensor<3x6xf32>
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, overlap = true, pieces = 2>} {
  ppcrt.program @train grid <pp = 1, tp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x6x4xf32> slots 1
      ppcrt.buffer @w parameter "w" : memref<6x4xf32> sharding <[{}, {tp}]>
      ppcrt.buffer @y input "y" : memref<2x6x4xf32> slots 1
      ppcrt.buffer @z input "z" : memref<1x5x4xf32> slots 1
      ppcrt.buffer @h saved : memref<1x3x6xf32> slots 1
      ppcrt.buffer @i saved : memref<2x3x6xf32> slots 1
      ppcrt.buffer @j saved : memref<1x3x6xf32> slots 1
      ppcrt.buffer @g saved : memref<3x6xf32> slots 1
      ppcrt.routine @forward forward code @scattered reads [@x, @w, @y, @z] writes [@h, @i, @j, @g]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @scattered(%x: tensor<1x6x4xf32>, %w: tensor<6x4xf32>, %y: tensor<2x6x4xf32>, %z: tensor<1x5x4xf32>) -> (tensor<1x3x6xf32>, tensor<2x3x6xf32>, tensor<1x3x6xf32>, tensor<3x6xf32>) attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bsf,hf->bsh" %x, %w : (tensor<1x6x4xf32>, tensor<6x4xf32>) -> tensor<1x6x6xf32>
    %1 = ppc.reduce_scatter %0 dim 1 over ["tp"] <sum> : tensor<1x6x6xf32> to tensor<1x3x6xf32>
    %2 = ppc.matmul "bsf,hf->bsh" %y, %w : (tensor<2x6x4xf32>, tensor<6x4xf32>) -> tensor<2x6x6xf32>
    %3 = ppc.reduce_scatter %2 dim 1 over ["tp"] <sum> : tensor<2x6x6xf32> to tensor<2x3x6xf32>
    %4 = ppc.matmul "bsf,hf->bsh" %z, %w : (tensor<1x5x4xf32>, tensor<6x4xf32>) -> tensor<1x5x6xf32>
    %5 = ppc.reduce_scatter %4 dim 1 over ["tp"] <sum> : tensor<1x5x6xf32> to tensor<1x3x6xf32>
    %6 = ppc.matmul "sf,hf->sh" %w, %w {ppc.part = #ppc.part<weight_gradient>} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
    %7 = ppc.reduce_scatter %6 dim 0 over ["tp"] <sum> {ppc.part = #ppc.part<weight_gradient>} : tensor<6x6xf32> to tensor<3x6xf32>
    return %1, %3, %5, %7 : tensor<1x3x6xf32>, tensor<2x3x6xf32>, tensor<1x3x6xf32>, tensor<3x6xf32>
  }
}

// -----

// The block of the last rank is nothing but padding.
// CHECK-LABEL: func.func @padding(
// CHECK-NOT: ppc.split
// CHECK: ppc.reduce_scatter {{.*}} : tensor<1x4x6xf32> to tensor<1x2x6xf32>
module attributes {ppc.plan = #ppc.plan<grid = <tp = 3>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, overlap = true, pieces = 2>} {
  ppcrt.program @train grid <pp = 1, tp = 3> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x4x4xf32> slots 1
      ppcrt.buffer @w parameter "w" : memref<6x4xf32> sharding <[{}, {tp}]>
      ppcrt.buffer @h saved : memref<1x2x6xf32> slots 1
      ppcrt.routine @forward forward code @padding reads [@x, @w] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @padding(%x: tensor<1x4x4xf32>, %w: tensor<6x4xf32>) -> tensor<1x2x6xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bsf,hf->bsh" %x, %w : (tensor<1x4x4xf32>, tensor<6x4xf32>) -> tensor<1x4x6xf32>
    %1 = ppc.reduce_scatter %0 dim 1 over ["tp"] <sum> : tensor<1x4x6xf32> to tensor<1x2x6xf32>
    return %1 : tensor<1x2x6xf32>
  }
}

// -----

// Blocks that rotate over the ranks go to one matmul, which is not chunked.
// CHECK-LABEL: func.func @rotated(
// CHECK-NEXT: ppc.all_gather {{.*}} rotated
// CHECK-NEXT: ppc.matmul
// CHECK-NEXT: ppc.all_reduce
// CHECK-NEXT: return
module attributes {ppc.plan = #ppc.plan<grid = <dp = 2, tp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, update = ["dp"], overlap = true, storage = ["dp"], rotate = true, pieces = 2>} {
  ppcrt.program @train grid <pp = 1, dp = 2, tp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x5x4xf32> slots 1
      ppcrt.buffer @w parameter "w" : memref<3x4xf32> sharding <[{dp}, {tp}]>
      ppcrt.buffer @h saved : memref<1x5x6xf32> slots 1
      ppcrt.routine @forward forward code @rotated reads [@x, @w] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @rotated(%x: tensor<1x5x4xf32>, %w: tensor<3x4xf32>) -> tensor<1x5x6xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.all_gather %w dim 0 over ["dp"] rotated : tensor<3x4xf32> to tensor<6x4xf32>
    %1 = ppc.matmul "bsf,hf->bsh" %x, %0 : (tensor<1x5x4xf32>, tensor<6x4xf32>) -> tensor<1x5x6xf32>
    %2 = ppc.all_reduce %1 over ["tp"] <sum> : tensor<1x5x6xf32>
    return %2 : tensor<1x5x6xf32>
  }
}
