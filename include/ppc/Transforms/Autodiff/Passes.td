// Passes of the train phase: backward, micro-batches, optimizer.
#ifndef PPC_TRANSFORMS_AUTODIFF_PASSES_TD
#define PPC_TRANSFORMS_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def SliceSequencePass : Pass<"ppc-slice-sequence", "ModuleOp"> {
  let summary = "split a loss function into slices of its sequences";
  let description = [{
    Replaces every op with a loop along the sequence by `count` copies, each for one slice of it (Seq1F1B, arXiv
    2406.03488): the dimensions that are sequences follow from the inputs (`ppc.dims` "sequence") through the sharding
    rules of the ops. Causal attention of a slice reads the keys and values of the slices before it and its own,
    concatenated; a rotation starts at the slice's first position; sums over the sequence accumulate slice by slice.
    Constants and parameters with a dimension along the sequence are sliced.

    Requires: a loss function without gradients; sequences that `count` divides; attention that is causal.
    Guarantees: the same loss up to rounding; ops of slice i have `ppc.slice` i, and read no values of later slices.

    Example (test/Transforms/Autodiff/slice-sequence.mlir): of `ppc.attention %q, %k, %v causal` over 8 positions in 2 slices, slice 1
    has 4 queries and 8 keys.
  }];
  let options = [Option<"count", "count", "int64_t", "0",
                        "slices of a sequence; 0: as the schedule of ppc.plan has, 1 without a plan">];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def BuildBackwardPass : Pass<"ppc-build-backward", "ModuleOp"> {
  let summary = "append reverse-mode gradients of all parameters to a loss function";
  let description = [{
    Turns `func @loss(...) -> tensor<f32>` into a function that also returns the gradient of the loss with respect to
    each argument that has `ppc.parameter`, in argument order.

    Requires: one function in the module, returning one float scalar; every op between a parameter and the loss
    differentiable (`DifferentiableOpInterface`).
    Guarantees: every op has `ppc.part`: forward for the ops before differentiation, weight_gradient for matmuls that
    compute a parameter's gradient and the ops that read them, backward for the others: gradients of norms, biases and
    tables read operands of the gradient of the input; gradient ops have the `ppc.layer` of the op that they
    differentiate. A parameter used in several layers gets one gradient per layer and a `ppc.sum` of them (part update).
    Gradients of a value are summed in the widest type in which they are computed and are rounded once to the value's
    own, or not at all through a `ppc.convert`. Gradient ops with the loops of the op that they differentiate have its
    `ppc.factors`; sums of gradients are sharded like their operands if these agree, else like the value. Results are
    labelled `ppc.result` ("loss", "gradient") and `ppc.of` (the parameter's name).

    Example (test/Transforms/Autodiff/build-backward.mlir): a matmul `y = x w` gives `dw = dy^T x` in part weight_gradient.
  }];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def SplitMicrobatchesPass : Pass<"ppc-split-microbatches", "ModuleOp"> {
  let summary = "run forward and backward once per micro-batch and sum the results";
  let description = [{
    Moves everything but the ops of part update into a `ppc.accumulate` over `count` micro-batches; what rounds a parameter
    (`ppc.convert`) stays before it, once per step. Which dimensions are
    batch dimensions follows from the inputs (dimension 0 of each `ppc.input` whose `ppc.dims` starts with "batch") through
    the sharding rules of the ops.

    Requires: the output of `ppc-build-backward`; the batch divisible by `count`; every result a sum over the batch (a
    loss that is a mean must be a sum times a constant).
    Guarantees: the same results up to rounding; ops inside have the shapes of one micro-batch.
  }];
  let options = [Option<"count", "count", "int64_t", "0",
                        "micro-batches per step; 0: as ppc.plan says, 1 without a plan">];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

def AppendOptimizerPass : Pass<"ppc-append-optimizer", "ModuleOp"> {
  let summary = "append gradient clipping and AdamW updates";
  let description = [{
    Adds arguments for the two moments of each parameter (`ppc.state` "m" and "v", `ppc.of` the parameter) and the scalars
    learning_rate and step (`ppc.scalar`), and returns, labelled by `ppc.result`: loss, grad_norm, gradients (before
    clipping), new parameters, new moments. The gradient norm is the Euclidean norm over all gradients; weight decay is
    decoupled and skips parameters with `ppc.no_weight_decay`. The function is renamed to @step.

    Requires: gradients labelled by `ppc-build-backward`.
    Guarantees: all added ops have part update.
  }];
  let options = [
    Option<"beta1", "beta1", "double", "0.9", "decay of the first moment">,
    Option<"beta2", "beta2", "double", "0.95", "decay of the second moment">,
    Option<"epsilon", "epsilon", "double", "1e-8", "added to the root of the second moment">,
    Option<"weightDecay", "weight-decay", "double", "0.1", "decoupled weight decay">,
    Option<"maxNorm", "max-norm", "double", "1.0", "gradients are clipped to this global norm; 0 turns clipping off">];
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

#endif // PPC_TRANSFORMS_AUTODIFF_PASSES_TD
