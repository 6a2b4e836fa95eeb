// Collective communication on tensors, between the devices of one stage or between stages.
#ifndef PPC_IR_COLLECTIVE_TD
#define PPC_IR_COLLECTIVE_TD

include "dialects/ppc/IR/PpcAttrs.td"

// Every collective names the mesh axes over which it communicates: a group is the ranks that differ only in these
// axes, ordered row-major in the listed order. Groups work independently of each other.
class Ppc_CollectiveOp<string mnemonic, list<Trait> traits = [Pure]> : Ppc_Op<mnemonic, traits # [
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>,
    DifferentiableOpInterface, ReferenceOpInterface]> {
  code commonDeclaration = [{
    ::llvm::StringRef noGradientReason() { return "differentiation comes before partitioning"; }
    ::llvm::StringRef noReferenceReason() { return "the interpreter sees all ranks"; }
  }];
  let extraClassDeclaration = commonDeclaration;
}

def Ppc_AxesAttr : TypedArrayAttrBase<StrAttr, "grid axes">;

def Ppc_AllReduceOp : Ppc_CollectiveOp<"all_reduce", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "combination of all devices' values, on all of them";
  let description = [{
    ```
    device 0: a          a + b + c
    device 1: b    ->    a + b + c
    device 2: c          a + b + c
    ```
    `stages` restricts a group along the axis `pp` to the ranks of these stages. C1: `axes` are distinct and not empty.
    C2: `stages` goes with the axis `pp` only.

    Stages run different programs. So an all-reduce over `pp` counts as a side effect: it is neither removed nor merged,
    which could happen on one stage only and leave the others waiting. Within a stage all ranks run one program, and the
    op is as pure as any.

    Example: `%y = ppc.all_reduce %x over ["tp"] <sum> : tensor<4x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, Ppc_AxesAttr:$axes, Ppc_CombinerAttr:$combiner, OptionalAttr<DenseI64ArrayAttr>:$stages);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x `over` $axes $combiner (`stages` $stages^)? attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Ppc_AllGatherOp : Ppc_CollectiveOp<"all_gather"> {
  let summary = "concatenation of all devices' blocks, on all of them";
  let description = [{
    ```
    device 0: a          a b c
    device 1: b    ->    a b c
    device 2: c          a b c
    ```
    The blocks lie along `dim`; padding past the result's extent is dropped. C1: `axes` are distinct and not empty; `dim`
    is a dimension of `x`. C2: the result's extent n along `dim` and the block size c fit: there is a number of devices k
    with c = ceil(n / k). The other dimensions agree.

    `rotated`: the gathered tensor is never materialized. Blocks circulate on the ring of the devices, and the matmul
    that uses them reads each block when it arrives (`ppc-rotate-products`). C3: blocks are of one size, and the only
    use is a matmul in which `dim` is not a batch dimension.

    Example: `%y = ppc.all_gather %x dim 0 over ["tp"] : tensor<3x8xf32> to tensor<5x8xf32>`
  }];
  let arguments = (ins Ppc_Tensor:$x, I64Attr:$dim, Ppc_AxesAttr:$axes, UnitAttr:$rotated);
  let results = (outs Ppc_Tensor:$y);
  let builders = [OpBuilder<(ins "::mlir::Type":$y, "::mlir::Value":$x, "::mlir::IntegerAttr":$dim, "::mlir::ArrayAttr":$axes), [{
    build($_builder, $_state, y, x, dim, axes, ::mlir::UnitAttr());
  }]>];
  let assemblyFormat = "$x `dim` $dim `over` $axes (`rotated` $rotated^)? attr-dict `:` type($x) `to` type($y)";
  let extraClassDeclaration = commonDeclaration # [{
    /// Whether `rotated` may be said of it (C3).
    bool canRotate();
  }];
  let hasVerifier = 1;
}

def Ppc_ReduceScatterOp : Ppc_CollectiveOp<"reduce_scatter"> {
  let summary = "combination of all devices' values, each keeping one block";
  let description = [{
    ```
    device 0: a0 a1 a2        a0 + b0 + c0
    device 1: b0 b1 b2   ->   a1 + b1 + c1
    device 2: c0 c1 c2        a2 + b2 + c2
    ```
    The blocks lie along `dim`; the last ones are padded with zeros. C1, C2 as `all_gather` with operand and result
    exchanged. C3: `combiner` is sum or max.

    Example: `%y = ppc.reduce_scatter %x dim 0 over ["tp"] <sum> : tensor<5x8xf32> to tensor<3x8xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, I64Attr:$dim, Ppc_AxesAttr:$axes, Ppc_CombinerAttr:$combiner);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x `dim` $dim `over` $axes $combiner attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Ppc_AllToAllOp : Ppc_CollectiveOp<"all_to_all"> {
  let summary = "all-to-all exchange of blocks: gathers one dimension and shards another";
  let description = [{
    ```
    device 0: a0 a1          a0 b0
    device 1: b0 b1    ->    a1 b1
    ```
    Each device splits `x` along `split_dim` into as many equal blocks as there are devices, sends block i to device i,
    and concatenates the blocks it receives along `concat_dim`. C1: `axes` are distinct and not empty, the dimensions
    are two different dimensions of `x`. C2: the split dimension shrinks by an integer factor k, the concatenated one
    grows by it.

    Example: `%y = ppc.all_to_all %x split 0 concat 1 over ["tp"] : tensor<4x8xf32> to tensor<2x16xf32>`
  }];
  let arguments = (ins Ppc_Tensor:$x, I64Attr:$split_dim, I64Attr:$concat_dim, Ppc_AxesAttr:$axes);
  let results = (outs Ppc_Tensor:$y);
  let assemblyFormat = "$x `split` $split_dim `concat` $concat_dim `over` $axes attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Ppc_LocalSliceOp : Ppc_CollectiveOp<"local_slice"> {
  let summary = "the device's own block of a replicated value";
  let description = [{
    ```
    device 0: a b c          a
    device 1: a b c    ->    b
    device 2: a b c          c
    ```
    No communication. The last blocks are padded with zeros. C1, C2 as `all_gather` with operand and result exchanged.

    Example: `%y = ppc.local_slice %x dim 0 over ["tp"] : tensor<5x8xf32> to tensor<3x8xf32>`
  }];
  let arguments = (ins Ppc_Tensor:$x, I64Attr:$dim, Ppc_AxesAttr:$axes);
  let results = (outs Ppc_Tensor:$y);
  let assemblyFormat = "$x `dim` $dim `over` $axes attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

#endif // PPC_IR_COLLECTIVE_TD
