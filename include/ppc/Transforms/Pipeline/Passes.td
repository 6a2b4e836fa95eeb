// Passes that cut a partitioned step into pipeline stages and order their work.
#ifndef PPC_TRANSFORMS_PIPELINE_PASSES_TD
#define PPC_TRANSFORMS_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitStagesPass : Pass<"ppc-split-stages", "ModuleOp"> {
  let summary = "one program per pipeline stage and action";
  let description = [{
    Cuts @step into functions `@stage<s>.forward`, `.backward`, `.weight_gradient` and `.update`. An op of
    `ppc.accumulate` goes to the function of its `ppc.stage` and `ppc.part`; what crosses functions becomes a buffer, what
    crosses stages a message. Without `split-weight-gradient` backward and weight_gradient are one function (schedules
    that run W right after B need no cut there, and what lies between needs no buffer).

    The update is run by every stage for the parameters that it holds. A `ppc.sum` of values of several stages (the squared
    norm, tied parameters) becomes a sum per stage and an all-reduce over "pp"; the loss is broadcast the same way.

    Requires: local types (`ppc-partition-to-spmd`), `ppc.stage` on every op of the accumulate, values flowing as schedules
    run: forwards up the stages, backwards down, weight gradients into nothing but sums.
    Guarantees: @step is gone; arguments and results of the new functions have `ppc.buffer`, an index into the table of
    their stage in the module attribute `ppc.stages`: an array with, per stage, a dictionary of
    - `buffers`: array of {role, type, space ("arena" or "slot"), and by role: name, state, logical, sharding, init};
    - `functions`: {action = {entry (symbol), buffers (of the arguments, then of results that are no arguments')}};
    - `sends`: array of {after (action), buffer, stage, tag}, `receives`: array of {before, buffer, stage, tag}.
    A result with the buffer of an argument updates it in place.
  }];
  let options = [Option<"splitWeightGradient", "split-weight-gradient", "bool", "false",
                        "put weight gradients in functions of their own">];
  let dependentDialects = ["::mlir::ppc::PpcDialect", "::mlir::func::FuncDialect"];
}

def ApplySchedulePass : Pass<"ppc-apply-schedule", "ModuleOp"> {
  let summary = "order the work of each stage as the plan's schedule says";
  let description = [{
    Generates the schedule that `#ppc.plan` names for its stages and micro-batches, verifies it, and adds to each entry of
    `ppc.stages`: `slots` (micro-batches in flight, hence copies of each slot buffer) and `actions`, an array of
    {do = forward | backward | weight_gradient | send | receive, micro_batch, and for messages buffer, stage, tag}.

    Requires: `ppc-split-stages`.
  }];
}

#endif // PPC_TRANSFORMS_PIPELINE_PASSES_TD
