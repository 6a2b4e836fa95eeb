// Activations saved for backward are offloaded to the host and reloaded: here three micro-batches are in flight.
// Tokens that follow from others are not written (ActionTokens.cpp).
// RUN: ppc-opt %s --ppc-offload-activations | FileCheck %s
// RUN: ppc-opt %s --ppc-offload-activations --remarks-filter=ppc-offload -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: ppc-opt %s --ppc-offload-activations --ppc-verify-program -o /dev/null
// Without the word in the plan (OffloadedDevices.cpp), or with no more slots than are on the device anyway, nothing changes.
// RUN: sed 's/, offload = "activations"//' %s | ppc-opt --ppc-offload-activations | FileCheck %s --check-prefix=NONE
// RUN: sed 's/slots 3/slots 2/' %s | ppc-opt --ppc-offload-activations | FileCheck %s --check-prefix=NONE
// RUN: sed 's/slots 3/slots 2/' %s | ppc-opt --ppc-offload-activations --remarks-filter=ppc-offload -o /dev/null 2>&1 | FileCheck %s --check-prefix=IDLE
// IDLE: offload activations does nothing: no device keeps them for more micro-batches than stay on it
// NONE-NOT: memory host
// NONE-NOT: ppcrt.copy

// REMARK: device 0: 120 B of 2 saved activations are offloaded to the host, at most 80 B of them are on the device at a time

// One slot to write, one to read; loaded values stay, and so do values that are not forward's alone.
// CHECK: ppcrt.stream @offload
// CHECK: ppcrt.stream @fetch
// CHECK: ppcrt.buffer @x input "ids" : memref<4xf32> slots 3{{$}}
// CHECK: ppcrt.buffer @a saved : memref<4xf32> slots 1{{$}}
// CHECK: ppcrt.buffer @a.host saved : memref<4xf32> slots 3 memory host
// CHECK: ppcrt.buffer @a.back saved : memref<4xf32> slots 1{{$}}
// CHECK: ppcrt.buffer @b saved : memref<6xf32> slots 1{{$}}
// CHECK: ppcrt.routine @forward forward code @stage0.forward reads [@x] writes [@a, @b]
// CHECK: ppcrt.routine @backward backward code @stage0.backward reads [@x, @a.back, @b.back, @g] writes [@g]

// A forward waits for the copies of values that it overwrites; a reload waits for the backward that it follows.
// CHECK: ppcrt.step {
// CHECK-NEXT: ppcrt.load micro_batch 0
// CHECK-NEXT: %[[F0:.*]] = ppcrt.run @forward micro_batch 0 on @compute
// CHECK-NEXT: ppcrt.copy @a to @a.host micro_batch 0 after(%[[F0]]) on @offload
// CHECK-NEXT: %[[OUT0:.*]] = ppcrt.copy @b to @b.host micro_batch 0 on @offload
// CHECK-NEXT: ppcrt.copy @a.host to @a.back micro_batch 0 after(%[[OUT0]]) on @fetch
// CHECK-NEXT: %[[IN0:.*]] = ppcrt.copy @b.host to @b.back micro_batch 0 on @fetch
// CHECK-NEXT: ppcrt.load micro_batch 1
// CHECK-NEXT: %[[F1:.*]] = ppcrt.run @forward micro_batch 1 after(%[[OUT0]]) on @compute
// CHECK-NEXT: ppcrt.copy @a to @a.host micro_batch 1 after(%[[F1]]) on @offload
// CHECK-NEXT: %[[OUT1:.*]] = ppcrt.copy @b to @b.host micro_batch 1 on @offload
// CHECK-NEXT: ppcrt.load micro_batch 2
// CHECK-NEXT: %[[F2:.*]] = ppcrt.run @forward micro_batch 2 after(%[[OUT1]]) on @compute
// CHECK-NEXT: ppcrt.copy @a to @a.host micro_batch 2 after(%[[F2]]) on @offload
// CHECK-NEXT: %[[OUT2:.*]] = ppcrt.copy @b to @b.host micro_batch 2 on @offload
// CHECK-NEXT: %[[B0:.*]] = ppcrt.run @backward micro_batch 0 after(%[[IN0]]) on @compute
// CHECK-NEXT: ppcrt.copy @a.host to @a.back micro_batch 1 after(%[[B0]]) on @fetch
// CHECK-NEXT: %[[IN1:.*]] = ppcrt.copy @b.host to @b.back micro_batch 1 on @fetch
// CHECK-NEXT: ppcrt.load micro_batch 3
// CHECK-NEXT: %[[F3:.*]] = ppcrt.run @forward micro_batch 3 after(%[[OUT2]]) on @compute
// The host's slot of micro-batch 0 is free: that has been brought back before its backward.
// CHECK-NEXT: ppcrt.copy @a to @a.host micro_batch 3 after(%[[F3]]) on @offload
// CHECK-NEXT: ppcrt.copy @b to @b.host micro_batch 3 on @offload
// CHECK-NEXT: %[[B1:.*]] = ppcrt.run @backward micro_batch 1 after(%[[IN1]]) on @compute
// CHECK-NEXT: ppcrt.copy @a.host to @a.back micro_batch 2 after(%[[B1]]) on @fetch
// CHECK: ppcrt.run @backward micro_batch 2
// CHECK-NEXT: ppcrt.copy @a.host to @a.back micro_batch 3
// CHECK: ppcrt.run @backward micro_batch 3
// CHECK-NEXT: ppcrt.run @update on @compute

