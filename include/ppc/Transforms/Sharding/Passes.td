// Passes that turn a planned logical program into one rank's program.
#ifndef PPC_TRANSFORMS_SHARDING_PASSES_TD
#define PPC_TRANSFORMS_SHARDING_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandCrossEntropyPass : Pass<"ppc-expand-cross-entropy", "mlir::ModuleOp"> {
  let summary = "write the loss with ops whose classes can be sharded";
  let description = [{
    Replaces `nll, lse = ppc.cross_entropy logits, targets` by `lse = ppc.log_sum_exp logits`, `nll = lse -
    ppc.pick(logits, targets)`. A log_sum_exp over sharded classes is partial and combines by `log_sum_exp`; a pick is a
    partial sum: with these no device ever holds all classes.

    Requires: nothing; differentiation must be over, for `log_sum_exp` and `pick` have no derivative.
    Guarantees: no `ppc.cross_entropy` is left; the new ops have its discardable attributes (part, layer, stage).

    Example (test/Transforms/Sharding/expand-cross-entropy.mlir):
    ```mlir
    %lse = ppc.log_sum_exp %logits : tensor<2x8x131xf32> to tensor<2x8xf32>
    %picked = ppc.pick %logits, %targets : (tensor<2x8x131xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>
    %nll = ppc.sub %lse, %picked : tensor<2x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def SearchShardingsPass : Pass<"ppc-search-shardings", "mlir::ModuleOp"> {
  let summary = "find the layout of every op that takes the least time, and write it as a plan";
  let description = [{
    Decomposes the model into templates of layers, estimates the cost of every sharding of every op over the
    tensor-parallel axes on the cluster, and finds the best combination, by exact dynamic programming
    (docs/internals/Search.md). It has no built-in kinds of parallelism: column- and row-parallel matmuls, sequence
    parallelism, sharding in two dimensions and replicated weights are all layouts that it compares.

    The mesh is `dp` and the axes of `tensor-parallel`, one pipeline stage. The batch is sharded over dp; a micro-batch
    per data-parallel rank has `micro-batch` sequences.

    Requires: one function that computes a loss (before `ppc-phase-train`), with `ppc.input`, `ppc.parameter` and `ppc.dims`
    on its arguments.
    Guarantees: `ppc.plan` on the module with a sharding for every parameter and axes for the dimensions of the inputs;
    `ppc.factors` on every op, which `ppc-propagate-shardings` keeps. Or an error: the dimension that does not divide,
    or the minimal memory of any layout. Remarks of category `ppc-plan`: how each op is sharded, its time, the best plan
    that shards it in another way, and the reason why that one is worse.

    Example (test/Transforms/Sharding/search-shardings.mlir):
    ```mlir
    %h = ppc.matmul "th,wh->tw" %x, %up {ppc.factors = {w = ["tp"]}} : ...
    ```
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"local\"", "the machine: a preset or a YAML file (docs/reference/Clusters.md)">,
    Option<"dp", "dp", "int64_t", "1", "data-parallel degree: parts of the batch">,
    ListOption<"tensorParallel", "tensor-parallel", "int64_t", "sizes of the axes that shard layers, outermost first">,
    Option<"microBatch", "micro-batch", "int64_t", "1", "sequences per micro-batch and data-parallel rank">,
    Option<"memoryLimit", "memory-limit", "int64_t", "0",
           "bytes per rank for parameters, their state and saved activations; 0: no limit">,
    Option<"target", "target", "std::string", "::mlir::ppc::defaultTarget().name.str()", "device family whose programs run the plan">];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def PropagateShardingsPass : Pass<"ppc-propagate-shardings", "mlir::ModuleOp"> {
  let summary = "decide how every op is sharded, from the shardings of the arguments";
  let description = [{
    Spreads the axes of the function arguments over the program: the axes of a dimension also shard the factor of its
    loop, and every other dimension of the factor, forwards and backwards until nothing changes. Dimensions of arguments
    without axes stay replicated; all other values are open. The first to claim an axis keeps it: axes of arguments
    before those of computed values, operands before results, earlier before later; an axis shards at most one factor of
    an op. A factor that needs replication is never sharded. An op that has `ppc.factors` before, empty or not, is
    sharded exactly by these; an op that has `ppc.shardings`, in the way that gives its results these shardings. If
    there is none, that is an error.

    Requires: `ppc.plan` on the module; `ppc.sharding` on function arguments (`ppc-apply-plan` writes it; without it an
    argument is replicated).
    The plan's shardings of activations (`activations = {sequence = ["tp"]}`) come last: an op that has a dimension of
    that name, as the inputs name theirs, and features besides, and that none of these axes shards yet, is sharded along
    it. Gradients have the sharding of the optimizer state.

    Guarantees: every op has `ppc.shardings`, one per result, with partial axes if a sharded factor is reduced; sharded
    ops have `ppc.factors`; `ppc.accumulate` has `ppc.operand_shardings`; results of functions have `ppc.sharding`: the
    sharding of the parameter or state whose gradient or new value they are (`ppc.result`, `ppc.of`), else the sharding
    that the program computes. Nothing is rewritten, and uses may not fit yet: see `ppc-insert-reshards`.

    Example (test/Transforms/Sharding/propagate-shardings.mlir): with `%x` sharded `[{dp}, {} ]` and `%up` sharded
    `[{tp}, {} ]`,
    ```mlir
    %h = ppc.matmul "mk,nk->mn" %x, %up {ppc.factors = {m = ["dp"], n = ["tp"]},
                                         ppc.shardings = [#ppc.sharding<[{dp}, {tp} ]>]} : ...
    ```
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def InsertReshardsPass : Pass<"ppc-insert-reshards", "mlir::ModuleOp"> {
  let summary = "insert reshards so that every use has the sharding that it needs";
  let description = [{
    If the sharding of a value is not the one that a use needs, inserts a `ppc.reshard` in between; uses with the same
    need share it, and a later one starts from whichever form of the value is cheapest to convert. Partial sums are kept
    partial for as long as every use is linear in them, so that they are reduced late and once: through linear ops
    (unless the result is larger than the operand), and out of `ppc.accumulate`, where gradients of replicated weights
    stay partial over the data axes for all micro-batches; through matmuls of one partial operand, if the result is
    added to a value that is partial anyway or summed over micro-batches. A `ppc.sum` of values that are partial over
    different axes is regrouped: equal ones are added first and each group is reduced once. Splat constants are repeated
    instead of resharded. Backward repeats the gathers of the forward pass instead of saving gathered values.

    Requires: the annotations of `ppc-propagate-shardings`.
    Guarantees: every operand has exactly the sharding that its op needs; function results are not partial; only sums
    are partial in a `ppc.yield`; run again, it changes nothing. New reshards have the part, layer and stage of the
    value (else of the use) that they serve. Each is reported as a remark of category `ppc-sharding` with its
    collectives and bytes.

    Example (test/Transforms/Sharding/insert-reshards.mlir): the row-parallel matmul of an MLP
    ```mlir
    %p = ppc.matmul ... ppc.shardings = [#ppc.sharding<[{dp}, {} ], partial = {tp: sum}>]} : ...
    %y = ppc.reshard %p to <[{dp}, {} ]> ...
    ```
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def PartitionToSpmdPass : Pass<"ppc-partition-to-spmd", "mlir::ModuleOp"> {
  let summary = "rewrite logical tensors to one rank's blocks and reshards to collectives";
  let description = [{
    Gives every value the type of its local block, ceil(n / k) elements of a dimension of n sharded k ways, tells each
    op the block of a sharded factor that it holds (`setFactorBlock`), and replaces each `ppc.reshard` by the cheapest
    sequence of collectives. The padding of uneven blocks is never seen by a result: arguments are padded with zeros,
    ops that keep zero padding are tracked, and where a reduction or a function result would see anything else,
    `ppc.mask_padding` comes first; gathers drop padding.

    Requires: the output of `ppc-insert-reshards`.
    Guarantees: no `ppc.reshard`, no sharding annotation on ops is left; arguments and results of functions have
    `ppc.sharding` and `ppc.logical_type` (the type before). Attributes such as part, layer and stage are kept.

    Example (test/Transforms/Sharding/partition-to-spmd.mlir), on `#ppc.grid<dp = 2, tp = 2>`:
    ```mlir
    %p = ppc.matmul "mk,nk->mn" %a, %down : (tensor<4x16xf32>, tensor<64x16xf32>) -> tensor<4x64xf32>
    %y = ppc.all_reduce %p over ["tp"] <sum> : tensor<4x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def SimplifyCollectivesPass : Pass<"ppc-simplify-collectives", "mlir::ModuleOp"> {
  let summary = "merge, fold and share collectives";
  let description = [{
    - `sum(all_reduce(a), all_reduce(b), rest)` becomes `sum(all_reduce(sum(a, b)), rest)`; likewise for `add` and `sub`, and for
      `reduce_scatter`, unless the values come from different stages;
    - `all_reduce` over some axes of an `all_reduce` over others, with one combiner, becomes one over all of them;
    - `local_slice` of an `all_reduce` over the same axes becomes `reduce_scatter`;
    - `local_slice` of an `all_gather`, and `all_gather` of a `local_slice`, over the same dimension and axes, cancel where
      blocks are even (the second always);
    - equal ops are shared (CSE), collectives included: they are pure, and every rank runs the same program.

    A collective that has other uses is never duplicated.

    Requires: the output of `ppc-partition-to-spmd`. Guarantees: the same values up to the order of sums.

    Example (test/Transforms/Sharding/simplify-collectives.mlir):
    ```mlir
    %s = ppc.add %a, %b : tensor<4xf32>
    %y = ppc.all_reduce %s over ["tp"] <sum> : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def RotateShardsPass : Pass<"ppc-rotate-shards", "ModuleOp"> {
  let summary = "choose which gathered parameters circulate on a ring of their ranks instead";
  let description = [{
    Runs if the plan rotates: sets `rotated` on each gather of an argument of the code of a micro-batch, whose blocks
    are of one size and whose only use is a matmul, over ranks of `data` or `context` axes alone: these ranks compute
    different results, each in an order of its own. Other gathers are unchanged. The values are the same;
    `ppc-rotate-products` writes the steps.

    Requires: a scheduled `ppcrt.program` on tensors (`ppc-apply-schedule`).
  }];
}

#endif // PPC_TRANSFORMS_SHARDING_PASSES_TD
