// Passes that make, apply and show plans.
#ifndef PPC_TRANSFORMS_PLAN_PASSES_TD
#define PPC_TRANSFORMS_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def MakePlanPass : Pass<"ppc-make-plan", "ModuleOp"> {
  let summary = "turn pins of the user into a plan";
  let description = [{
    Writes `#ppc.plan` on the module from pinned degrees of parallelism, or from a plan file.

    - The grid is dp x tp. The batch is cut over dp; feed-forward, vocabulary and heads over tp. Heads are cut by kv head
      where tp divides their number, else by query head within the group, else by both on two axes tp0 x tp1 whose
      product is tp, else by kv head with padding.
    - Micro-batches: global batch / (dp * micro-batch), which must divide.
    - Stages: `layers-per-stage` if given, else the cut with the least slowest stage by the FLOPs of the layers.

    Requires: one function with `ppc.input`, `ppc.dims` on its arguments and `ppc.layer` on its ops.
    Guarantees: `ppc.plan` on the module, or an error that says with numbers what does not fit.
  }];
  let options = [
    Option<"dp", "dp", "int64_t", "1", "data-parallel degree: parts of the batch">,
    Option<"tp", "tp", "int64_t", "1", "tensor-parallel degree: parts of each layer">,
    Option<"pp", "pp", "int64_t", "1", "pipeline stages">,
    Option<"microBatch", "micro-batch", "int64_t", "1", "sequences per micro-batch and data-parallel rank">,
    Option<"schedule", "schedule", "std::string", "\"1f1b\"", "pipeline schedule by name">,
    ListOption<"layersPerStage", "layers-per-stage", "int64_t",
               "layers of each stage, not counting embedding and head (they go to the first and last stage)">,
    Option<"planFile", "plan-file", "std::string", "\"\"", "YAML file with the whole plan; the pins above are not used">];
}

def ApplyPlanPass : Pass<"ppc-apply-plan", "ModuleOp"> {
  let summary = "write the plan's shardings on function arguments and its stages on ops";
  let description = [{
    Each argument with `ppc.dims` gets `ppc.sharding`: its parameter's entry in the plan's `parameters` (moments follow
    their parameter), else the axes that `dimensions` gives to its dimensions. Other arguments are replicated. Each op
    with `ppc.layer` gets `ppc.stage`.

    Requires: `#ppc.plan` on the module, from `ppc-make-plan` or a person.
    Guarantees: shardings that are legal for the grid: no axis twice, no dimension with fewer elements than devices; or an
    error.
  }];
}

def PrintPlanPass : Pass<"ppc-print-plan", "ModuleOp"> {
  let summary = "print the plan as YAML to standard error";
  let description = "What it prints is what `ppc-make-plan{plan-file=...}` reads.";
}

#endif // PPC_TRANSFORMS_PLAN_PASSES_TD
