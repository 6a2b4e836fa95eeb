// Ops of time and placement: micro-batches, resharding, padding.
#ifndef PPC_IR_PLACEMENT_TD
#define PPC_IR_PLACEMENT_TD

include "dialects/ppc/IR/PpcAttrs.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Ppc_AccumulateOp : Ppc_Op<"accumulate", [SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>,
    DifferentiableOpInterface, ReferenceOpInterface]> {
  let summary = "sum of a computation over micro-batches";
  let description = [{
    Runs its region once for each of `micro_batches` micro-batches and returns the sums of what the region yields. Block
    argument i is the micro-batch's slice of operand i along dimension 0. Other values are captured from outside.

    C1: dimension 0 of each operand is `micro_batches` times that of its block argument; the other dimensions agree.
    C2: the region ends in `ppc.yield` with values of the result types. C3: `micro_batches` is at least 1.
    Lifespan: created by `ppc-split-microbatches`, removed by `ppc-split-stages`.
  }];
  let arguments = (ins Variadic<Ppc_Tensor>:$inputs, I64Attr:$micro_batches);
  let results = (outs Variadic<Ppc_FloatTensor>:$sums);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef noGradientReason() { return "differentiation comes before micro-batching"; }
    ::llvm::StringRef noReferenceReason() { return "the interpreter runs the region"; }
  }];
}

def Ppc_YieldOp : Ppc_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"AccumulateOp">,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>,
    DifferentiableOpInterface, ReferenceOpInterface]> {
  let summary = "ends the region of accumulate";
  let description = "Example: `ppc.yield %loss, %gradient : tensor<f32>, tensor<8x16xf32>`";
  let arguments = (ins Variadic<Ppc_FloatTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let extraClassDeclaration = [{
    ::llvm::StringRef noGradientReason() { return "differentiation comes before micro-batching"; }
    ::llvm::StringRef noReferenceReason() { return "the interpreter runs the region"; }
  }];
}

def Ppc_ReshardOp : Ppc_FinalOp<"reshard", "differentiation comes before planning", [SameOperandsAndResultType]> {
  let summary = "reshards a value: equal logical value under another sharding";
  let description = [{
    C1: `to` gives the sharding of each dimension of `x`. Lifespan: created by `ppc-insert-reshards`, replaced by
    collectives in `ppc-partition-to-spmd`.

    Example: `%y = ppc.reshard %x to <[{dp}, {} ]> : tensor<4x8xf32>`
  }];
  let arguments = (ins Ppc_Tensor:$x, Ppc_ShardingAttr:$to);
  let results = (outs Ppc_Tensor:$y);
  let assemblyFormat = "$x `to` $to attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Ppc_MaskPaddingOp : Ppc_FinalOp<"mask_padding", "differentiation comes before partitioning", [SameOperandsAndResultType]> {
  let summary = "zero in the padding of an uneven block";
  let description = [{
    Sets to zero the elements whose global index along `dim` is at or past the extent of `block`. Created by
    `ppc-partition-to-spmd` where a reduction would otherwise see padding. C1: `dim` is a dimension of `x`.

    Example: `%y = ppc.mask_padding %x dim 1 block <[tp], 131> : tensor<4x66xf32>`
  }];
  let arguments = (ins Ppc_FloatTensor:$x, I64Attr:$dim, Ppc_BlockAttr:$block);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x `dim` $dim `block` $block attr-dict `:` type($x)";
  let hasVerifier = 1;
}

#endif // PPC_IR_PLACEMENT_TD
