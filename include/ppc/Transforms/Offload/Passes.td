// Passes that offload buffers to host memory when device memory does not suffice.
#ifndef PPC_TRANSFORMS_OFFLOAD_PASSES_TD
#define PPC_TRANSFORMS_OFFLOAD_PASSES_TD

include "mlir/Pass/PassBase.td"

def OffloadParametersPass : Pass<"ppc-offload-parameters", "ModuleOp"> {
  let summary = "offload parameters to host memory while other virtual stages are computed";
  let description = [{
    Runs if `offload` of `#ppc.plan` names parameters. A virtual stage whose runs follow each other without a gap, or
    all forwards first and all backwards later (breadth-first, or one of many stages of a device), copies its
    parameters, and their rounded copies, to the device when the stage before the previous one has completed: two are on
    the device at a time. The routines read `gathered` buffers, of forward and of backward, so that `ppc-assign-arena`
    lets them share bytes. Parameters that several virtual stages read stay on the device, as do all parameters of a
    device with at most two of such stages.

    The buffers themselves get the memory `host`; `ppc-offload-optimizer` copies them to the device where they are updated or prepared. Copies run on the
    stream `copies`.

    Requires: a scheduled `ppcrt.program` (`ppc-apply-schedule`); `ppc-offload-optimizer` follows. Remarks of the
    category `ppc-offload` report the bytes on the host, or, as missed, that nothing is offloaded.
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

    Copies run on two streams, `offload` and `fetch`, one for each direction. A micro-batch's values are offloaded when
    its forward has completed, issued after its messages, and are reloaded when a slot for them is free, or as soon as
    they are on the host: each copy follows the actions that it waits for directly in the list of actions, so that a
    program that follows the list has it in flight as early as possible.

    Requires: a scheduled `ppcrt.program` (`ppc-apply-schedule`). Remarks of the category `ppc-offload` report the bytes
    on the host, or, as missed, that nothing is offloaded.
  }];
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
}

def OffloadOptimizerPass : Pass<"ppc-offload-optimizer", "ModuleOp"> {
  let summary = "offload optimizer state to host memory, and update it in buckets";
  let description = [{
    Runs if `offload` of `#ppc.plan` names the optimizer, or parameters; in the latter case only parameters that are on
    the host then are meant below. Buffers of optimizer state, and of parameters that only routines of the whole step
    read (parameters whose rounded copies matmuls read), get the memory `host`. The optimizer ops are moved out of the
    update, which keeps the sums of gradients and their norm, into routines of their own, each for a run of parameters
    (a bucket); so are the ops that prepare values of such parameters. A bucket is copied to `gathered` buffers, updated
    there, and copied back, on a stream `copies`, overlapped with the update of another bucket: two buckets are on the
    device at a time. The sums are over the same values in the same order, so results are bitwise identical to the
    program without offloading.

    A bucket holds at most 1/32 of the bytes that a rank has on the host, in whole tensors (`offloadBucket`,
    ppc/CostModel/OffloadBucket.h). Values that the optimizers read from the update without a buffer (the scale that
    clips gradients) get a `prepared` buffer.

    Requires: a scheduled `ppcrt.program` on tensors (`ppc-apply-schedule`), after `ppc-overlap-reductions`. A device
    without an optimizer is left as it is. Remarks of the category `ppc-offload` report the bytes on the host, and the
    number of buckets.
  }];
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
}

#endif // PPC_TRANSFORMS_OFFLOAD_PASSES_TD
