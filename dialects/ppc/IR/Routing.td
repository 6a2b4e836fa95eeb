// Mixtures of experts: the choice of experts for a token, dispatch and combine. Experts compute with `matmul`, whose
// batch index is the expert, so that expert parallelism shards a dimension like any other.
#ifndef PPC_IR_ROUTING_TD
#define PPC_IR_ROUTING_TD

include "dialects/ppc/IR/PpcAttrs.td"

def Ppc_TopKOp : Ppc_DifferentiableOp<"top_k"> {
  let summary = "the largest elements of each row, and their indices";
  let description = [{
    Row by row (the last dimension), `ids` are the positions of the k largest elements of `scores + bias`, largest first, the
    first of equal ones first; `values` are the elements of `scores` there. With `groups` g and `groups_per_row` m, only the
    elements of m of g equal groups of neighbours take part: those whose two largest elements have the largest sum
    (DeepSeek-V3, arXiv 2412.19437). The bias selects: its gradient is zero.

    C1: `values` and `ids` have the shape of `scores` but for the last dimension, k, at least 1 and at most that of `scores`.
    C2: element types of scores and values are equal. C3: `bias` is one-dimensional, as long as a row.
    C4: the groups divide a row, and `groups_per_row` of them, at least 1 and at most all, hold k elements.

    Example: `%values, %ids = ppc.top_k %scores : tensor<2x8x4xf32> -> tensor<2x8x2xf32>, tensor<2x8x2xi32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$scores, Optional<Ppc_FloatTensor>:$bias, DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<I64Attr, "1">:$groups_per_row);
  let results = (outs Ppc_FloatTensor:$values, Ppc_IndexTensor:$ids);
  let assemblyFormat = [{
    $scores (`bias` $bias^ `as` type($bias))? (`groups` $groups^)? (`groups_per_row` $groups_per_row^)? attr-dict
    `:` type($scores) `->` type($values) `,` type($ids)
  }];
  let hasVerifier = 1;
}

def Ppc_TopKBackwardOp : Ppc_FinalOp<"top_k_backward", "second derivatives are not implemented"> {
  let summary = "gradient of top_k with respect to the scores";
  let description = [{
    `dscores[..., e] = sum of dvalues[..., j] over j with ids[..., j] = e`. C1: `ids`, `dvalues` and the result agree in all
    dimensions but the last of the result. Created by autodiff.

    Example: `%ds = ppc.top_k_backward %ids, %dv : (tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x8x4xf32>`
  }];
  let arguments = (ins Ppc_IndexTensor:$ids, Ppc_FloatTensor:$dvalues);
  let results = (outs Ppc_FloatTensor:$dscores);
  let assemblyFormat = "$ids `,` $dvalues attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

// Common operands of routing ops: `ids` is [batch, token, k], `weights` has the same shape, `slots` is [batch, expert,
// slot, hidden].
class Ppc_RoutingOp<string mnemonic> : Ppc_DifferentiableOp<mnemonic> {
  let hasVerifier = 1;
  let extraClassDeclaration = "bool setFactorBlock(unsigned factor, ::mlir::Attribute block);";
}

def Ppc_DispatchOp : Ppc_RoutingOp<"dispatch"> {
  let summary = "tokens to the slots of their experts";
  let description = [{
    `x` is `[batch, token, hidden]`, `ids` `[batch, token, k]` names the experts of each token, the result is `[batch,
    expert, slot, hidden]`. If there are as many slots as tokens, each token has the slot of its own number, so that
    tokens and slots are sharded together; it names an expert at most once. With fewer slots, in each batch, (token, j)
    takes the next free slot of expert `ids[token, j]`, in the order of tokens, then j; a token for which no slot is
    left is dropped, and unused slots are zero. A slot holds `x[token]` times `weights[token, j]` (1 without weights).
    With `experts`, the op holds one block of the experts and leaves out the others' tokens. The adjoint of `combine`.

    C1: ranks are 3, 3, 3 and 4; batch, tokens and hidden agree, weights are shaped like ids. C2: element types are equal. An id
    that names no expert is an error of the data.

    Example: `%slots = ppc.dispatch %x, %ids : (tensor<2x8x16xf32>, tensor<2x8x2xi32>) -> tensor<2x4x4x16xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_IndexTensor:$ids, Optional<Ppc_FloatTensor>:$weights, OptionalAttr<Ppc_BlockAttr>:$experts);
  let results = (outs Ppc_FloatTensor:$slots);
  let assemblyFormat = "$x `,` $ids (`weights` $weights^)? (`experts` $experts^)? attr-dict `:` functional-type(operands, results)";
}

def Ppc_CombineOp : Ppc_RoutingOp<"combine"> {
  let summary = "from the slots of experts back to tokens";
  let description = [{
    `y[token] = sum over j of weights[token, j] * slots[ids[token, j], p(token, j)]`, p being the slot that `dispatch` of the same
    ids gives (1 without weights); what was dropped adds nothing. With `experts`, the op holds one block of the experts and
    adds up their part. C1, C2 as `dispatch`. The adjoint of `dispatch`.

    Example: `%y = ppc.combine %slots, %ids weights %w : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x8x16xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$slots, Ppc_IndexTensor:$ids, Optional<Ppc_FloatTensor>:$weights, OptionalAttr<Ppc_BlockAttr>:$experts);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$slots `,` $ids (`weights` $weights^)? (`experts` $experts^)? attr-dict `:` functional-type(operands, results)";
}

def Ppc_RoutingWeightsGradientOp : Ppc_FinalOp<"routing_weights_gradient", "second derivatives are not implemented"> {
  let summary = "gradient of dispatch and combine with respect to their weights";
  let description = [{
    `dweights[token, j] = slots[ids[token, j], p(token, j)] . x[token]`, zero for what was dropped; p as for `combine`. With
    `experts`, for one block of the experts; zero for others. C1, C2 as `dispatch`. Created by autodiff.

    Example: `%dw = ppc.routing_weights_gradient %slots, %ids, %dy : (tensor<2x4x4x16xf32>, tensor<2x8x2xi32>, tensor<2x8x16xf32>) -> tensor<2x8x2xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$slots, Ppc_IndexTensor:$ids, Ppc_FloatTensor:$x, OptionalAttr<Ppc_BlockAttr>:$experts);
  let results = (outs Ppc_FloatTensor:$dweights);
  let assemblyFormat = "$slots `,` $ids `,` $x (`experts` $experts^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef noGradientReason() { return "second derivatives are not implemented"; }
    bool setFactorBlock(unsigned factor, ::mlir::Attribute block);
  }];
}

#endif // PPC_IR_ROUTING_TD
