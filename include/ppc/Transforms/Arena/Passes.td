// Passes that assign offsets in each rank's memory.
#ifndef PPC_TRANSFORMS_ARENA_PASSES_TD
#define PPC_TRANSFORMS_ARENA_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignArenaPass : Pass<"ppc-assign-arena", "ModuleOp"> {
  let summary = "assign every buffer of a device an offset in one arena";
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
  let description = [{
    The arena of a rank holds, in this order: persistent buffers, all slots of each buffer that has slots (shared slots
    once), gathered values, and the scratch of routines. Gathered values and scratch share bytes if all uses of one have
    completed when the other's begin, in the step and in the evaluation, by happens-before (docs/internals/Program.md);
    scratch also if all uses are on one stream, since nothing in it outlives a run. Each is placed in the first gap that
    it fits in; the arena is never larger than with one scratch for each stream. All other buffers have disjoint bytes:
    after a failure the runtime reports saved values and messages. Offsets are multiples of `alignment`; buffers in host
    memory have none. `ppc-verify-arena` checks the result without trusting this pass.

    Remarks of the category `ppc-arena` say of each device how many bytes are in use at one time, which no layout is below (`mostLiveBytes`).

    Requires: a `ppcrt.program` with steps (`ppc-apply-schedule`) whose code has its scratch as last argument
    (`ppc-assign-offsets`). A module without a program is left as it is.
    Guarantees: each buffer has its offset, with slots also the stride; each routine has its `scratch`; each device its `arena`.
  }];
  let options = [Option<"alignment", "alignment", "int64_t", "64", "bytes that offsets and strides are multiples of">];
}

def ShareSlotsPass : Pass<"ppc-share-slots", "ModuleOp"> {
  let summary = "let values with disjoint lifetimes share slots";
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
  let description = [{
    A value of a micro-batch is live from the action that writes it to the last one that reads it. Each virtual stage of
    a device, and each slice of a sequence, has as many slots of its values as are ever live at one time, but it uses
    them at different times. This pass lets saved values of equal elements and bytes share slots: each micro-batch of a
    buffer gets a slot (`places`), the lowest that is free when it is written (`sharePlaces`), of the buffer that it
    `shares`.

    Values are grouped in sets with equal lifetimes (the saved activations of one virtual stage). The first values of
    each set share, then the second ones, and so on: the slot indices of one value of a set equal those of all others
    that share with the same sets. If that saves no slot, buffers stay as they are.

    Only values that routines of one stream use, and no other action: the stream orders their uses, so no action waits
    for another one that it did not wait for before. Messages keep their slots, with which the schedule was verified; so
    do inputs. If activations are offloaded to the host nothing is shared.

    Example (test/Transforms/Arena/share-slots.mlir): @a and @b, of two virtual stages, had two slots each, and of their values three are ever there
    at one time.

    ```mlir
    ppcrt.buffer @a saved : memref<4xf32> slots 3 places [0, 1, 1]
    ...
    ppcrt.buffer @b saved : memref<2x2xf32> slots 3 places [2, 0, 0] shares @a
    ```

    Requires: a `ppcrt.program` with steps (`ppc-apply-schedule`). A module without a program is left as it is.
  }];
}

#endif // PPC_TRANSFORMS_ARENA_PASSES_TD
