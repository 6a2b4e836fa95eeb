// Losses.
#ifndef PPC_IR_LOSS_TD
#define PPC_IR_LOSS_TD

include "dialects/ppc/IR/PpcAttrs.td"

def Ppc_CrossEntropyOp : Ppc_DifferentiableOp<"cross_entropy"> {
  let summary = "negative log-likelihood of target classes";
  let description = [{
    For each position: `lse = ln sum_c e^{logits[c]}`, `nll = lse - logits[target]`. C1: `targets`, `nll` and `lse` have
    the dimensions of `logits` but the last (the classes). C2: element types of logits, nll and lse are equal. Lifespan:
    created by importers, replaced by `log_sum_exp`, `pick` and `sub` in `ppc-expand-cross-entropy` (after autodiff), whose
    rules allow sharded classes.

    Example: `%nll, %lse = ppc.cross_entropy %logits, %targets : (tensor<2x8x131xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)`
  }];
  let arguments = (ins Ppc_FloatTensor:$logits, Ppc_IndexTensor:$targets);
  let results = (outs Ppc_FloatTensor:$nll, Ppc_FloatTensor:$lse);
  let assemblyFormat = "$logits `,` $targets attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Ppc_PickOp : Ppc_FinalOp<"pick", "created from cross_entropy after autodiff"> {
  let summary = "one element per row, by index";
  let description = [{
    `y[...] = x[..., ids[...]]`. With `classes`, the op holds one block of the last dimension and contributes zero for
    ids of other blocks. C1: `ids` and the result have the dimensions of `x` but the last. C2: element types of x and y
    are equal.

    Example: `%y = ppc.pick %x, %ids : (tensor<2x8x131xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_IndexTensor:$ids, OptionalAttr<Ppc_BlockAttr>:$classes);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x `,` $ids (`classes` $classes^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef noGradientReason() { return "created from cross_entropy after autodiff"; }
    bool setFactorBlock(unsigned factor, ::mlir::Attribute block);
  }];
}

def Ppc_CrossEntropyBackwardOp : Ppc_FinalOp<"cross_entropy_backward", "second derivatives are not implemented"> {
  let summary = "gradient of cross_entropy with respect to the logits";
  let description = [{
    `dlogits[..., c] = (e^{logits[..., c] - lse[...]} - [c = targets[...]]) * dnll[...]`. With `classes`, for one block
    of the classes; padding gets zero. C1, C2 as `cross_entropy`. Created by autodiff.

    Example: `%d = ppc.cross_entropy_backward %logits, %targets, %lse, %dnll : (tensor<2x8x131xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8x131xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$logits, Ppc_IndexTensor:$targets, Ppc_FloatTensor:$lse, Ppc_FloatTensor:$dnll,
                       OptionalAttr<Ppc_BlockAttr>:$classes);
  let results = (outs Ppc_FloatTensor:$dlogits);
  let assemblyFormat = "$logits `,` $targets `,` $lse `,` $dnll (`classes` $classes^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef noGradientReason() { return "second derivatives are not implemented"; }
    bool setFactorBlock(unsigned factor, ::mlir::Attribute block);
  }];
}

#endif // PPC_IR_LOSS_TD
