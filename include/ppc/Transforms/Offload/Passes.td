// Passes that keep what devices have no room for in the memory of the host.
#ifndef PPC_TRANSFORMS_OFFLOAD_PASSES_TD
#define PPC_TRANSFORMS_OFFLOAD_PASSES_TD

include "mlir/Pass/PassBase.td"

def OffloadParametersPass : Pass<"ppc-offload-parameters", "ModuleOp"> {
  let summary = "keep parameters in the memory of the host while other virtual stages are computed";
  let description = [{
    Where `offload` of `#ppc.plan` names parameters; else nothing changes. A virtual stage whose runs come one after the other, or all forwards and later all
    that is behind them (breadth-first, or one stage of many on a device), brings its parameters, and what is prepared of them rounded, when the stage
    before the last has ended: two are on the device at a time. The routines read buffers that are `gathered`, of forward and of backward, so that
    `ppc-assign-arena` lets them share bytes with each other. Parameters that several virtual stages read stay, as do all of a device with no more than two of
    such stages.

    The buffers themselves get the memory `host`; `ppc-offload-optimizer` copies them to the device where they are updated or prepared. Copies run on the
    stream `copies`.

    Requires: a scheduled `ppcrt.program` (`ppc-apply-schedule`); `ppc-offload-optimizer` follows. Remarks of the category `ppc-offload` say how much lies
    on the host, or, as missed, that nothing does.
  }];
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
}

def OffloadActivationsPass : Pass<"ppc-offload-activations", "ModuleOp"> {
  let summary = "offload saved activations to host memory";
  let description = [{
    Where `offload` of `#ppc.plan` names activations; else nothing changes. Saved values that one forward writes and only backward and
    weight gradients read move to the host: `@h` keeps the slots that forward is writing and copies are reading, `@h.host` has as many as
    `@h` had and the memory `host`, `@h.back` those that backward reads or that come for it, and takes the place of `@h` in what these routines read. How
    many slots stay on the device says `offloadWindow` (ppc/CostModel/OffloadWindow.h): two in all, or twice as many as are used
    at a time where many are in flight. Values with no more slots than that stay, as do inputs, messages between devices and what another
    forward reads (keys and values of the slices of a sequence).

    Copies run on two streams, `offload` and `fetch`, one for each direction. A micro-batch's values leave when its forward has ended, behind its messages in the order of
    issue, and come back when a slot for them is free, or as soon as they are on the host: in the list of actions right behind what they wait
    for, so that a program that follows the list has them under way as early as it may.

    Requires: a scheduled `ppcrt.program` (`ppc-apply-schedule`). Remarks of the category `ppc-offload` say how much lies on the host, or, as missed, that
    nothing does.
  }];
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
}

def OffloadOptimizerPass : Pass<"ppc-offload-optimizer", "ModuleOp"> {
  let summary = "offload optimizer state to host memory, and update it in buckets";
  let description = [{
    Where `offload` of `#ppc.plan` names the optimizer, or parameters, of which only those that are on the host then are meant below; else nothing changes. Buffers of the optimizer's state, and of parameters that only routines of the whole step read (those that products read rounded), get the
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
