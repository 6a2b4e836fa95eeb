// RUN: split-file %s %t
// RUN: not ppc-opt %t/model.mlir --ppc-search-shardings="cluster=dgx-h100 tensor-parallel=16" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not ppc-opt %t/model.mlir --ppc-search-shardings="cluster=dgx-h9" 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not ppc-opt %t/model.mlir --ppc-search-shardings="dp=3" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not ppc-opt %t/model.mlir --ppc-search-shardings="tensor-parallel=2 memory-limit=1000" 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not ppc-opt %t/model.mlir --ppc-search-shardings="tensor-parallel=0" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not ppc-opt %t/model.mlir --ppc-phase-train --ppc-search-shardings="tensor-parallel=2" 2>&1 | FileCheck %s --check-prefix=REGION
// RUN: not ppc-opt %t/empty.mlir --ppc-search-shardings 2>&1 | FileCheck %s --check-prefix=NONE

// RANKS: error: the layout has 16 ranks, cluster 'dgx-h100' has 8 devices
// CLUSTER: error: {{.*}}dgx-h9
// BATCH: error: {{.*}}global batch of 4 sequences is not a multiple of dp 3 times micro-batch 1
// MEMORY: error: {{.*}}the least memory that any layouts need is {{[0-9.]+}} KiB per rank, 1000 B are given: use more ranks or smaller micro-batches
// AXIS: error: tensor-parallel has an axis of 0 ranks, expected 1 or more
// REGION: error: {{.*}}has a region: its layout can be searched before ppc-split-microbatches only
// NONE: error: expected one function that computes a loss, found 0

//--- model.mlir
func.func @loss(%x: tensor<4x8xf32> {ppc.input = "x", ppc.dims = ["batch", "hidden"]},
                %w: tensor<16x8xf32> {ppc.parameter = "w", ppc.dims = ["ffn", "hidden"]}) -> tensor<f32> {
  %0 = ppc.matmul "mk,nk->mn" %x, %w : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %1 = ppc.reduce #ppc.combiner<sum> %0 dims [0, 1] : tensor<4x16xf32> to tensor<f32>
  return %1 : tensor<f32>
}

//--- empty.mlir
module {}
