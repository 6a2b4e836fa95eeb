// The pass that lays out each rank's memory.
#ifndef PPC_TRANSFORMS_ARENA_PASSES_TD
#define PPC_TRANSFORMS_ARENA_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignArenaPass : Pass<"ppc-assign-arena", "ModuleOp"> {
  let summary = "assign every buffer of a device an offset in one arena";
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
  let description = [{
    The arena of a rank holds, in this order: buffers that are kept, all slots of each buffer that has some (of buffers that share them, once), what a gather defines, and
    the scratch of routines. Gathered values and scratch share bytes where all uses of one have ended when the other's begin,
    in the step and in the evaluation, by happens-before (docs/internals/Program.md); scratch also where all uses are on one stream, since
    nothing in it outlives a run. Each lies in the first gap that it fits in; the arena is never larger than with one scratch for each
    stream. Everything else lies apart: the runtime looks at saved values and messages when something went wrong. Offsets are multiples
    of `alignment`; buffers in the memory of the host have none. `ppc-verify-arena` checks the result without trusting this pass.

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
    A value of a micro-batch is there from the action that writes it to the last one that reads it. Each virtual stage of a device, and
    each slice of a sequence, has as many slots of its values as are ever there at one time, but they have them at different times. This
    pass lets saved values of equal elements and bytes lie in the slots of each other: which slot each micro-batch of a buffer has
    (`places`), the lowest that is free when it is written (`sharePlaces`), and whose slots it `shares`.

    The values that share are the first of each set with equal lifetimes (what one virtual stage keeps from forward to backward), the
    second of each, and so on: the places of one value of a set are those of all others that share with the same sets. Where
    that saves no slot, buffers stay as they are.

    Only values that routines of one stream use, and nothing else: its order is theirs, so no action waits for another one that it has not
    waited for before. Messages keep their slots, with which the schedule was verified; so do inputs. Where activations lie on the
    host nothing is shared.

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
