// Passes that keep what devices have no room for in the memory of the host.
#ifndef PPC_TRANSFORMS_OFFLOAD_PASSES_TD
#define PPC_TRANSFORMS_OFFLOAD_PASSES_TD

include "mlir/Pass/PassBase.td"

def OffloadOptimizerPass : Pass<"ppc-offload-optimizer", "ModuleOp"> {
  let summary = "keep the optimizer's state in the memory of the host, and update it piece by piece";
  let description = [{
    Where `#ppc.plan` says `offload = "optimizer"`; else nothing changes. Buffers of the optimizer's state, and of parameters that only routines of the whole step read (those that products read rounded), get the
    memory `host`. What an optimizer does to each of them is taken out of the update, which keeps the sums of gradients and their norm,
    and becomes routines of its own, each for a run of parameters (a bucket); so does what prepares values of such parameters. A bucket is
    copied to buffers that are `gathered`, updated there, and copied back, on a stream `copies` beside the bucket that is updated: two buckets
    are on the device at a time. The sums are over the same values in the same order, so the bits are those of the program without.

    A bucket holds at most 1/32 of what a rank keeps on the host, but whole tensors (`offloadBucket`, ppc/CostModel/OffloadBucket.h). What
    crosses from the update to the optimizers without a buffer (the scale that clips gradients) gets one that is `prepared`.

    Requires: a scheduled `ppcrt.program` on tensors (`ppc-apply-schedule`), after `ppc-overlap-reductions`. A device without an optimizer is left
    as it is. Remarks of the category `ppc-offload` say how much lies on the host, and in how many buckets it moves.
  }];
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
}

#endif // PPC_TRANSFORMS_OFFLOAD_PASSES_TD
