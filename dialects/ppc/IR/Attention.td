// Attention as one op, so that it can be sharded, costed and tiled as one.
#ifndef PPC_IR_ATTENTION_TD
#define PPC_IR_ATTENTION_TD

include "dialects/ppc/IR/PpcAttrs.td"

def Ppc_AttentionOp : Ppc_DifferentiableOp<"attention", [DeclareOpInterfaceMethods<StrategyOpInterface, ["getExchange"]>]> {
  let summary = "scaled dot-product attention with grouped heads";
  let description = [{
    `q` is `[batch, query, kv head, group, head dim]`, `k` is `[batch, key, kv head, head dim]` and `v`
    `[batch, key, kv head, value dim]`: query head (h, g) attends to the keys and values of kv head h. For each query i of a
    head, at key position `p = i + keys - queries`: `s_j = scale * q_i . k_j + slope * (j - p)` over all keys j (with
    `causal`: those with `j <= p`; with `window` w also `j > p - w`), `lse_i = ln sum_j e^{s_j}`,
    `out_i = sum_j e^{s_j - lse_i} v_j`. Without `slopes` (ALiBi, Press et al., 2021; one per query head) the slope is 0;
    slopes that depend on a parameter receive a gradient by a backward op of their own.

    With `queries`, the op holds one block of the queries and all keys: local query i is query `start + i` of the block's extent Q,
    at key position `p = start + i + keys - Q`. Rows past the extent are padding; their results are zero.

    `strategy` names how ranks share the op if the sequence is sharded. `<whole>`, or none: the sequence is not sharded.
    `<gather>`: queries may be sharded; keys and values are gathered, and their gradients, to which each block of
    queries adds, are reduce-scattered:
    ```
    device 0: q0 k0 v0          q0 k v    out0          dq0 (partial dk, dv)        dq0 dk0 dv0
    device 1: q1 k1 v1    ->    q1 k v    out1    ->    dq1 (partial dk, dv)   ->   dq1 dk1 dv1
    ```
    `<kv_heads>` (Ulysses; Jacobs et al., 2023): an all-to-all around the op turns sequence sharding into sharding of kv
    heads, so that each rank has all queries and keys of some heads; `q^1` is head 1 of all queries:
    ```
    device 0: q0 k0 v0          q^0 k^0 v^0    out^0          out0
    device 1: q1 k1 v1    ->    q^1 k^1 v^1    out^1    ->    out1
    ```
    `<head_group>`: as `<kv_heads>`, with the query heads of each group, if there are too few kv heads; keys and values
    are gathered.

    C1: ranks are 5, 4, 4; batch, kv head and head dim agree; there are as many keys as values.
    C2: `out` is `q` with the value dim for the head dim; `lse` is `[batch, query, kv head, group]`. Scores and
    exponentials are f32 or wider; exponentials are rounded to the type of `v` for their matmul.
    C3: element types are equal; `lse` and `slopes` may have f32 where the others have 16 bits. C4: with `causal`, there are at
    least as many keys as queries (as the extent of `queries`).
    C5: `window` is at least 1 and requires `causal`. C6: `slopes` is `[kv head, group]`. C7: the extent of `queries` is
    at least the number of queries of the op, and there is no `strategy` if there is such a block.

    Example: `%out, %lse = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 4 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$q, Ppc_FloatTensor:$k, Ppc_FloatTensor:$v, Optional<Ppc_FloatTensor>:$slopes,
                       F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
                       OptionalAttr<Ppc_AttentionStrategyAttr>:$strategy, OptionalAttr<Ppc_BlockAttr>:$queries);
  let results = (outs Ppc_FloatTensor:$out, Ppc_FloatTensor:$lse);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$q, "::mlir::Value":$k, "::mlir::Value":$v, "double":$scale, "bool":$causal,
                   CArg<"::mlir::Value", "{}">:$slopes, CArg<"int64_t", "0">:$window)>
  ];
  let assemblyFormat = [{
    $q `,` $k `,` $v `scale` $scale (`causal` $causal^)? (`window` $window^)? (`slopes` $slopes^ `as` type($slopes))?
    (`strategy` $strategy^)? (`queries` $queries^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `->` type($out) `,` type($lse)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "bool setFactorBlock(unsigned factor, ::mlir::Attribute block);";
}

def Ppc_AttentionBackwardOp : Ppc_FinalOp<"attention_backward", "second derivatives are not implemented", [
    DeclareOpInterfaceMethods<StrategyOpInterface, ["getExchange"]>, AllTypesMatch<["q", "dq"]>, AllTypesMatch<["k", "dk"]>,
    AllTypesMatch<["v", "dv"]>, AllTypesMatch<["out", "dout"]>]> {
  let summary = "gradients of attention";
  let description = [{
    With `p_ij = e^{s_ij - lse_i}` recomputed and `delta_i = dout_i . out_i`: `dv_j = sum_i p_ij dout_i`,
    `ds_ij = p_ij (dout_i . v_j - delta_i)`, `dq_i = scale * sum_j ds_ij k_j`, `dk_j = scale * sum_i ds_ij q_i`
    (Dao et al., FlashAttention, 2022); sums over i also run over the groups of a kv head. C1 to C7 as `attention`.
    `queries` and `strategy` as there: a block of queries gives its part of `dk` and `dv`. Gradients have the types of q, k, v.
    Created by autodiff.

    Example: `%dq, %dk, %dv = ppc.attention_backward %q, %k, %v, %out, %lse, %dout scale 5.000000e-01 causal : tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x3x4xf32>, tensor<2x8x2x3xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$q, Ppc_FloatTensor:$k, Ppc_FloatTensor:$v, Ppc_FloatTensor:$out, Ppc_FloatTensor:$lse,
                       Ppc_FloatTensor:$dout, Optional<Ppc_FloatTensor>:$slopes, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<I64Attr>:$window, OptionalAttr<Ppc_AttentionStrategyAttr>:$strategy,
                       OptionalAttr<Ppc_BlockAttr>:$queries);
  let results = (outs Ppc_FloatTensor:$dq, Ppc_FloatTensor:$dk, Ppc_FloatTensor:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $out `,` $lse `,` $dout `scale` $scale (`causal` $causal^)? (`window` $window^)?
    (`slopes` $slopes^ `as` type($slopes))? (`strategy` $strategy^)? (`queries` $queries^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `,` type($out) `,` type($lse)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef noGradientReason() { return "second derivatives are not implemented"; }
    bool setFactorBlock(unsigned factor, ::mlir::Attribute block);
  }];
}

#endif // PPC_IR_ATTENTION_TD
