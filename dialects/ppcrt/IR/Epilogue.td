// Matmuls with a fused epilogue.
#ifndef PPCRT_IR_EPILOGUE_TD
#define PPCRT_IR_EPILOGUE_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"
include "mlir/IR/EnumAttr.td"

def PpcRt_ActivationAttr : I32EnumAttr<"Activation", "function applied to the sums of a matmul", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Gelu", 1, "gelu">,
    I32EnumAttrCase<"GeluGradient", 2, "gelu_gradient">]> {
  let cppNamespace = "::mlir::ppcrt";
}

def PpcRt_EpilogueGemmOp : PpcRt_Op<"epilogue_gemm", [
    AttrSizedOperandSegments, DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "matmul with a fused epilogue: adds to its sums and stores a function of them";
  let description = [{
    `S = A B + addend + bias`, of which `addend` and `bias` may be missing; A is m x k, B is n columns of k numbers from column `column` on
    of a matrix that may have more. `addend`, `at` and all of `outs` are m x n in rows without gaps; bias j of the buffer is added to
    column j of that matrix. The first of `outs` is `S` (`none`), `S P(S)` (`gelu`, P as in `ppc.gelu` with `tanh`), or `S` times the derivative of
    that at `at` (`gelu_gradient`); the second, which only `gelu` may have, is `S`. Sums are in f32, and each result is rounded once from
    them. `sizes` is `[m, n, k]`; `strides` is, in elements, `[A row, A column, B row, B column]`.

    C1: three sizes, each at least 1, and four strides, none negative. C2: A and B are both f32 or both bf16; all others
    have one element type, the type of A or f32. C3: `at` is given if and only if the activation is `gelu_gradient`,
    which has no bias, and only `gelu` has a second result. C4: no matrix reaches past its buffer, and `addend`, `at`
    and `outs` have m n elements. C5: results have the types of the destinations.

    Lifespan: created by `ppc-fuse-epilogues` for targets whose library does it; written into the program's table of operations.

    Example: `%y, %s = ppcrt.epilogue_gemm ins(%a, %b : tensor<16x8xbf16>, tensor<8x32xbf16>) bias(%c : tensor<32xbf16>) outs(%d, %e :
    tensor<16x32xbf16>, tensor<16x32xbf16>) activation gelu sizes [16, 32, 8] strides [8, 1, 32, 1] -> tensor<16x32xbf16>,
    tensor<16x32xbf16>`
  }];
  let arguments = (ins PpcRt_Buffer:$a, PpcRt_Buffer:$b, Optional<PpcRt_Buffer>:$addend, Optional<PpcRt_Buffer>:$bias,
                       Optional<PpcRt_Buffer>:$at, Variadic<PpcRt_Buffer>:$outs, PpcRt_ActivationAttr:$activation,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides, DefaultValuedAttr<I64Attr, "0">:$column);
  let results = (outs Variadic<AnyStaticShapeTensor>:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// What ppcrt_gemm would be given for `A B` alone, from column `column` on.
    ::llvm::SmallVector<int64_t> descriptor();
  }];
  let assemblyFormat = [{
    `ins` `(` $a `,` $b `:` type($a) `,` type($b) `)` (`addend` `(` $addend^ `:` type($addend) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`at` `(` $at^ `:` type($at) `)`)? `outs` `(` $outs `:` type($outs) `)` `activation` $activation `sizes` $sizes `strides` $strides
    attr-dict (`->` type($result)^)?
  }];
}

#endif // PPCRT_IR_EPILOGUE_TD
