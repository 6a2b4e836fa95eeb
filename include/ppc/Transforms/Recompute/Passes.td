// Passes that let backward compute again what forward need not keep.
#ifndef PPC_TRANSFORMS_RECOMPUTE_PASSES_TD
#define PPC_TRANSFORMS_RECOMPUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectRecomputePass : Pass<"ppc-select-recompute", "ModuleOp"> {
  let summary = "mark the ops whose results backward recomputes";
  let description = [{
    Sets `ppc.recompute` on forward ops of the `ppc.accumulate` as the `recompute` of `#ppc.plan` says, layer by layer:

    - `"full"`: every op of the layer; only what enters the layer is kept (Chen et al., arXiv 1604.06174);
    - `"selective"`: attention (Korthikanti et al., arXiv 2205.05198);
    - a list of op names: the results of those ops.

    Besides, whatever the plan says, elementwise ops of one value that backward reads in any case, where it uses the result in elementwise
    ops only: SiLU before the product of SwiGLU is computed again in the loop that reads the gate's input for its gradient. And the
    split of a product's result, all of whose parts backward reads in elementwise ops only, as gate and up of experts: what the product wrote is
    kept, and its parts are read there.

    What leaves a layer is always kept. Marks that are there already stay.

    Requires: `#ppc.plan`, `ppc.layer` and `ppc.part` on the ops of the accumulate.
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def FitRecomputePass : Pass<"ppc-fit-recompute", "ModuleOp"> {
  let summary = "mark the values that are cheapest to recompute until each stage saves the given number of bytes less";
  let description = [{
    For each stage, marks forward ops with `ppc.recompute` until backward needs `save` bytes less per micro-batch from forward,
    or as many less as can be (a remark says so), and adds them to the `recompute` of `#ppc.plan`, by name.

    The least time of copies + price x bytes that are kept of a layer is a cut of least weight, for each price: these choices are the convex
    hull of what can be had. Those between them are found by branch and bound, as far as a number of cuts goes. The choices of the
    layers of a stage are put together exactly where few sums of them have to be followed, else along the hulls, the step that saves most bytes
    per time first, which gives a bound as well (`ppc/Transforms/Recompute/RecomputeGraph.h`). Times are rooflines: bytes moved or FLOPs,
    whichever takes longer; collectives eight times their bytes.

    Remarks (`--remarks-filter=ppc-recompute`): per stage, what is saved, and what share of its time saving as much takes at least.

    Requires: as `ppc-select-recompute`, after it.
  }];
  let options = [ListOption<"save", "save", "int64_t", "bytes per micro-batch, one number per stage; none: nothing is done">,
                 Option<"machineBalance", "machine-balance", "double", "8", "FLOPs in the time in which memory moves a byte">];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def MaterializeRecomputePass : Pass<"ppc-materialize-recompute", "ModuleOp"> {
  let summary = "clone marked ops into backward";
  let description = [{
    The backward and weight-gradient ops of a `ppc.accumulate` that use the result of an op with `ppc.recompute` use a copy
    instead, with `ppc.part` backward and the layer and stage of the original. A copy uses copies of marked ops, and what is
    kept of the others. It stands before its first user, so it lives as short as it can. Collectives are copied as well: all
    ranks of their groups run the same program, so all copy the same. Where backward gathers what a marked gather gathers, the
    copy stands for both.

    Forward ops that only backward needed are erased. `ppc.recompute` is gone afterwards.

    Requires: local types (`ppc-partition-to-spmd`); marked ops are `forward` and have no regions.
    Guarantees: the same values; what crosses from forward to backward does not come from a marked op.
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

#endif // PPC_TRANSFORMS_RECOMPUTE_PASSES_TD
