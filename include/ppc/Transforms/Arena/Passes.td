// The pass that lays out each rank's memory.
#ifndef PPC_TRANSFORMS_ARENA_PASSES_TD
#define PPC_TRANSFORMS_ARENA_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignArenaPass : Pass<"ppc-assign-arena", "ModuleOp"> {
  let summary = "give every buffer of a device its place in one arena";
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
  let description = [{
    The arena of a rank holds, in this order: buffers that are kept, all slots of each buffer that has some, what a gather defines, and
    the scratch of routines. Gathered values and scratch share bytes where all uses of one have ended when the other's begin,
    in the step and in the evaluation, by happens-before (docs/Program.md); scratch also where all uses are on one stream, since
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

#endif // PPC_TRANSFORMS_ARENA_PASSES_TD
