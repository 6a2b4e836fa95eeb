// State on the host, updated in buckets of at most 1/32 of it, but whole tensors: here each matrix is one.
// RUN: ppc-opt %s --ppc-offload-optimizer | FileCheck %s
// RUN: ppc-opt %s --ppc-offload-optimizer --remarks-filter=ppc-offload -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: ppc-opt %s --ppc-offload-optimizer --ppc-verify-program -o /dev/null
// Without the word in the plan nothing changes.
// RUN: sed 's/, offload = "optimizer"//' %s | ppc-opt --ppc-offload-optimizer | FileCheck %s --check-prefix=NONE
// NONE-NOT: memory host
// NONE-NOT: copies

// REMARK: device 0: 416 B of 8 optimizer tensors are offloaded to the host, and are updated in 3 buckets

// Values that micro-batches read stay, as do gradients; `w1` and `w2` are read rounded alone.
// CHECK: ppcrt.device @device0
// CHECK: ppcrt.stream @copies
// CHECK: ppcrt.buffer @w1 parameter "w1" : memref<4x4xf32> memory host
// CHECK-DAG: ppcrt.buffer @w1.prepare gathered : memref<4x4xf32>
// CHECK-DAG: ppcrt.buffer @w1.update gathered : memref<4x4xf32>
// CHECK: ppcrt.buffer @m1 state "w1" state "m" : memref<4x4xf32> memory host
// CHECK: ppcrt.buffer @n parameter "n" : memref<4xf32>{{$}}
// CHECK: ppcrt.buffer @mn state "n" state "m" : memref<4xf32> memory host
// CHECK: ppcrt.buffer @g1 gradient "w1" : memref<4x4xf32>{{$}}
// The scale of the gradients goes from the update to the optimizers.
// CHECK: ppcrt.buffer @update.value0 prepared : memref<f32>
// CHECK: ppcrt.routine @update update code @device0.update reads [@g1, @g2, @gn] writes [@norm, @update.value0]
// CHECK: ppcrt.routine @update.1 update code @device0.update.1 reads [@w1.update, @g1, @m1.update, @v1.update, @rate, @number, @update.value0] writes [@w1.update, @m1.update, @v1.update]
// CHECK: ppcrt.routine @update.3 update code @device0.update.3 reads [@n, @gn, @mn.update, @vn.update, @rate, @number, @update.value0] writes [@n, @mn.update, @vn.update]

// Two buckets at a time: the third comes when the first has gone.
// CHECK: ppcrt.step {
// CHECK-NEXT: ppcrt.copy @w1 to @w1.prepare on @copies
// CHECK-NEXT: %[[P:.*]] = ppcrt.copy @w2 to @w2.prepare on @copies
// CHECK-NEXT: ppcrt.run @prepare after(%[[P]]) on @compute
// CHECK-NEXT: ppcrt.load micro_batch 0
// CHECK-NEXT: %[[LAST:.*]] = ppcrt.run @forward micro_batch 0
// CHECK-NEXT: ppcrt.copy @w1 to @w1.update after(%[[LAST]]) on @copies
// CHECK-NEXT: ppcrt.copy @m1 to @m1.update on @copies
// CHECK-NEXT: %[[IN1:.*]] = ppcrt.copy @v1 to @v1.update on @copies
// CHECK-NEXT: ppcrt.copy @w2 to @w2.update on @copies
// CHECK-NEXT: ppcrt.copy @m2 to @m2.update on @copies
// CHECK-NEXT: %[[IN2:.*]] = ppcrt.copy @v2 to @v2.update on @copies
// CHECK-NEXT: ppcrt.run @update on @compute
// CHECK-NEXT: %[[UP1:.*]] = ppcrt.run @update.1 after(%[[IN1]]) on @compute
// CHECK-NEXT: ppcrt.copy @w1.update to @w1 after(%[[UP1]]) on @copies
// CHECK-NEXT: ppcrt.copy @m1.update to @m1 on @copies
// CHECK-NEXT: ppcrt.copy @v1.update to @v1 on @copies
// CHECK-NEXT: ppcrt.copy @mn to @mn.update on @copies
// CHECK-NEXT: %[[IN3:.*]] = ppcrt.copy @vn to @vn.update on @copies
// CHECK-NEXT: %[[UP2:.*]] = ppcrt.run @update.2 after(%[[IN2]]) on @compute
// CHECK: %[[UP3:.*]] = ppcrt.run @update.3 after(%[[IN3]]) on @compute
// CHECK-NEXT: ppcrt.copy @mn.update to @mn after(%[[UP3]]) on @copies
// CHECK-NEXT: ppcrt.copy @vn.update to @vn on @copies

