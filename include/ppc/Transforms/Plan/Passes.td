// Passes that make, apply and show plans.
#ifndef PPC_TRANSFORMS_PLAN_PASSES_TD
#define PPC_TRANSFORMS_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"
include "ppc/Planning/PlanKeys.td"

// A decision of a layout (PlanKeys.td) as an option: with a default in ppc-make-plan, and as a pin of the search in
// ppc-search-plan.
class PassPin<PlanKey key, string member, string madeType, string madeDefault, string searchedType, string searchedDefault> {
  Option Made = Option<member, key.Option, madeType, madeDefault, key.Help>;
  Option Searched = Option<member, key.Option, searchedType, searchedDefault, key.Help # "; default: searched">;
}
defvar planPins = [
  PassPin<PlanKeyDp, "dp", "int64_t", "1", "int64_t", "0">,
  PassPin<PlanKeyTp, "tp", "int64_t", "1", "int64_t", "0">,
  PassPin<PlanKeyTpRows, "tpRows", "int64_t", "1", "int64_t", "0">,
  PassPin<PlanKeyTpDepth, "tpDepth", "int64_t", "1", "int64_t", "0">,
  PassPin<PlanKeyCp, "cp", "int64_t", "1", "int64_t", "0">,
  PassPin<PlanKeyContext, "context", "std::string", "\"all-gather\"", "std::string", "\"\"">,
  PassPin<PlanKeyEp, "ep", "int64_t", "1", "int64_t", "0">,
  PassPin<PlanKeyPp, "pp", "int64_t", "1", "int64_t", "0">,
  PassPin<PlanKeyVp, "vp", "int64_t", "0", "int64_t", "0">, // default of ppc-make-plan: as many as the schedule needs
  PassPin<PlanKeyMicroBatch, "microBatch", "int64_t", "1", "int64_t", "0">,
  PassPin<PlanKeySchedule, "schedule", "std::string", "\"1f1b\"", "std::string", "\"\"">,
  PassPin<PlanKeyRecompute, "recompute", "std::string", "\"none\"", "std::string", "\"\"">,
  PassPin<PlanKeySequenceParallel, "sequenceParallel", "bool", "false", "std::string", "\"\"">,
  PassPin<PlanKeyZero, "zero", "int64_t", "0", "int64_t", "-1">,
  PassPin<PlanKeyShardGroup, "shardGroup", "int64_t", "0", "int64_t", "0">,
  PassPin<PlanKeyGradientGroup, "gradientGroup", "int64_t", "0", "int64_t", "0">,
  PassPin<PlanKeyParameterGroup, "parameterGroup", "int64_t", "0", "int64_t", "0">,
  PassPin<PlanKeyOffload, "offload", "std::string", "\"none\"", "std::string", "\"\"">];

def MakePlanPass : Pass<"ppc-make-plan", "ModuleOp"> {
  let summary = "build a plan from the user's settings";
  let description = [{
    Writes `#ppc.plan` on the module from pinned degrees of parallelism, or from a plan file.

    - The mesh is dp x tp, or dp x cp x tp. The batch is sharded over dp, the sequence of the inputs over cp; feed-forward, vocabulary and heads
      over tp. Heads are sharded by kv head if tp divides their number, else by query head within the group, else by both on two axes
      tp0 x tp1 with tp0 * tp1 = tp, else by kv head with padding.
    - `tp-rows` of the ranks of tp are an axis `rows` that shards hidden features instead: of parameters, and of all activations between
      matmuls. `tp-depth` of the others are an axis `depth` that shards, with them, heads and widths, and the sequence between matmuls. Both
      must divide the dimensions that they shard; experts are sharded by their width over both.
    - `context` selects how attention handles a sharded sequence: `all-gather` gathers keys and values; `ulysses` uses all-to-alls from
      sequence to kv heads, or if these do not divide to query heads within each group.
    - `ep`: experts are sharded over the ranks of tp, and beyond these over ep / tp of dp, an axis `ep`. Without it each expert is sharded by its
      width over tp.
    - `sp`: activations in the norm and dropout region are sharded along the sequence over the axes of tp. `zero` 1: the optimizer state
      and the update are sharded over dp and cp, or over as many of these ranks as `shard-group` gives; each shard group has a copy.
    - `offload` `optimizer`: the optimizer state is in host memory between updates; `activations`: saved activations between
      forward and backward; `parameters`: the parameters of a virtual stage while others are
      computed; several are joined with +.
    - Micro-batches: global batch / (dp * micro-batch), which must divide.
    - Stages: `layers-per-stage` if given, else the partition with the fastest slowest stage by the FLOPs of the layers.

    Requires: one function with `ppc.input`, `ppc.dims` on its arguments and `ppc.layer` on its ops.
    A plan file may give the sharding of single ops in a section `ops:` (docs/guide/Plan.md); they get `ppc.factors`.

    Guarantees: `ppc.plan` on the module, or an error that says with numbers what does not fit.
  }];
  let options = !listconcat(!foreach(pin, planPins, pin.Made), [
    ListOption<"layersPerStage", "layers-per-stage", "int64_t",
               "layers of each virtual stage, not counting the embedding and the LM head (they go to the first and last stage)">,
    Option<"target", "target", "std::string", "::mlir::ppc::defaultTarget().name.str()",
           "device family whose programs run the plan; stored as `ppc.target` for later passes">,
    Option<"planFile", "plan-file", "std::string", "\"\"", "YAML file with the whole plan; the pins above are not used">]);
}