module attributes {ppc.plan = #ppc.plan<grid = #ppc.grid<dp = 1>, stages = [0], schedule = "1f1b", micro_batches = 4, dimensions = {}, parameters = {}, offload = "activations">} {
  ppcrt.program @train grid #ppc.grid<pp = 1, dp = 1> micro_batches 4 {
    ppcrt.device @device0 at 0 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "ids" : memref<4xf32> slots 3
      ppcrt.buffer @a saved : memref<4xf32> slots 3
      ppcrt.buffer @b saved : memref<6xf32> slots 3
      ppcrt.buffer @g gradient "w" : memref<4xf32>
      ppcrt.buffer @w parameter "w" : memref<4xf32>
      ppcrt.routine @forward forward code @stage0.forward reads [@x] writes [@a, @b]
      ppcrt.routine @backward backward code @stage0.backward reads [@x, @a, @b, @g] writes [@g]
      ppcrt.routine @update update code @device0.update reads [@g, @w] writes [@w]
      ppcrt.step {
        %0 = ppcrt.load micro_batch 0 on @compute
        %1 = ppcrt.run @forward micro_batch 0 on @compute
        %2 = ppcrt.load micro_batch 1 on @compute
        %3 = ppcrt.run @forward micro_batch 1 on @compute
        %4 = ppcrt.load micro_batch 2 on @compute
        %5 = ppcrt.run @forward micro_batch 2 on @compute
        %6 = ppcrt.run @backward micro_batch 0 on @compute
        %7 = ppcrt.load micro_batch 3 on @compute
        %8 = ppcrt.run @forward micro_batch 3 on @compute
        %9 = ppcrt.run @backward micro_batch 1 on @compute
        %10 = ppcrt.run @backward micro_batch 2 on @compute
        %11 = ppcrt.run @backward micro_batch 3 on @compute
        %12 = ppcrt.run @update on @compute
      }
    }
  }
  func.func @stage0.forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<6xf32>) attributes {ppcrt.routine = "forward"} {
    %0 = ppc.scale %x by 2.0 : tensor<4xf32>
    %1 = ppc.constant dense<1.0> : tensor<6xf32>
    return %0, %1 : tensor<4xf32>, tensor<6xf32>
  }
  func.func @stage0.backward(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<6xf32>, %g: tensor<4xf32>) -> (tensor<4xf32> {ppc.destination = 3 : i64}) attributes {ppcrt.routine = "backward"} {
    %0 = ppc.mul %x, %a : tensor<4xf32>
    %1 = ppc.add %g, %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @device0.update(%g: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32> {ppc.destination = 1 : i64}) attributes {ppcrt.routine = "update"} {
    %0 = ppc.add %w, %g : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
