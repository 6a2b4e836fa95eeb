// Offsets are multiples of 64; slots follow the persistent buffers, scratch comes last and is shared by the routines of a stream.
// RUN: ppc-opt %s --ppc-assign-arena | FileCheck %s
// One micro-batch has one slot of each value at a time: 256 bytes that are kept, 64 of @x, 64 of @h, 64 of scratch.
// RUN: ppc-opt %s --ppc-assign-arena --remarks-filter=ppc-arena -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIVE
// LIVE: device 0: 768 B (768 bytes), of which 448 bytes are in use at one time: 71.43 % more

// 5 x 7 floats need 140 bytes, the next buffer starts at 192; three slots of 64 bytes at 256 and at 448; scratch at 640.
// CHECK:      ppcrt.device @device0 at 0 arena 768 {
// CHECK:      ppcrt.buffer @x input "ids" : memref<3xi32> slots 3 offset 256 stride 64
// CHECK-NEXT: ppcrt.buffer @w parameter "w" : memref<5x7xf32> offset 0
// CHECK-NEXT: ppcrt.buffer @h saved : memref<3xf64> slots 3 offset 448 stride 64
// CHECK-NEXT: ppcrt.buffer @loss metric "loss" : memref<f32> offset 192
// CHECK-NEXT: ppcrt.buffer @spilled saved : memref<3xf64> slots 3 memory host
// CHECK-NEXT: ppcrt.buffer @scratch.forward scratch : memref<40xi8> offset 640
// CHECK-NEXT: ppcrt.routine @forward forward code @stage0.forward reads [@x, @w] writes [@h] scratch @scratch.forward
// CHECK-NEXT: ppcrt.buffer @scratch.weight scratch : memref<24xi8> offset 704
// CHECK-NEXT: ppcrt.routine @weight weight_gradient
// CHECK-NEXT: ppcrt.buffer @scratch.update scratch : memref<8xi8> offset 640
// CHECK-NEXT: ppcrt.routine @update update code @stage0.update reads [@w] writes [@loss] scratch @scratch.update
ppcrt.program @train grid <pp = 1> micro_batches 1 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.stream @other
    ppcrt.buffer @x input "ids" : memref<3xi32> slots 3
    ppcrt.buffer @w parameter "w" : memref<5x7xf32>
    ppcrt.buffer @h saved : memref<3xf64> slots 3
    ppcrt.buffer @loss metric "loss" : memref<f32>
    ppcrt.buffer @spilled saved : memref<3xf64> slots 3 memory host
    ppcrt.routine @forward forward code @stage0.forward reads [@x, @w] writes [@h]
    ppcrt.routine @weight weight_gradient code @stage0.weight reads [@h] writes []
    ppcrt.routine @update update code @stage0.update reads [@w] writes [@loss]
    ppcrt.step {
      %0 = ppcrt.run @forward micro_batch 0 on @compute
      ppcrt.run @weight micro_batch 0 after (%0) on @other
      ppcrt.run @update on @compute
    }
  }
}
func.func @stage0.forward(%x: memref<3xi32>, %w: memref<5x7xf32>, %h: memref<3xf64>, %scratch: memref<40xi8>) {
  return
}
func.func @stage0.weight(%h: memref<3xf64>, %scratch: memref<24xi8>) {
  return
}
func.func @stage0.update(%w: memref<5x7xf32>, %loss: memref<f32>, %scratch: memref<8xi8>) {
  return
}
