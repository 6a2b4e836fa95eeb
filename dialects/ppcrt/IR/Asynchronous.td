// Asynchronous communication in compiled functions, and collectives besides the four basic ones.
#ifndef PPCRT_IR_ASYNCHRONOUS_TD
#define PPCRT_IR_ASYNCHRONOUS_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"
include "dialects/ppcrt/IR/PpcRtEnums.td"
include "dialects/ppcrt/IR/PpcRtTypes.td"
include "mlir/IR/SymbolInterfaces.td"

def PpcRt_PermuteOp : PpcRt_DestinationOp<"permute", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "rotation of buffers around the ring of the group";
  let description = [{
    Rank i of the group sends to rank (i + `shift`) modulo their number, and holds afterwards what came to it: a step of a ring.

    C1, C2 as `all_reduce`. C3: `x` has the type of the destination. C4: the shift is not 0.

    Example: `%r = ppcrt.permute group @cp shift 1 ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, I64Attr:$shift, PpcRt_Buffer:$x, PpcRt_Buffer:$out);
  let assemblyFormat = [{
    `group` $group `shift` $shift `ins` `(` $x `:` type($x) `)` `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?
  }];
}

def PpcRt_RaggedAllToAllOp : PpcRt_DestinationOp<"ragged_all_to_all", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "all-to-all of rows with counts known at run time";
  let description = [{
    Sends `counts[i]` consecutive rows of `x` to rank i, and stores the `received[i]` rows of rank i in the destination
    in the order of the ranks. All ranks know the counts that they send and receive. Rows past the sums are not touched.

    C1, C2 as `all_reduce`. C3: `x` and the destination have at least one dimension, one element type and rows of one shape. C4:
    `counts` and `received` are one-dimensional, of i32, of one size: that of the group.

    Example: `%r = ppcrt.ragged_all_to_all group @ep ins(%x, %c, %d : tensor<6x4xf32>, tensor<2xi32>, tensor<2xi32>)
    outs(%y : tensor<9x4xf32>) -> tensor<9x4xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, PpcRt_Buffer:$x, PpcRt_Buffer:$counts, PpcRt_Buffer:$received, PpcRt_Buffer:$out);
  let assemblyFormat = [{
    `group` $group `ins` `(` $x `,` $counts `,` $received `:` type($x) `,` type($counts) `,` type($received) `)`
    `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?
  }];
}

def PpcRt_StartOp : PpcRt_Op<"start", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "starts communication asynchronously";
  let description = [{
    As the op of that name, on memrefs. Until `ppcrt.wait` takes the token, `ins` must not be written and `outs` neither read nor written;
    an all-reduce has its buffer among `outs` alone.

    C1: reductions, and no others, say which. C2: as many buffers as the kind has: an all-reduce one of `outs`; a ragged all-to-all three
    of `ins` and one of `outs`; the others one each. C3: element types are those that the runtime knows. C4: permutes, and no others, have
    a shift, which is not 0. C5: the token is taken by one wait, in the same block and after it, which names the same buffers.

    Example: `%t = ppcrt.start all_gather group @dp ins(%x : memref<3xf32>) outs(%y : memref<6xf32>)`
  }];
  let arguments = (ins PpcRt_CollectiveKindAttr:$kind, OptionalAttr<PpcRt_ReductionKindAttr>:$reduction, FlatSymbolRefAttr:$group,
                       OptionalAttr<I64Attr>:$shift, Variadic<AnyStaticShapeMemRef>:$ins, Variadic<AnyStaticShapeMemRef>:$outs);
  let results = (outs PpcRt_Token:$token);
  let assemblyFormat = [{
    $kind ($reduction^)? `group` $group (`shift` $shift^)? (`ins` `(` $ins^ `:` type($ins) `)`)? `outs` `(` $outs `:` type($outs) `)`
    attr-dict
  }];
  let hasVerifier = 1;
}

def PpcRt_WaitOp : PpcRt_Op<"wait", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits for asynchronous communication";
  let description = [{
    Takes the token and the buffers in flight, so that what they live through is in the op: all of `ins` and `outs` of the start.

    C1: the token is of a `ppcrt.start`.

    Example: `ppcrt.wait %t (%x, %y : memref<3xf32>, memref<6xf32>)`
  }];
  let arguments = (ins PpcRt_Token:$token, Variadic<AnyStaticShapeMemRef>:$buffers);
  let assemblyFormat = "$token `(` $buffers `:` type($buffers) `)` attr-dict";
  let hasVerifier = 1;
}

#endif // PPCRT_IR_ASYNCHRONOUS_TD
