// The actions of two devices and three micro-batches. A routine that a device lacks (no backward on device 0) is left out,
// messages stand next to the routines that make or use them, on a stream for each direction, and tokens are those that the order
// on a stream does not imply.
// RUN: ppc-opt %s --split-input-file --ppc-apply-schedule --ppc-verify-program | FileCheck %s

// 1F1B on device 0, two slots: F0 F1 | W0 F2 | W1 W2. The forward of micro-batch 2 overwrites what micro-batch 0 sends.
// CHECK-LABEL: ppcrt.device @device0
// CHECK:      ppcrt.stream @compute
// CHECK-NEXT: ppcrt.stream @to1
// CHECK-NEXT: ppcrt.stream @from1
// CHECK-NEXT: ppcrt.buffer @x input "x" : memref<2xf32> slots 2
// CHECK:      ppcrt.step {
// CHECK-NEXT:   ppcrt.load micro_batch 0 on @compute
// CHECK-NEXT:   %[[F0:.*]] = ppcrt.run @forward micro_batch 0 on @compute
// CHECK-NEXT:   %[[S0:.*]] = ppcrt.send @down micro_batch 0 after(%[[F0]]) on @to1
// CHECK-NEXT:   ppcrt.load micro_batch 1 on @compute
// CHECK-NEXT:   %[[F1:.*]] = ppcrt.run @forward micro_batch 1 on @compute
// CHECK-NEXT:   ppcrt.send @down micro_batch 1 after(%[[F1]]) on @to1
// CHECK-NEXT:   %[[R0:.*]] = ppcrt.receive @up micro_batch 0 on @from1
// CHECK-NEXT:   %[[W0:.*]] = ppcrt.run @weight micro_batch 0 after(%[[R0]]) on @compute
// CHECK-NEXT:   ppcrt.load micro_batch 2 on @compute
// CHECK-NEXT:   %[[F2:.*]] = ppcrt.run @forward micro_batch 2 after(%[[S0]]) on @compute
// CHECK-NEXT:   ppcrt.send @down micro_batch 2 after(%[[F2]]) on @to1
// CHECK-NEXT:   %[[R1:.*]] = ppcrt.receive @up micro_batch 1 on @from1
// CHECK-NEXT:   ppcrt.run @weight micro_batch 1 after(%[[R1]]) on @compute
// CHECK-NEXT:   %[[R2:.*]] = ppcrt.receive @up micro_batch 2 after(%[[W0]]) on @from1
// CHECK-NEXT:   ppcrt.run @weight micro_batch 2 after(%[[R2]]) on @compute
// CHECK-NEXT:   ppcrt.run @update on @compute
// CHECK-NEXT: }
// The evaluation: forwards, and the messages that forwards use.
// CHECK-NEXT: ppcrt.evaluate {
// CHECK-NOT:    @up
// CHECK-COUNT-3: ppcrt.send @down
// CHECK-NEXT:   ppcrt.run @evaluate on @compute
// Device 1, one slot: F0 B0 W0 | F1 B1 W1 | F2 B2 W2; the gradient leaves before W.
// CHECK-LABEL: ppcrt.device @device1
// CHECK:      ppcrt.step {
// CHECK-NEXT:   %[[R0:.*]] = ppcrt.receive @down micro_batch 0 on @from0
// CHECK-NEXT:   ppcrt.run @forward micro_batch 0 after(%[[R0]]) on @compute
// CHECK-NEXT:   %[[B0:.*]] = ppcrt.run @backward micro_batch 0 on @compute
// CHECK-NEXT:   %[[S0:.*]] = ppcrt.send @up micro_batch 0 after(%[[B0]]) on @to0
// CHECK-NEXT:   %[[W0:.*]] = ppcrt.run @weight micro_batch 0 on @compute
// CHECK-NEXT:   %[[R1:.*]] = ppcrt.receive @down micro_batch 1 after(%[[W0]]) on @from0
// CHECK-NEXT:   ppcrt.run @forward micro_batch 1 after(%[[R1]]) on @compute
// CHECK-NEXT:   ppcrt.run @backward micro_batch 1 after(%[[S0]]) on @compute
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "1f1b", micro_batches = 3, dimensions = {}, parameters = {}>} {
  ppcrt.program @train grid <pp = 2> micro_batches 3 {
    ppcrt.device @device0 at 0 {
      ppcrt.buffer @x input "x" : memref<2xf32> slots 1
      ppcrt.buffer @h saved : memref<2xf32> slots 1
      ppcrt.buffer @g message : memref<2xf32> slots 1
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h]
      ppcrt.routine @weight weight_gradient code @weight0 reads [@g] writes []
      ppcrt.routine @update update code @update reads [] writes [@loss]
      ppcrt.routine @evaluate evaluate code @evaluate reads [] writes [@loss]
    }
    ppcrt.device @device1 at 1 {
      ppcrt.buffer @h message : memref<2xf32> slots 1
      ppcrt.buffer @g saved : memref<2xf32> slots 1
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward1 reads [@h] writes []
      ppcrt.routine @backward backward code @backward1 reads [] writes [@g]
      ppcrt.routine @weight weight_gradient code @weight0 reads [@h] writes []
      ppcrt.routine @update update code @update reads [] writes [@loss]
      ppcrt.routine @evaluate evaluate code @evaluate reads [] writes [@loss]
    }
    ppcrt.message @down from @device0::@h after @forward to @device1::@h before @forward
    ppcrt.message @up from @device1::@g after @backward to @device0::@g before @weight
  }
  func.func @forward0(%x: tensor<2xf32>) -> tensor<2xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<2xf32>
  }
  func.func @forward1(%x: tensor<2xf32>) attributes {ppcrt.routine = "forward"} {
    return
  }
  func.func @backward1() -> tensor<2xf32> attributes {ppcrt.routine = "backward"} {
    %0 = ppc.constant dense<1.0> : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @weight0(%g: tensor<2xf32>) attributes {ppcrt.routine = "weight_gradient"} {
    return
  }
  func.func @update() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @evaluate() -> tensor<f32> attributes {ppcrt.routine = "evaluate"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// ZB2P on the first of two devices, four micro-batches: F0 F1 F2 B0 W0 F3 B1 W1 .. keeps three from F to W. What backward makes of one for
// its weight gradient is gone before the next backward, and what forward makes for itself before the next forward.
// CHECK-LABEL: ppcrt.device @device0
// CHECK:      ppcrt.buffer @x input "x" : memref<2xf32> slots 3
// CHECK-NEXT: ppcrt.buffer @h saved : memref<2xf32> slots 3
// CHECK-NEXT: ppcrt.buffer @kept saved : memref<2xf32> slots 3
// CHECK-NEXT: ppcrt.buffer @between saved : memref<2xf32> slots 1
// CHECK-NEXT: ppcrt.buffer @g message : memref<2xf32> slots 3
// On the second W is deferred: F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3.
// CHECK-LABEL: ppcrt.device @device1
// CHECK:      ppcrt.buffer @h message : memref<2xf32> slots 3
// CHECK-NEXT: ppcrt.buffer @kept saved : memref<2xf32> slots 1
// CHECK-NEXT: ppcrt.buffer @between saved : memref<2xf32> slots 3
// CHECK-NEXT: ppcrt.buffer @g saved : memref<2xf32> slots 3
module attributes {ppc.plan = #ppc.plan<grid = <>, stages = [0, 1], schedule = "zb2p", micro_batches = 4, dimensions = {}, parameters = {}>} {
  ppcrt.program @train grid <pp = 2> micro_batches 4 {
    ppcrt.device @device0 at 0 {
      ppcrt.buffer @x input "x" : memref<2xf32> slots 1
      ppcrt.buffer @h saved : memref<2xf32> slots 1
      ppcrt.buffer @kept saved : memref<2xf32> slots 1
      ppcrt.buffer @between saved : memref<2xf32> slots 1
      ppcrt.buffer @g message : memref<2xf32> slots 1
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward0 reads [@x] writes [@h, @kept]
      ppcrt.routine @backward backward code @backward0 reads [@g, @kept] writes [@between]
      ppcrt.routine @weight weight_gradient code @weight0 reads [@between] writes []
      ppcrt.routine @update update code @update reads [] writes [@loss]
    }
    ppcrt.device @device1 at 1 {
      ppcrt.buffer @h message : memref<2xf32> slots 1
      ppcrt.buffer @kept saved : memref<2xf32> slots 1
      ppcrt.buffer @between saved : memref<2xf32> slots 1
      ppcrt.buffer @g saved : memref<2xf32> slots 1
      ppcrt.buffer @loss metric "loss" : memref<f32>
      ppcrt.routine @forward forward code @forward1 reads [@h] writes [@kept]
      ppcrt.routine @backward backward code @backward1 reads [@kept] writes [@g, @between]
      ppcrt.routine @weight weight_gradient code @weight0 reads [@between] writes []
      ppcrt.routine @update update code @update reads [] writes [@loss]
    }
    ppcrt.message @down from @device0::@h after @forward to @device1::@h before @forward
    ppcrt.message @up from @device1::@g after @backward to @device0::@g before @backward
  }
  func.func @forward0(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {ppcrt.routine = "forward"} {
    return %x, %x : tensor<2xf32>, tensor<2xf32>
  }
  func.func @backward0(%g: tensor<2xf32>, %kept: tensor<2xf32>) -> tensor<2xf32> attributes {ppcrt.routine = "backward"} {
    %0 = ppc.add %g, %kept : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @forward1(%h: tensor<2xf32>) -> tensor<2xf32> attributes {ppcrt.routine = "forward"} {
    return %h : tensor<2xf32>
  }
  func.func @backward1(%kept: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {ppcrt.routine = "backward"} {
    return %kept, %kept : tensor<2xf32>, tensor<2xf32>
  }
  func.func @weight0(%g: tensor<2xf32>) attributes {ppcrt.routine = "weight_gradient"} {
    return
  }
  func.func @update() -> tensor<f32> attributes {ppcrt.routine = "update"} {
    %0 = ppc.constant dense<1.0> : tensor<f32>
    return %0 : tensor<f32>
  }
}
