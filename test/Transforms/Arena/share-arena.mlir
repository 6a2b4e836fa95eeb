// Buffers that are dead after their use share bytes if one use has completed when the other starts.
// RUN: ppc-opt %s --ppc-assign-arena --ppc-verify-arena | FileCheck %s
// Besides @w and @v a forward uses @full and its scratch.
// RUN: ppc-opt %s --ppc-assign-arena --remarks-filter=ppc-arena -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIVE
// LIVE: device 0: 448 B (448 bytes), of which 384 bytes are in use at one time: 16.67 % more

// @full is needed by forwards, @grown by the update, which runs after all of them: both are at offset 128, after @w and @v. The scratch of
// the update may overlap @full, that of forwards may not. On another stream @weight runs concurrently with the update.
// CHECK:     ppcrt.device @device0 at 0 arena 448 {
// CHECK:     ppcrt.buffer @w parameter "w" : memref<16xf32> offset 0
// CHECK:     ppcrt.buffer @v parameter "v" : memref<16xf32> offset 64
// CHECK:     ppcrt.buffer @full gathered : memref<32xf32> offset 128
// CHECK:     ppcrt.buffer @grown gathered : memref<16xf32> offset 128
// CHECK:     ppcrt.buffer @scratch.gather scratch : memref<64xi8> offset 256
// CHECK:     ppcrt.buffer @scratch.forward scratch : memref<128xi8> offset 256
// CHECK:     ppcrt.buffer @scratch.weight scratch : memref<64xi8> offset 384
// CHECK:     ppcrt.buffer @scratch.update scratch : memref<32xi8> offset 192
ppcrt.program @train grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.stream @other
    ppcrt.buffer @w parameter "w" : memref<16xf32>
    ppcrt.buffer @v parameter "v" : memref<16xf32>
    ppcrt.buffer @full gathered : memref<32xf32>
    ppcrt.buffer @grown gathered : memref<16xf32>
    ppcrt.routine @gather prepare code @gather reads [@w] writes [@full]
    ppcrt.routine @forward forward code @forward reads [@full] writes []
    ppcrt.routine @weight weight_gradient code @weight reads [] writes []
    ppcrt.routine @update update code @update reads [] writes [@grown]
    ppcrt.step {
      %0 = ppcrt.run @gather on @compute
      %1 = ppcrt.run @forward micro_batch 0 on @compute
      %2 = ppcrt.run @weight micro_batch 0 after (%1) on @other
      %3 = ppcrt.run @forward micro_batch 1 on @compute
      %4 = ppcrt.run @weight micro_batch 1 on @other
      %5 = ppcrt.run @update on @compute
    }
  }
}
func.func @gather(%w: memref<16xf32>, %full: memref<32xf32>, %scratch: memref<64xi8>) attributes {ppcrt.routine = "prepare"} {
  return
}
func.func @forward(%full: memref<32xf32>, %scratch: memref<128xi8>) attributes {ppcrt.routine = "forward"} {
  return
}
func.func @weight(%scratch: memref<64xi8>) attributes {ppcrt.routine = "weight_gradient"} {
  return
}
func.func @update(%grown: memref<16xf32>, %scratch: memref<32xi8>) attributes {ppcrt.routine = "update"} {
  return
}
