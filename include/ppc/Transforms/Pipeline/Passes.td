// Passes that split a partitioned step into pipeline stages and order their work.
#ifndef PPC_TRANSFORMS_PIPELINE_PASSES_TD
#define PPC_TRANSFORMS_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitStagesPass : Pass<"ppc-split-stages", "ModuleOp"> {
  let summary = "one program per pipeline rank, stage and action";
  let description = [{
    Splits @step into functions `@stage<s>.forward`, `.backward`, `.weight_gradient` and `@device<d>.update`. An op of
    `ppc.accumulate` goes to the function of its `ppc.stage` and `ppc.part`; a value that crosses functions becomes a
    buffer, a value that crosses devices a message: of values gathered over ranks the block is sent, and gathered again
    on the receiver. Backward and weight_gradient are one function if the schedule runs W right after B (nothing between
    needs a buffer then) and `split-weight-gradient` is not given.

    A device holds the `vp` stages that the schedule assigns to it: their routines have the chunk of the stage, values
    that pass from one to the other on one device stay in a buffer. Parameters and sums that several of them use exist
    once.

    The update is run by every device for the parameters that it holds. A `ppc.sum` of values of several devices (the squared
    norm, tied parameters) becomes a sum per device and an all-reduce over "pp"; the loss is broadcast the same way.

    Requires: local types (`ppc-partition-to-spmd`), `ppc.stage` on every op of the accumulate, values flowing as
    schedules run: forwards up the stages, backwards down, weight gradients only into sums. Guarantees: @step is gone;
    the module has a `ppcrt.program` with the plan's devices, their buffers, a routine for each of the new functions,
    and messages. A result that is written to the buffer of an argument names it with `ppc.destination`: it updates it
    in place. Buffers with slots have one until `ppc-apply-schedule`.
  }];
  let options = [Option<"splitWeightGradient", "split-weight-gradient", "bool", "false",
                        "put weight gradients in functions of their own, whatever the schedule">];
  let dependentDialects = ["::mlir::ppc::PpcDialect", "::mlir::ppcrt::PpcRtDialect", "::mlir::func::FuncDialect"];
}

def ApplySchedulePass : Pass<"ppc-apply-schedule", "ModuleOp"> {
  let summary = "order the work of each stage by the plan's schedule";
  let description = [{
    Generates the schedule that `#ppc.plan` names for its stages and micro-batches, verifies it, and adds to each device of the
    `ppcrt.program` its streams, the slots of its buffers (micro-batches in flight), and the actions of its step and, where the
    program evaluates the loss, of its evaluation: forward actions and what travels between them alone. Messages are received right
    before the routine that uses them first and sent right after the one that makes them.

    Requires: `ppc-split-stages`.
  }];
  let dependentDialects = ["::mlir::ppcrt::PpcRtDialect"];
}

#endif // PPC_TRANSFORMS_PIPELINE_PASSES_TD
