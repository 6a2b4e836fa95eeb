// Values of two virtual stages, and operands of deferred weight gradients, share slots.
// RUN: ppc-opt %s --split-input-file --ppc-share-slots | FileCheck %s

// Three values of @a (from @f0 until @b0) and @b (from @f1 until @b1) are live at one time, of two micro-batches each.
// CHECK-LABEL: @stages
// CHECK:      ppcrt.buffer @a saved : memref<4xf32> slots 3 places [0, 1, 1]
// CHECK-NEXT: ppcrt.buffer @a2 saved : memref<4xf32> slots 2
// CHECK-NEXT: ppcrt.buffer @b saved : memref<2x2xf32> slots 3 places [2, 0, 0] shares @a
// Other elements, a message, an input, and what another stream uses, too: as they were.
// CHECK-NEXT: ppcrt.buffer @wide saved : memref<2xf64> slots 2
// CHECK-NEXT: ppcrt.buffer @ids input "ids" : memref<4xi32> slots 2
// CHECK-NEXT: ppcrt.buffer @copied saved : memref<4xf32> slots 2
// CHECK-NEXT: ppcrt.buffer @apart saved : memref<4xf32> slots 2
ppcrt.program @stages grid <pp = 1> micro_batches 3 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.stream @copies
    ppcrt.buffer @a saved : memref<4xf32> slots 2
    ppcrt.buffer @a2 saved : memref<4xf32> slots 2
    ppcrt.buffer @b saved : memref<2x2xf32> slots 2
    ppcrt.buffer @wide saved : memref<2xf64> slots 2
    ppcrt.buffer @ids input "ids" : memref<4xi32> slots 2
    ppcrt.buffer @copied saved : memref<4xf32> slots 2
    ppcrt.buffer @apart saved : memref<4xf32> slots 2
    ppcrt.routine @f0 forward code @code reads [@ids] writes [@a, @a2, @copied, @wide]
    ppcrt.routine @f1 forward chunk 1 code @code reads [] writes [@b]
    ppcrt.routine @b1 backward chunk 1 code @code reads [@b] writes []
    ppcrt.routine @b0 backward code @code reads [@a, @a2, @wide] writes []
    ppcrt.step {
      %0 = ppcrt.load micro_batch 0 on @compute
      %1 = ppcrt.run @f0 micro_batch 0 on @compute
      %2 = ppcrt.copy @copied to @apart micro_batch 0 after (%1) on @copies
      %3 = ppcrt.load micro_batch 1 on @compute
      %4 = ppcrt.run @f0 micro_batch 1 on @compute
      %5 = ppcrt.run @f1 micro_batch 0 on @compute
      %6 = ppcrt.run @b1 micro_batch 0 on @compute
      %7 = ppcrt.run @b0 micro_batch 0 on @compute
      %8 = ppcrt.run @f1 micro_batch 1 on @compute
      %9 = ppcrt.run @b1 micro_batch 1 on @compute
      %10 = ppcrt.run @b0 micro_batch 1 on @compute
      %11 = ppcrt.load micro_batch 2 on @compute
      %12 = ppcrt.run @f1 micro_batch 2 on @compute
      %13 = ppcrt.run @f0 micro_batch 2 after (%2) on @compute
      %14 = ppcrt.run @b1 micro_batch 2 on @compute
      %15 = ppcrt.run @b0 micro_batch 2 on @compute
    }
  }
}
func.func private @code()

// -----

// Operands of deferred weight gradients take a slot of values that backward has read, not in the action that reads them.
// CHECK-LABEL: @waiting
// CHECK: ppcrt.buffer @h saved : memref<4xf32> slots 3 places [0, 0, 0]
// CHECK: ppcrt.buffer @g saved : memref<4xf32> slots 3 places [1, 1, 2] shares @h
ppcrt.program @waiting grid <pp = 1> micro_batches 3 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @h saved : memref<4xf32> slots 2
    ppcrt.buffer @g saved : memref<4xf32> slots 2
    ppcrt.routine @f forward code @code reads [] writes [@h]
    ppcrt.routine @b backward code @code reads [@h] writes [@g]
    ppcrt.routine @w weight_gradient code @code reads [@g] writes []
    ppcrt.step {
      %0 = ppcrt.run @f micro_batch 0 on @compute
      %1 = ppcrt.run @b micro_batch 0 on @compute
      %2 = ppcrt.run @f micro_batch 1 on @compute
      %3 = ppcrt.run @w micro_batch 0 on @compute
      %4 = ppcrt.run @b micro_batch 1 on @compute
      %5 = ppcrt.run @f micro_batch 2 on @compute
      %6 = ppcrt.run @b micro_batch 2 on @compute
      %7 = ppcrt.run @w micro_batch 1 on @compute
      %8 = ppcrt.run @w micro_batch 2 on @compute
    }
  }
}
func.func private @code()

// -----

// No slot is saved: unchanged.
// CHECK-LABEL: @alike
// CHECK: ppcrt.buffer @a saved : memref<4xf32> slots 1
// CHECK: ppcrt.buffer @b saved : memref<4xf32> slots 1
ppcrt.program @alike grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @a saved : memref<4xf32> slots 1
    ppcrt.buffer @b saved : memref<4xf32> slots 1
    ppcrt.routine @f forward code @code reads [] writes [@a, @b]
    ppcrt.routine @b0 backward code @code reads [@a, @b] writes []
    ppcrt.step {
      %0 = ppcrt.run @f micro_batch 0 on @compute
      %1 = ppcrt.run @b0 micro_batch 0 on @compute
      %2 = ppcrt.run @f micro_batch 1 on @compute
      %3 = ppcrt.run @b0 micro_batch 1 on @compute
    }
  }
}
func.func private @code()
