// Passes for activation recomputation.
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

    In addition, whatever the plan gives, marks elementwise ops of one value that backward reads in any case, if
    backward uses the result in elementwise ops only: SiLU before the matmul of SwiGLU is recomputed in the loop that
    reads the gate's input for its gradient. It also marks the split of a matmul's result if backward reads all parts in
    elementwise ops only, as gate and up of experts: the matmul's result is saved, and its parts are read there.

    Outputs of a layer are always saved. Existing marks stay.

    Requires: `#ppc.plan`, `ppc.layer` and `ppc.part` on the ops of the accumulate.
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def FitRecomputePass : Pass<"ppc-fit-recompute", "ModuleOp"> {
  let summary = "mark the values that are cheapest to recompute until each stage saves the given number of bytes less";
  let description = [{
    For each stage, marks forward ops with `ppc.recompute` until backward needs `save` bytes less per micro-batch from
    forward, or as many less as possible (a remark reports it), and adds them to the `recompute` of `#ppc.plan`, by
    name.

    Minimizing the time of copies + multiplier x saved bytes of a layer is a minimum cut, for each multiplier: these
    choices are the convex hull of all choices. Choices between them are found by branch and bound, up to a limit on their
    number. The choices of the layers of a stage are combined exactly if few sums of them have to be followed,
    else along the hulls, the step that frees most bytes per time first, which gives a bound as well
    (`ppc/Transforms/Recompute/RecomputeGraph.h`). Times are rooflines: bytes moved or FLOPs, whichever takes longer;
    collectives eight times their bytes.

    Remarks (`--remarks-filter=ppc-recompute`): per stage, the bytes freed, and a lower bound on the time for as many
    bytes as a share of its time.

    Requires: as `ppc-select-recompute`, after it.
  }];
  let options = [ListOption<"save", "save", "int64_t", "bytes per micro-batch, one number per stage; none: nothing is done">,
                 Option<"machineBalance", "machine-balance", "double", "8", "FLOPs in the time in which memory moves a byte">];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def MaterializeRecomputePass : Pass<"ppc-materialize-recompute", "ModuleOp"> {
  let summary = "clone marked ops into backward";
  let description = [{
    The backward and weight-gradient ops of a `ppc.accumulate` that use the result of an op with `ppc.recompute` use a
    copy instead, with `ppc.part` backward and the layer and stage of the original. A copy uses copies of marked ops,
    and the saved results of the others. It is placed before its first user, so it lives as short as it can. Collectives
    are copied as well: all ranks of their groups run the same program, so all copy the same. If backward repeats the
    gather of a marked gather, the copy serves both.

    Forward ops that only backward needed are erased. `ppc.recompute` is gone afterwards.

    Requires: local types (`ppc-partition-to-spmd`); marked ops are `forward` and have no regions.
    Guarantees: the same values; what crosses from forward to backward does not come from a marked op.
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

#endif // PPC_TRANSFORMS_RECOMPUTE_PASSES_TD
