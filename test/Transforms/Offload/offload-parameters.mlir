// Three virtual stages, each computed forward once and backward once: their parameters are on the host in between.
// RUN: ppc-opt %s --ppc-offload-parameters --ppc-offload-optimizer | FileCheck %s
// RUN: ppc-opt %s --ppc-offload-parameters --remarks-filter=ppc-offload -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: ppc-opt %s --ppc-offload-parameters --ppc-offload-optimizer --ppc-verify-program -o /dev/null
// Without the word in the plan nothing changes.
// RUN: sed 's/, offload = "parameters"//' %s | ppc-opt --ppc-offload-parameters --ppc-offload-optimizer | FileCheck %s --check-prefix=NONE
// Two virtual stages would both be on the device anyway: a remark reports that nothing leaves.
// RUN: sed 's/chunk 2/chunk 1/' %s | ppc-opt --ppc-offload-parameters --remarks-filter=ppc-offload -o /dev/null 2>&1 | FileCheck %s --check-prefix=IDLE
// IDLE: offload parameters does nothing: no device has more than 2 virtual stages
// NONE-NOT: memory host
// NONE-NOT: ppcrt.copy

// REMARK: device 0: 192 B of 3 virtual stages have their parameters offloaded to the host, at most 64 B of one of them

// CHECK: ppcrt.stream @copies
// CHECK: ppcrt.buffer @w0 parameter "w0" : memref<4x4xf32> memory host
// CHECK-DAG: ppcrt.buffer @w0.forward gathered : memref<4x4xf32>
// CHECK-DAG: ppcrt.buffer @w0.backward gathered : memref<4x4xf32>
// CHECK-DAG: ppcrt.buffer @w0.update gathered : memref<4x4xf32>
// The last stage is computed in one go.
// CHECK: ppcrt.buffer @w2.fetched gathered : memref<4x4xf32>
// CHECK: ppcrt.routine @forward0 forward code @stage0.forward reads [@x, @w0.forward]
// CHECK: ppcrt.routine @backward2 backward chunk 2 code @stage2.backward reads [@b, @w2.fetched, @g2]
// CHECK: ppcrt.routine @backward0 backward code @stage0.backward reads [@x, @w0.backward, @g0]

// Two at a time: the parameters of a stage are reloaded when the stage before the last has completed.
// CHECK: ppcrt.step {
// CHECK: %[[W0:.*]] = ppcrt.copy @w0 to @w0.forward on @copies
// CHECK-NEXT: %[[W1:.*]] = ppcrt.copy @w1 to @w1.forward on @copies
// CHECK-NEXT: %[[F0:.*]] = ppcrt.run @forward0 micro_batch 0 after(%[[W0]]) on @compute
// CHECK-NEXT: %[[W2:.*]] = ppcrt.copy @w2 to @w2.fetched after(%[[F0]]) on @copies
// CHECK-NEXT: %[[F1:.*]] = ppcrt.run @forward1 micro_batch 0 after(%[[W1]]) on @compute
// CHECK-NEXT: %[[V1:.*]] = ppcrt.copy @w1 to @w1.backward after(%[[F1]]) on @copies
// CHECK-NEXT: ppcrt.run @forward2 micro_batch 0 after(%[[W2]]) on @compute
// CHECK-NEXT: %[[B2:.*]] = ppcrt.run @backward2 micro_batch 0 on @compute
// CHECK-NEXT: %[[V0:.*]] = ppcrt.copy @w0 to @w0.backward after(%[[B2]]) on @copies
// CHECK-NEXT: ppcrt.run @backward1 micro_batch 0 after(%[[V1]]) on @compute
// CHECK-NEXT: %[[B0:.*]] = ppcrt.run @backward0 micro_batch 0 after(%[[V0]]) on @compute
// Then they are updated in buckets.
// CHECK-NEXT: %[[U0:.*]] = ppcrt.copy @w0 to @w0.update after(%[[B0]]) on @copies
// CHECK: ppcrt.run @update{{.*}} after(%[[U0]])
// CHECK-NEXT: ppcrt.copy @w0.update to @w0 after