// CHECK: func.func @device0.update(%{{.*}}) -> (tensor<f32>, tensor<f32>)
// CHECK-COUNT-3: ppc.squared_norm
// CHECK: ppc.clip_scale
// CHECK-NOT: ppc.adamw
// CHECK: func.func @device0.update.1({{.*}}) -> (tensor<4x4xf32> {ppc.destination = 0 : i64}, tensor<4x4xf32> {ppc.destination = 2 : i64}, tensor<4x4xf32> {ppc.destination = 3 : i64})
// CHECK: ppc.adamw

module attributes {ppc.plan = #ppc.plan<grid = #ppc.grid<dp = 1>, stages = [0], schedule = "1f1b", micro_batches = 1, dimensions = {}, parameters = {}, offload = "optimizer">} {
  ppcrt.program @train grid #ppc.grid<pp = 1, dp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 1
      ppcrt.buffer @w1 parameter "w1" : memref<4x4xf32>
      ppcrt.buffer @m1 state "w1" state "m" : memref<4x4xf32>
      ppcrt.buffer @v1 state "w1" state "v" : memref<4x4xf32>
      ppcrt.buffer @w2 parameter "w2" : memref<4x4xf32>
      ppcrt.buffer @m2 state "w2" state "m" : memref<4x4xf32>
      ppcrt.buffer @v2 state "w2" state "v" : memref<4x4xf32>
      ppcrt.buffer @n parameter "n" : memref<4xf32>
      ppcrt.buffer @mn state "n" state "m" : memref<4xf32>
      ppcrt.buffer @vn state "n" state "v" : memref<4xf32>
      ppcrt.buffer @p1 prepared : memref<4x4xbf16>
      ppcrt.buffer @p2 prepared : memref<4x4xbf16>
      ppcrt.buffer @g1 gradient "w1" : memref<4x4xf32>
      ppcrt.buffer @g2 gradient "w2" : memref<4x4xf32>
      ppcrt.buffer @gn gradient "n" : memref<4xf32>
      ppcrt.buffer @rate scalar "learning_rate" : memref<f32>
      ppcrt.buffer @number scalar "step" : memref<f32>
      ppcrt.buffer @norm metric "grad_norm" : memref<f32>
      ppcrt.routine @prepare prepare code @device0.prepare reads [@w1, @w2] writes [@p1, @p2]
      ppcrt.routine @forward forward code @stage0.forward reads [@x, @p1, @p2, @n, @g1, @g2, @gn] writes [@g1, @g2, @gn]
      ppcrt.routine @update update code @device0.update reads [@g1, @g2, @gn, @w1, @m1, @v1, @rate, @number, @w2, @m2, @v2, @n, @mn, @vn] writes [@norm, @w1, @w2, @n, @m1, @m2, @mn, @v1, @v2, @vn]
      ppcrt.step {
        %0 = ppcrt.run @prepare on @compute
        %1 = ppcrt.load micro_batch 0 on @compute
        %2 = ppcrt.run @forward micro_batch 0 on @compute
        %3 = ppcrt.run @update on @compute
      }
    }
  }
  func.func @device0.prepare(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4x4xbf16>, tensor<4x4xbf16>) attributes {ppcrt.routine = "prepare"} {
    %0 = ppc.convert %a : tensor<4x4xf32> to tensor<4x4xbf16>
    %1 = ppc.convert %b : tensor<4x4xf32> to tensor<4x4xbf16>
    return %0, %1 : tensor<4x4xbf16>, tensor<4x4xbf16>
  }
  func.func @stage0.forward(%x: tensor<4xf32>, %p1: tensor<4x4xbf16>, %p2: tensor<4x4xbf16>, %n: tensor<4xf32>, %g1: tensor<4x4xf32>, %g2: tensor<4x4xf32>, %gn: tensor<4xf32>) -> (tensor<4x4xf32> {ppc.destination = 4 : i64}, tensor<4x4xf32> {ppc.destination = 5 : i64}, tensor<4xf32> {ppc.destination = 6 : i64}) attributes {ppcrt.routine = "forward"} {
    %0 = ppc.convert %p1 : tensor<4x4xbf16> to tensor<4x4xf32>
    %1 = ppc.convert %p2 : tensor<4x4xbf16> to tensor<4x4xf32>
    %2 = ppc.add %g1, %0 : tensor<4x4xf32>
    %3 = ppc.add %g2, %1 : tensor<4x4xf32>
    %4 = ppc.add %gn, %n : tensor<4xf32>
    return %2, %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
  }
  func.func @device0.update(%g1: tensor<4x4xf32>, %g2: tensor<4x4xf32>, %gn: tensor<4xf32>, %w1: tensor<4x4xf32>, %m1: tensor<4x4xf32>, %v1: tensor<4x4xf32>, %rate: tensor<f32>, %number: tensor<f32>,
      %w2: tensor<4x4xf32>, %m2: tensor<4x4xf32>, %v2: tensor<4x4xf32>, %n: tensor<4xf32>, %mn: tensor<4xf32>, %vn: tensor<4xf32>)
      -> (tensor<f32>, tensor<4x4xf32> {ppc.destination = 3 : i64}, tensor<4x4xf32> {ppc.destination = 8 : i64}, tensor<4xf32> {ppc.destination = 11 : i64},
          tensor<4x4xf32> {ppc.destination = 4 : i64}, tensor<4x4xf32> {ppc.destination = 9 : i64}, tensor<4xf32> {ppc.destination = 12 : i64},
          tensor<4x4xf32> {ppc.destination = 5 : i64}, tensor<4x4xf32> {ppc.destination = 10 : i64}, tensor<4xf32> {ppc.destination = 13 : i64}) attributes {ppcrt.routine = "update"} {
    %0 = ppc.squared_norm %g1 : tensor<4x4xf32> to tensor<f32>
    %1 = ppc.squared_norm %g2 : tensor<4x4xf32> to tensor<f32>
    %2 = ppc.squared_norm %gn : tensor<4xf32> to tensor<f32>
    %3 = ppc.sum %0, %1, %2 : tensor<f32>
    %4 = ppc.sqrt %3 : tensor<f32>
    %5 = ppc.clip_scale %4 max_norm 1.000000e+00 : tensor<f32>
    %a, %b, %c = ppc.adamw %w1, %g1, %m1, %v1, %rate, %number, %5 {beta1 = 9.000000e-01 : f64, beta2 = 9.500000e-01 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : tensor<4x4xf32>, tensor<f32>
    %d, %e, %f = ppc.adamw %w2, %g2, %m2, %v2, %rate, %number, %5 {beta1 = 9.000000e-01 : f64, beta2 = 9.500000e-01 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : tensor<4x4xf32>, tensor<f32>
    %h, %i, %j = ppc.adamw %n, %gn, %mn, %vn, %rate, %number, %5 {beta1 = 9.000000e-01 : f64, beta2 = 9.500000e-01 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : tensor<4xf32>, tensor<f32>
    return %4, %a, %d, %h, %b, %e, %i, %c, %f, %j : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
  }
}
