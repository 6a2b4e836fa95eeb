// Calls into numerical libraries.
#ifndef PPCRT_IR_LIBRARY_TD
#define PPCRT_IR_LIBRARY_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"

def PpcRt_GemmOp : PpcRt_DestinationOp<"gemm"> {
  let summary = "matrix products with compile-time strides";
  let description = [{
    For each index of the loops: `C = A B`, or `C += A B` with `accumulate`; A is m x k, B is k x n, C is m x n. `sizes` is
    `[m, n, k]`; `strides` is, in elements, `[A row, A column, B row, B column, C row, C column]`; `loops` holds four
    numbers per loop: `[size, A stride, B stride, C stride, ...]`. Strides may be 0. Over a loop whose C stride is 0 the
    products add up (the first iteration honours `accumulate`).

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

#endif // PPCRT_IR_LIBRARY_TD
