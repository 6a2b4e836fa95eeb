// --ppc-share-slots
ppcrt.program @alike grid <pp = 1> micro_batches 2 {
  ppcrt.device @device0 at 0 {
    ppcrt.stream @compute
    ppcrt.buffer @a saved : memref<4xindex> slots 1
    ppcrt.buffer @b saved : memref<4xindex> slots 1
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