module attributes {ppc.plan = #ppc.plan<grid = #ppc.grid<dp = 1>, stages = [0, 1, 2], vp = 3, schedule = "breadth-first", micro_batches = 1, dimensions = {}, parameters = {}, offload = "parameters">} {
  ppcrt.program @train grid #ppc.grid<pp = 1, dp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "ids" : memref<4x4xf32> slots 1
      ppcrt.buffer @w0 parameter "w0" : memref<4x4xf32>
      ppcrt.buffer @m0 state "w0" state "m" : memref<4x4xf32>
      ppcrt.buffer @v0 state "w0" state "v" : memref<4x4xf32>
      ppcrt.buffer @w1 parameter "w1" : memref<4x4xf32>
      ppcrt.buffer @m1 state "w1" state "m" : memref<4x4xf32>
      ppcrt.buffer @v1 state "w1" state "v" : memref<4x4xf32>
      ppcrt.buffer @w2 parameter "w2" : memref<4x4xf32>
      ppcrt.buffer @m2 state "w2" state "m" : memref<4x4xf32>
      ppcrt.buffer @v2 state "w2" state "v" : memref<4x4xf32>
      ppcrt.buffer @g0 gradient "w0" : memref<4x4xf32>
      ppcrt.buffer @g1 gradient "w1" : memref<4x4xf32>
      ppcrt.buffer @g2 gradient "w2" : memref<4x4xf32>
      ppcrt.buffer @a saved : memref<4x4xf32> slots 1
      ppcrt.buffer @b saved : memref<4x4xf32> slots 1
      ppcrt.buffer @rate scalar "learning_rate" : memref<f32>
      ppcrt.buffer @number scalar "step" : memref<f32>
      ppcrt.buffer @scale scalar "scale" : memref<f32>
      ppcrt.routine @forward0 forward code @stage0.forward reads [@x, @w0] writes [@a]
      ppcrt.routine @forward1 forward chunk 1 code @stage1.forward reads [@a, @w1] writes [@b]
      ppcrt.routine @forward2 forward chunk 2 code @stage2.forward reads [@b, @w2] writes []
      ppcrt.routine @backward2 backward chunk 2 code @stage2.backward reads [@b, @w2, @g2] writes [@g2]
      ppcrt.routine @backward1 backward chunk 1 code @stage1.backward reads [@a, @w1, @g1] writes [@g1]
      ppcrt.routine @backward0 backward code @stage0.backward reads [@x, @w0, @g0] writes [@g0]
      ppcrt.routine @update update code @device0.update reads [@g0, @w0, @m0, @v0, @rate, @number, @scale, @g1, @w1, @m1, @v1, @g2, @w2, @m2, @v2] writes [@w0, @m0, @v0, @w1, @m1, @v1, @w2, @m2, @v2]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward0 micro_batch 0 on @compute
        %2 = ppcrt.run @forward1 micro_batch 0 on @compute
        %3 = ppcrt.run @forward2 micro_batch 0 on @compute
        %4 = ppcrt.run @backward2 micro_batch 0 on @compute
        %5 = ppcrt.run @backward1 micro_batch 0 on @compute
        %6 = ppcrt.run @backward0 micro_batch 0 on @compute
        %7 = ppcrt.run @update on @compute
      }
    }
  }
  func.func @stage0.forward(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.mul %x, %w : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage1.forward(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ppcrt.routine = "forward"} {
    %0 = ppc.mul %x, %w : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage2.forward(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @stage2.backward(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> (tensor<4x4xf32> {ppc.destination = 2 : i64}) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.sum %g, %x, %w : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage1.backward(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> (tensor<4x4xf32> {ppc.destination = 2 : i64}) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.sum %g, %x, %w : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @stage0.backward(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> (tensor<4x4xf32> {ppc.destination = 2 : i64}) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.sum %g, %x, %w : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @device0.update(%g0: tensor<4x4xf32>, %w0: tensor<4x4xf32>, %m0: tensor<4x4xf32>, %v0: tensor<4x4xf32>, %rate: tensor<f32>, %number: tensor<f32>, %scale: tensor<f32>,
      %g1: tensor<4x4xf32>, %w1: tensor<4x4xf32>, %m1: tensor<4x4xf32>, %v1: tensor<4x4xf32>, %g2: tensor<4x4xf32>, %w2: tensor<4x4xf32>, %m2: tensor<4x4xf32>, %v2: tensor<4x4xf32>)
      -> (tensor<4x4xf32> {ppc.destination = 1 : i64}, tensor<4x4xf32> {ppc.destination = 2 : i64}, tensor<4x4xf32> {ppc.destination = 3 : i64},
          tensor<4x4xf32> {ppc.destination = 8 : i64}, tensor<4x4xf32> {ppc.destination = 9 : i64}, tensor<4x4xf32> {ppc.destination = 10 : i64},
          tensor<4x4xf32> {ppc.destination = 12 : i64}, tensor<4x4xf32> {ppc.destination = 13 : i64}, tensor<4x4xf32> {ppc.destination = 14 : i64}) attributes {ppcrt.routine = "update"} {
    %a, %b, %c = ppc.adamw %w0, %g0, %m0, %v0, %rate, %number, %scale {beta1 = 9.000000e-01 : f64, beta2 = 9.500000e-01 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : tensor<4x4xf32>, tensor<f32>
    %d, %e, %f = ppc.adamw %w1, %g1, %m1, %v1, %rate, %number, %scale {beta1 = 9.000000e-01 : f64, beta2 = 9.500000e-01 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : tensor<4x4xf32>, tensor<f32>
    %h, %i, %j = ppc.adamw %w2, %g2, %m2, %v2, %rate, %number, %scale {beta1 = 9.000000e-01 : f64, beta2 = 9.500000e-01 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : tensor<4x4xf32>, tensor<f32>
    return %a, %b, %c, %d, %e, %f, %h, %i, %j : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}
