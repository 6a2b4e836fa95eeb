// The number of chunks, by cost (PieceTimes.cpp): the last matmul of the feed-forward layer of Llama-3 over tp ranks, sequences of
// 8,192 tokens.
// RUN: ppc-opt %s --split-input-file --ppc-cut-products=cluster=dgx-h100 | FileCheck %s
// RUN: ppc-opt %s --split-input-file --ppc-cut-products=cluster=dgx-h100 --remarks-filter=ppc-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=H100
// RUN: ppc-opt %s --split-input-file --ppc-cut-products=cluster=dgx-a100 --remarks-filter=ppc-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=A100

// 8B over eight ranks: half of the matmul, 88 us, is less than the extra time of two sums.
// CHECK-LABEL: func.func @short(
// CHECK-NOT: ppc.split
// H100: short: 1 collectives run unchunked after their matmuls, which leaves 619 us of them exposed; 633 us would be if chunked: the matmuls take 177 us, the collectives 619 us, and 715 us if chunked
// Between steps' kernels the links of A100 are slower than in the loops in which they were measured (collective_share).
// A100: short: 1 collectives are chunked and overlapped with their matmuls, which leaves 1.67 ms of them exposed instead of 1.7 ms
module attributes {ppc.plan = #ppc.plan<grid = <tp = 8>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, overlap = true>, ppc.precision = "bf16"} {
  ppcrt.program @train grid <pp = 1, tp = 8> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x8192x1792xbf16> slots 1
      ppcrt.buffer @w parameter "w" : memref<4096x1792xbf16> sharding <[{}, {tp}]>
      ppcrt.buffer @h saved : memref<1x8192x4096xf32> slots 1
      ppcrt.routine @forward forward code @short reads [@x, @w] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @short(%x: tensor<1x8192x1792xbf16>, %w: tensor<4096x1792xbf16>) -> tensor<1x8192x4096xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bsf,hf->bsh" %x, %w : (tensor<1x8192x1792xbf16>, tensor<4096x1792xbf16>) -> tensor<1x8192x4096xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <sum> : tensor<1x8192x4096xf32>
    return %1 : tensor<1x8192x4096xf32>
  }
}

// -----

// 70B over eight ranks: neither two chunks nor as many as possible.
// CHECK-LABEL: func.func @deep(
// CHECK-COUNT-3: ppc.all_reduce
// CHECK-NOT: ppc.all_reduce
// H100: deep: 1 collectives are chunked and overlapped with their matmuls, which leaves 897 us of them exposed instead of 1.13 ms
module attributes {ppc.plan = #ppc.plan<grid = <tp = 8>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, overlap = true>, ppc.precision = "bf16"} {
  ppcrt.program @train grid <pp = 1, tp = 8> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x8192x3584xbf16> slots 1
      ppcrt.buffer @w parameter "w" : memref<8192x3584xbf16> sharding <[{}, {tp}]>
      ppcrt.buffer @h saved : memref<1x8192x8192xf32> slots 1
      ppcrt.routine @forward forward code @deep reads [@x, @w] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @deep(%x: tensor<1x8192x3584xbf16>, %w: tensor<8192x3584xbf16>) -> tensor<1x8192x8192xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bsf,hf->bsh" %x, %w : (tensor<1x8192x3584xbf16>, tensor<8192x3584xbf16>) -> tensor<1x8192x8192xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <sum> : tensor<1x8192x8192xf32>
    return %1 : tensor<1x8192x8192xf32>
  }
}

// -----

// 8B over two ranks: the matmul takes longer than its sum, of which half is hidden.
// CHECK-LABEL: func.func @long(
// CHECK-COUNT-4: ppc.all_reduce
// CHECK-NOT: ppc.all_reduce
// H100: long: 1 collectives are chunked and overlapped with their matmuls, which leaves 292 us of them exposed instead of 573 us
module attributes {ppc.plan = #ppc.plan<grid = <tp = 2>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, overlap = true>, ppc.precision = "bf16"} {
  ppcrt.program @train grid <pp = 1, tp = 2> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x8192x7168xbf16> slots 1
      ppcrt.buffer @w parameter "w" : memref<4096x7168xbf16> sharding <[{}, {tp}]>
      ppcrt.buffer @h saved : memref<1x8192x4096xf32> slots 1
      ppcrt.routine @forward forward code @long reads [@x, @w] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @long(%x: tensor<1x8192x7168xbf16>, %w: tensor<4096x7168xbf16>) -> tensor<1x8192x4096xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bsf,hf->bsh" %x, %w : (tensor<1x8192x7168xbf16>, tensor<4096x7168xbf16>) -> tensor<1x8192x4096xf32>
    %1 = ppc.all_reduce %0 over ["tp"] <sum> : tensor<1x8192x4096xf32>
    return %1 : tensor<1x8192x4096xf32>
  }
}

// -----

// 70B with a reduce-scatter: a shorter collective, and rows of chunks are copied.
// CHECK-LABEL: func.func @scattered(
// CHECK: ppc.split %{{.*}} dim 1 runs 8
// CHECK-COUNT-3: ppc.reduce_scatter
// CHECK-NOT: ppc.reduce_scatter
// H100: scattered: 1 collectives are chunked and overlapped with their matmuls, which leaves 471 us of them exposed instead of 746 us
module attributes {ppc.plan = #ppc.plan<grid = <tp = 8>, stages = [0], schedule = "gpipe", micro_batches = 1, dimensions = {}, parameters = {}, overlap = true>, ppc.precision = "bf16"} {
  ppcrt.program @train grid <pp = 1, tp = 8> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x8192x3584xbf16> slots 1
      ppcrt.buffer @w parameter "w" : memref<8192x3584xbf16> sharding <[{}, {tp}]>
      ppcrt.buffer @h saved : memref<1x1024x8192xf32> slots 1
      ppcrt.routine @forward forward code @scattered reads [@x, @w] writes [@h]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
      }
    }
  }
  func.func @scattered(%x: tensor<1x8192x3584xbf16>, %w: tensor<8192x3584xbf16>) -> tensor<1x1024x8192xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.matmul "bsf,hf->bsh" %x, %w : (tensor<1x8192x3584xbf16>, tensor<8192x3584xbf16>) -> tensor<1x8192x8192xf32>
    %1 = ppc.reduce_scatter %0 dim 1 over ["tp"] <sum> : tensor<1x8192x8192xf32> to tensor<1x1024x8192xf32>
    return %1 : tensor<1x1024x8192xf32>
  }
}

