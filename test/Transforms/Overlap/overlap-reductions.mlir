// Gradients of three layers: each is reduced while the code continues with the next layer. The loss stays in the update.
// RUN: ppc-opt %s --ppc-overlap-reductions=buckets=2 --ppc-verify-program | FileCheck %s
// RUN: ppc-opt %s --ppc-overlap-reductions=buckets=2 --ppc-verify-program --remarks-filter=ppc-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// By cost: a collective takes far longer here than all of the work that is left, so that one comes after it.
// RUN: ppc-opt %s --ppc-overlap-reductions=cluster=dgx-h100 --ppc-verify-program | FileCheck %s --check-prefix=COST

// REMARK: device 0: 2 gradients are reduced over [dp] in 2 buckets, overlapped with the last micro-batch
// REMARK: device 0: 1 gradients are reduced over [dp] in 1 buckets, overlapped with the last micro-batch

// COST-NOT: ppcrt.collective

// CHECK: ppcrt.stream @compute
// CHECK-NEXT: ppcrt.stream @dp_comm
// CHECK: ppcrt.routine @backward backward code @gradient reads [@x, @h, @loss, @u, @v, @w] writes [@loss, @u, @v, @w] early {{\[\[}}@u], [@w]]
// CHECK: ppcrt.routine @update update code @step reads [@loss, @u, @part, @w] writes [@mean, @u, @w, @part]
// CHECK: ppcrt.run @backward micro_batch 0 on @compute
// CHECK: %[[B:.*]]:3 = ppcrt.run @backward micro_batch 1 on @compute
// CHECK-NEXT: ppcrt.collective all_reduce sum group @[[DP:.*]] reads [@u] writes [@u] after(%[[B]]#0) on @dp_comm
// CHECK-NEXT: ppcrt.collective all_reduce sum group @[[DP]] reads [@w] writes [@w] after(%[[B]]#1) on @dp_comm
// CHECK-NEXT: %[[LAST:.*]] = ppcrt.collective reduce_scatter sum group @[[DP]] reads [@v] writes [@part] after(%[[B]]#2) on @dp_comm
// CHECK-NEXT: ppcrt.run @update after(%[[LAST]]) on @compute
// CHECK: func.func @gradient
// CHECK: %[[U:.*]] = ppc.add {{.*}} : tensor<4x4xf32>
// CHECK-NEXT: ppcrt.reach 0(%[[U]] : tensor<4x4xf32>) {ppc.layer = 3 : i64}
// CHECK: %[[W:.*]] = ppc.add {{.*}} : tensor<4x4xf32>
// CHECK-NEXT: ppcrt.reach 1(%[[W]] : tensor<4x4xf32>) {ppc.layer = 2 : i64}
// CHECK: func.func @step({{.*}}: tensor<f32>, %[[UR:.*]]: tensor<4x4xf32>, %[[VR:.*]]: tensor<2x4xf32>, %[[WR:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: %[[LOSS:.*]] = ppc.all_reduce
// CHECK-NEXT: return %[[LOSS]], %[[UR]], %[[WR]], %[[VR]]

module {
  ppcrt.program @train grid <pp = 1, dp = 2> micro_batches 2 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<1x4xf32> sharding <[{dp}, {}]> slots 1
      ppcrt.buffer @h saved : memref<1x4xf32> slots 1
      ppcrt.buffer @loss accumulator : memref<f32>
      ppcrt.buffer @u gradient "u" : memref<4x4xf32>
      ppcrt.buffer @v accumulator : memref<4x4xf32>
      ppcrt.buffer @w gradient "w" : memref<4x4xf32>
      ppcrt.buffer @part gradient "v" : memref<2x4xf32>
      ppcrt.buffer @mean metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @keep reads [@x] writes [@h]
      ppcrt.routine @backward backward code @gradient reads [@x, @h, @loss, @u, @v, @w] writes [@loss, @u, @v, @w]
      ppcrt.routine @update update code @step reads [@loss, @u, @v, @w] writes [@mean, @u, @w, @part]
      ppcrt.routine @evaluate evaluate code @average reads [@loss] writes [@mean]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.run @backward micro_batch 0 on @compute
        %3 = ppcrt.load micro_batch 1 on @compute
        %4 = ppcrt.run @forward micro_batch 1 on @compute
        %5 = ppcrt.run @backward micro_batch 1 on @compute
        %6 = ppcrt.run @update on @compute
      }
    }
  }
  func.func @keep(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.silu %x {ppc.layer = 0 : i64} : tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
  func.func @gradient(%x: tensor<1x4xf32>, %h: tensor<1x4xf32>, %loss: tensor<f32>, %u: tensor<4x4xf32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>)
      -> (tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.squared_norm %h {ppc.layer = 3 : i64} : tensor<1x4xf32> to tensor<f32>
    %1 = ppc.add %loss, %0 {ppc.layer = 3 : i64} : tensor<f32>
    %2 = ppc.matmul "bf,bg->fg" %h, %h {ppc.layer = 3 : i64} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %3 = ppc.add %u, %2 {ppc.layer = 3 : i64} : tensor<4x4xf32>
    %4 = ppc.silu %h {ppc.layer = 2 : i64} : tensor<1x4xf32>
    %5 = ppc.matmul "bf,bg->fg" %4, %h {ppc.layer = 2 : i64} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %6 = ppc.add %w, %5 {ppc.layer = 2 : i64} : tensor<4x4xf32>
    %7 = ppc.matmul "bf,bg->fg" %4, %x {ppc.layer = 1 : i64} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    %8 = ppc.add %v, %7 {ppc.layer = 1 : i64} : tensor<4x4xf32>
    return %1, %3, %8, %6 : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.func @step(%loss: tensor<f32>, %u: tensor<4x4xf32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>)
      -> (tensor<f32>, tensor<4x4xf32> {ppc.destination = 1 : i64}, tensor<4x4xf32> {ppc.destination = 3 : i64}, tensor<2x4xf32>)
      attributes {ppcrt.routine = "update"} {
    %0 = ppc.all_reduce %loss over ["dp"] <sum> : tensor<f32>
    %1 = ppc.all_reduce %u over ["dp"] <sum> : tensor<4x4xf32>
    %2 = ppc.reduce_scatter %v dim 0 over ["dp"] <sum> : tensor<4x4xf32> to tensor<2x4xf32>
    %3 = ppc.all_reduce %w over ["dp"] <sum> : tensor<4x4xf32>
    return %0, %1, %3, %2 : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>
  }
  func.func @average(%loss: tensor<f32>) -> tensor<f32> attributes {ppcrt.routine = "evaluate"} {
    %0 = ppc.all_reduce %loss over ["dp"] <sum> : tensor<f32>
    return %0 : tensor<f32>
  }
}
