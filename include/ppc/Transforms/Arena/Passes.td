// The pass that lays out each rank's memory.
#ifndef PPC_TRANSFORMS_ARENA_PASSES_TD
#define PPC_TRANSFORMS_ARENA_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignArenaPass : Pass<"ppc-assign-arena", "ModuleOp"> {
  let summary = "give every buffer of a stage its place in one arena";
  let description = [{
    The arena of a rank holds, in this order: persistent buffers (space "arena"), the slots (one copy of the stage's slot
    buffers for each micro-batch in flight), and the scratch that its functions share (they run one after the other, so
    the largest `ppc.scratch_bytes` decides). Offsets are multiples of 64 bytes.

    Requires: `ppc.stages` with slots (`ppc-apply-schedule`), `ppc.scratch_bytes` on the functions. A module without
    `ppc.stages` is left as it is.
    Guarantees: each buffer has `offset`; each stage has `arena_bytes`, `slot_offset`, `slot_bytes` and a buffer of role
    scratch, which is the last buffer of each function.
  }];
}

#endif // PPC_TRANSFORMS_ARENA_PASSES_TD