def SearchPlanPass : Pass<"ppc-search-plan", "ModuleOp"> {
  let summary = "find the fastest plan that compiled programs can run on some ranks";
  let description = [{
    Searches the layouts of the module's model (`ppc.shape`, or what `ppc.dims` and `ppc.layer` say) on `ranks` devices of a
    cluster, exactly, and writes the one with the least predicted time per step that fits in memory as `#ppc.plan`; of those within
    1 % of it, which predictions do not tell apart, the one that takes least memory. What an option pins is kept. Layouts that
    programs of the target cannot run are not considered (docs/guide/Layouts.md).

    Remarks (`--remarks-filter=ppc-plan`): the plan and its lower bound, the runner-up, for each decision the best plan
    that decides otherwise, and the fastest plan where another one is chosen for its memory.

    A model that is not a transformer (a remark gives the reason), or whose plan file has a section `ops:`, gets
    op-level sharding: degrees and pipeline stages are searched around `ppc-search-shardings`, and `ppc.factors` on the
    ops store the result. Stages need `ppc.layer` on the ops.

    Requires: one function with `ppc.input` and `ppc.dims` on its arguments; before `ppc-phase-train`.
    Guarantees: `ppc.plan` on the module for exactly `ranks` ranks, or an error that names the limit and the nearest plan.
  }];
  let options = !listconcat(!foreach(pin, planPins, pin.Searched), [
    Option<"ranks", "ranks", "int64_t", "1", "ranks to use, all of them">,
    Option<"cluster", "cluster", "std::string", "\"\"", "machine: preset or YAML file; default: the cores of this machine">,
    Option<"memory", "memory", "double", "0", "bytes that a rank may use; 0: its share of the machine's">,
    ListOption<"layersPerStage", "layers-per-stage", "int64_t", "pinned layers of each stage, without the embedding and the LM head">,
    Option<"target", "target", "std::string", "::mlir::ppc::defaultTarget().name.str()",
           "device family whose programs run the plan; stored as `ppc.target` for later passes">,
    Option<"planFile", "plan-file", "std::string", "\"\"", "YAML file whose sections `layout:` and `ops:` pin their decisions">]);
}

def PricePlanPass : Pass<"ppc-price-plan", "ModuleOp"> {
  let summary = "predict step time and memory of the plan";
  let description = [{
    Writes `ppc.prediction` on the module: the layout in words, seconds per step, bytes per rank of each stage. If ops
    have `ppc.factors` their cost is estimated for that sharding, else as a transformer laid out by degrees. If the plan
    names single ops to recompute, each layer takes their share, by roofline, of the time of full recomputation, and no
    bytes are given. A plan or a model that the cost model does not cover gets none, and a remark of the category
    `ppc-plan` gives the reason.

    Requires: `#ppc.plan` on the module; before `ppc-phase-train`.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"\"", "machine: preset or YAML file; default: the cores of this machine">];
}

def ApplyPlanPass : Pass<"ppc-apply-plan", "ModuleOp"> {
  let summary = "write the plan's shardings on function arguments and its stages on ops";
  let description = [{
    Each argument with `ppc.dims` gets `ppc.sharding`: its parameter's entry in the plan's `parameters`, else the axes
    that `dimensions` gives to its dimensions. Other arguments are replicated. Optimizer state is sharded like its
    parameter, and in addition over the axes of `update` (together along the dimension with the smallest remaining
    block), unless `states` gives its sharding. A parameter that micro-batches read only through casts (`ppc.convert`)
    is sharded like its state, and the cast values are gathered (`ppc.reshard`). If inputs are sharded along the
    dimension "sequence", ops with strategies for that get theirs (`StrategyOpInterface`: attention gathers keys and
    values, or if activations are sharded by heads uses all-to-alls). If experts are sharded over axes that also shard
    the batch, `ppc.dispatch` gets `ppc.factors`: tokens are gathered for the experts of each rank, unless these have
    fewer slots. Each op with `ppc.layer` gets `ppc.stage`.

    Requires: `#ppc.plan` on the module, from `ppc-search-plan`, `ppc-make-plan` or written by hand. Guarantees:
    shardings that are legal for the mesh: no axis twice, no dimension with fewer elements than devices; or an error.
  }];
}

def PrintPlanPass : Pass<"ppc-print-plan", "ModuleOp"> {
  let summary = "print the plan as YAML and its predictions as a table to standard error";
  let description = [{
    `ppc-make-plan{plan-file=...}` reads the YAML; the table follows it in comments.
  }];
}

def PrintLedgerPass : Pass<"ppc-print-ledger", "ModuleOp"> {
  let summary = "print communication, FLOPs and memory of the ranks of a program per step to standard error, as CSV";
  let description = [{
    Prints a row for each kind of collective and message, with its ranks, its bytes and its count; for the FLOPs of
    matmuls and of attention; for the bytes of each kind of buffer (docs/internals/Ledger.md).

    Requires: a module as `ppc-phase-partition` leaves it. The program is not changed.
  }];
}

#endif // PPC_TRANSFORMS_PLAN_PASSES_TD
