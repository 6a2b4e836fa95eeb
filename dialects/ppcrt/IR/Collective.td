// Communication between the ranks of a group.
#ifndef PPCRT_IR_COLLECTIVE_TD
#define PPCRT_IR_COLLECTIVE_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"
include "dialects/ppcrt/IR/PpcRtEnums.td"
include "mlir/IR/SymbolInterfaces.td"

def PpcRt_CoordinateOp : PpcRt_Op<"coordinate", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "this rank's index within a group";
  let description = [{
    Row-major over the group's axes in their order. Never changes while the program runs.

    Example: `%i = ppcrt.coordinate group @dp`
  }];
  let arguments = (ins FlatSymbolRefAttr:$group);
  let results = (outs Index:$index);
  let assemblyFormat = "`group` $group attr-dict";
}

def PpcRt_AllReduceOp : PpcRt_DestinationOp<"all_reduce", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "combination of all ranks' buffers, in place";
  let description = [{
    C1: the element type is one the runtime knows. C2: the result, if any, has the type of the destination. The group is one of the
    module.

    Example: `%r = ppcrt.all_reduce sum group @dp outs(%x : tensor<8xf32>) -> tensor<8xf32>`
  }];
  let arguments = (ins PpcRt_ReductionKindAttr:$kind, FlatSymbolRefAttr:$group, PpcRt_Buffer:$out);
  let assemblyFormat = "$kind `group` $group `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?";
}

def PpcRt_AllGatherOp : PpcRt_DestinationOp<"all_gather", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "concatenation of all ranks' buffers";
  let description = [{
    The destination holds as many blocks of the size of `x` as the group has ranks, in the group's order. C1, C2 as
    `all_reduce`; C3: the destination has a whole number of times the elements of `x`, and its element type.

    Example: `%r = ppcrt.all_gather group @dp ins(%x : tensor<3xf32>) outs(%y : tensor<6xf32>) -> tensor<6xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, PpcRt_Buffer:$x, PpcRt_Buffer:$out);
  let assemblyFormat = "`group` $group `ins` `(` $x `:` type($x) `)` `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?";
}

def PpcRt_ReduceScatterOp : PpcRt_DestinationOp<"reduce_scatter", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "combination of all ranks' buffers, one block for each rank";
  let description = [{
    Rank i of the group gets block i. C1, C2 as `all_reduce`; C3: `x` has a whole number of times the elements of the
    destination, and its element type.

    Example: `%r = ppcrt.reduce_scatter sum group @dp ins(%x : tensor<6xf32>) outs(%y : tensor<3xf32>) -> tensor<3xf32>`
  }];
  let arguments = (ins PpcRt_ReductionKindAttr:$kind, FlatSymbolRefAttr:$group, PpcRt_Buffer:$x, PpcRt_Buffer:$out);
  let assemblyFormat = "$kind `group` $group `ins` `(` $x `:` type($x) `)` `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?";
}

def PpcRt_AllToAllOp : PpcRt_DestinationOp<"all_to_all", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "all-to-all: sends block i to rank i, stores received blocks in group order";
  let description = [{
    C1, C2 as `all_reduce`. C3: the destination has the elements and the element type of `x`; `ranks`, the size of the
    group, divides them.

    Example: `%r = ppcrt.all_to_all group @dp ranks 2 ins(%x : tensor<6xf32>) outs(%y : tensor<6xf32>) -> tensor<6xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$group, ConfinedAttr<I64Attr, [IntPositive]>:$ranks,
                       PpcRt_Buffer:$x, PpcRt_Buffer:$out);
  let assemblyFormat = [{
    `group` $group `ranks` $ranks `ins` `(` $x `:` type($x) `)` `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($result)^)?
  }];
}

#endif // PPCRT_IR_COLLECTIVE_TD
