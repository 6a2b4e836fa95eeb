// The question "which loops has this op, and what does sharding each of them mean?"
#ifndef PPC_INTERFACES_SHARDINGRULEOPINTERFACE_TD
#define PPC_INTERFACES_SHARDINGRULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::mlir::ppc";
  let description = [{
    States an op's loops as an einsum-like factor map (`ppc/Sharding/ShardingRule.h`), for example `([b, s, h], [f, h])
    -> ([b, s, f]) {h: sum}` for a matmul. Ops that cannot be sharded answer `ShardingRule::none("reason")`.
  }];
  let methods = [
    InterfaceMethod<[{
      The rule of this op. Factor sizes follow from the op's own types: global sizes before partitioning.
    }], "::mlir::ppc::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      Tells a local (already partitioned) op that it holds the block of `factor` that `block` (a `#ppc.block`) names, for
      ops whose meaning depends on the global index along that factor (embedding rows, classes of a loss). Returns true
      when the op took note, as it does for every `positional` factor; such an op also deals with the padding of an uneven
      factor itself.
    }], "bool", "setFactorBlock", (ins "unsigned":$factor, "::mlir::Attribute":$block), "",
    [{ return false; }]>,
    InterfaceMethod<[{
      Tells an op that holds a slice of the positional `factor` that the slice begins at index `start` of the unsplit
      op. Returns true when the op stored it: such ops may be split in time along the factor.
    }], "bool", "setFactorStart", (ins "unsigned":$factor, "int64_t":$start), "",
    [{ return false; }]>
  ];
}

#endif // PPC_INTERFACES_SHARDINGRULEOPINTERFACE_TD
