// Calls into numerical libraries.
#ifndef PPCRT_IR_LIBRARY_TD
#define PPCRT_IR_LIBRARY_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"

def PpcRt_GemmOp : PpcRt_DestinationOp<"gemm"> {
  let summary = "matmuls with compile-time strides";
  let description = [{
    For each index of the loops: `C = A B`, or `C += A B` with `accumulate`; A is m x k, B is k x n, C is m x n. `sizes` is
    `[m, n, k]`; `strides` is, in elements, `[A row, A column, B row, B column, C row, C column]`; `loops` holds four
    numbers per loop: `[size, A stride, B stride, C stride, ...]`. Strides may be 0. Over a loop whose C stride is 0 the
    results accumulate (the first iteration honours `accumulate`).

    C1: three sizes, six strides, four numbers per loop, none negative. C2: at most 8 loops. C3: no matrix reaches past
    its buffer. C4: the element types are equal, f32 or f64; or A and B are bf16 and C is
    f32 or bf16, rounded once from a sum in f32. C5: the result, if any, has the type of the destination.

    Lifespan: created by `ppc-to-ppc-rt`, lowered by `ppc-rt-to-llvm`.

    Example: `%r = ppcrt.gemm ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>) outs(%c : tensor<4x2xf32>) sizes [4, 2, 8]
    strides [8, 1, 2, 1, 2, 1] loops [] -> tensor<4x2xf32>`
  }];
  let arguments = (ins PpcRt_Buffer:$a, PpcRt_Buffer:$b, PpcRt_Buffer:$out, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$loops, UnitAttr:$accumulate);
  let assemblyFormat = [{
    `ins` `(` $a `,` $b `:` type($a) `,` type($b) `)` `outs` `(` $out `:` type($out) `)`
    `sizes` $sizes `strides` $strides `loops` $loops (`accumulate` $accumulate^)? attr-dict (`->` type($result)^)?
  }];
}

// An op with several inputs and several `outs` operands, whose old contents do not matter.
class PpcRt_AttentionLikeOp<string mnemonic> : PpcRt_Op<mnemonic, [
    AttrSizedOperandSegments, DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Variadic<PpcRt_Buffer>:$ins, Variadic<PpcRt_Buffer>:$outs, Optional<Index>:$first, F64Attr:$scale,
                       UnitAttr:$causal, OptionalAttr<I64Attr>:$window);
  let results = (outs Variadic<AnyStaticShapeTensor>:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }";
  let assemblyFormat = [{
    `ins` `(` $ins `:` type($ins) `)` `outs` `(` $outs `:` type($outs) `)` `scale` $scale (`causal` $causal^)? (`window` $window^)?
    (`first` $first^)? attr-dict (`->` type($result)^)?
  }];
}

def PpcRt_AttentionOp : PpcRt_AttentionLikeOp<"attention"> {
  let summary = "scaled dot-product attention in tiles";
  let description = [{
    `ins` are q `[batch, query, kv head, group, dim]`, k `[batch, key, kv head, dim]`, v `[batch, key, kv head, value
    dim]` and, if scores have slopes, the slopes `[kv head, group]`; `outs` are the result `[batch, query, kv head,
    group, value dim]` and the logarithms of the sums of exponentials `[batch, query, kv head, group]`, as in
    `ppc.attention`. `first` is the position of the first query among the keys, for queries that are a block of others;
    rows at or past the last key are padding, and their results zero. Without it, the last query is at the last key.

    C1: three or four inputs and two outputs of these shapes. C2: one element type, f32 or f64; or bf16, with logarithms and slopes in f32. C3: `window` goes with `causal`.
    C4: results have the types of the destinations.

    Lifespan: created by `ppc-to-ppc-rt`, lowered by `ppc-rt-to-llvm`.

    Example: `%out, %lse = ppcrt.attention ins(%q, %k, %v : tensor<1x4x1x2x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>)
    outs(%o, %l : tensor<1x4x1x2x8xf32>, tensor<1x4x1x2xf32>) scale 5.000000e-01 causal -> tensor<1x4x1x2x8xf32>,
    tensor<1x4x1x2xf32>`
  }];
}

def PpcRt_AttentionBackwardOp : PpcRt_AttentionLikeOp<"attention_backward"> {
  let summary = "gradients of attention in tiles";
  let description = [{
    `ins` are q, k, v, the result, the logarithms, the gradient of the result and, if scores have slopes, those; `outs` are the
    gradients of q, k and v: what `ppc.attention_backward` says, and, on buffers, two of scratch that kernels of the target want
    (f32, of rank 1). C1: six or seven inputs and three outputs of the shapes that `ppcrt.attention` names, and none or two of scratch. C2 to C4 as there.

    Lifespan: created by `ppc-to-ppc-rt`, lowered by `ppc-rt-to-llvm`.

    Example: `%dq, %dk, %dv = ppcrt.attention_backward ins(%q, %k, %v, %out, %lse, %dout : tensor<1x4x1x2x8xf32>,
    tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x2x8xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2x8xf32>) outs(%x, %y, %z :
    tensor<1x4x1x2x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>) scale 5.000000e-01 causal -> tensor<1x4x1x2x8xf32>,
    tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>`
  }];
}

#endif // PPCRT_IR_LIBRARY_TD
