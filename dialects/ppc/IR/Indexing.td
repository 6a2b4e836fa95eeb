// Ops that address by index or position.
#ifndef PPC_IR_INDEXING_TD
#define PPC_IR_INDEXING_TD

include "dialects/ppc/IR/PpcAttrs.td"

def Ppc_EmbeddingOp : Ppc_DifferentiableOp<"embedding"> {
  let summary = "rows of a table, by index";
  let description = [{
    `y[..., :] = table[ids[...], :]`. With `rows`, the op holds one block of the table's rows and contributes zero for
    ids of other blocks, so that the sum over devices is the whole result. C1: `table` is two-dimensional; the result has
    the shape of `ids` and the row length. C2: element types of table and result are equal. An id outside the table is an
    error of the data. `padding_index` is an id whose row gets no gradient from lookups, as the one of a padding token in PyTorch; values
    do not depend on it. C3: it is a row of the whole table.

    Example: `%y = ppc.embedding %table, %ids : (tensor<131x16xf32>, tensor<2x8xi32>) -> tensor<2x8x16xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$table, Ppc_IndexTensor:$ids, OptionalAttr<Ppc_BlockAttr>:$rows,
                       OptionalAttr<I64Attr>:$padding_index);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = [{
    $table `,` $ids (`rows` $rows^)? (`padding_index` $padding_index^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "bool setFactorBlock(unsigned factor, ::mlir::Attribute block);";
}

def Ppc_EmbeddingBackwardOp : Ppc_FinalOp<"embedding_backward", "second derivatives are not built"> {
  let summary = "gradient of embedding with respect to its table";
  let description = [{
    `dtable[r, :] = sum of dy[i, :] over the positions i with ids[i] = r`. With `rows`, only the rows of one block. Positions with
    `ids[i] = padding_index` add nothing. C1: as `embedding`. C2: `padding_index` is a row of the whole table. Created by autodiff.

    Example: `%dt = ppc.embedding_backward %ids, %dy : (tensor<2x8xi32>, tensor<2x8x16xf32>) -> tensor<131x16xf32>`
  }];
  let arguments = (ins Ppc_IndexTensor:$ids, Ppc_FloatTensor:$dy, OptionalAttr<Ppc_BlockAttr>:$rows,
                       OptionalAttr<I64Attr>:$padding_index);
  let results = (outs Ppc_FloatTensor:$dtable);
  let assemblyFormat = [{
    $ids `,` $dy (`rows` $rows^)? (`padding_index` $padding_index^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef noGradientReason() { return "second derivatives are not built"; }
    bool setFactorBlock(unsigned factor, ::mlir::Attribute block);
  }];
}

def Ppc_RotaryOp : Ppc_DifferentiableOp<"rotary", [SameOperandsAndResultType]> {
  let summary = "rotary position embedding";
  let description = [{
    With n `frequencies` (radians per position), rotates the pairs (i, i + n) of the 2n elements of the last dimension that
    start at `offset` by the angle `position * frequencies[i]`, position being `start` plus the index along dimension 1 (Su et al., 2021;
    pairs as in Hugging Face's LLaMA); the other elements stay. `interleaved`: the pairs are (2i, 2i + 1). `inverse` rotates
    backwards. With `positions`, the op holds one block of them, which begins where the block does; past the block's extent the result is
    zero. C1: rank at least 3. C2: the rotated elements lie within the last dimension. C3: `start` is not negative. C4: the last
    position is no greater than a sequence may be long (docs/reference/Limits.md).

    Example: `%y = ppc.rotary %x frequencies [1.0, 0.01] : tensor<2x8x3x4xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, DenseF64ArrayAttr:$frequencies, DefaultValuedAttr<I64Attr, "0">:$offset,
                       UnitAttr:$interleaved, UnitAttr:$inverse, OptionalAttr<Ppc_BlockAttr>:$positions,
                       DefaultValuedAttr<I64Attr, "0">:$start);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = [{
    $x `frequencies` custom<ExactDoubles>($frequencies) (`offset` $offset^)? (`interleaved` $interleaved^)? (`inverse` $inverse^)?
    (`positions` $positions^)? (`start` $start^)? attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool setFactorBlock(unsigned factor, ::mlir::Attribute block);
    bool setFactorStart(unsigned factor, int64_t start);
    /// The elements of the last dimension that pair `i` rotates.
    std::pair<int64_t, int64_t> pair(int64_t i) {
      int64_t count = getFrequencies().size(), first = int64_t(getOffset()) + (getInterleaved() ? 2 * i : i);
      return {first, first + (getInterleaved() ? 1 : count)};
    }
  }];
}

#endif // PPC_IR_INDEXING_TD
