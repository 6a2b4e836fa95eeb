// Enumerations of the model dialect.
#ifndef PPC_IR_PPCENUMS_TD
#define PPC_IR_PPCENUMS_TD

include "mlir/IR/EnumAttr.td"

def Ppc_Part : I32Enum<"Part", "which part of a training step an op belongs to", [
    I32EnumCase<"Forward", 0, "forward">,
    I32EnumCase<"Backward", 1, "backward">,
    I32EnumCase<"WeightGradient", 2, "weight_gradient">,
    I32EnumCase<"Update", 3, "update">]> {
  let cppNamespace = "::mlir::ppc";
}
def Ppc_InitKind : I32Enum<"InitKind", "how a parameter is initialised", [
    I32EnumCase<"Zeros", 0, "zeros">,
    I32EnumCase<"Ones", 1, "ones">,
    I32EnumCase<"Normal", 2, "normal">]> {
  let cppNamespace = "::mlir::ppc";
}
def Ppc_AttentionStrategy : I32Enum<"AttentionStrategy", "how attention is computed if the sequence is sharded", [
    I32EnumCase<"Whole", 0, "whole">,
    I32EnumCase<"Gather", 1, "gather">,
    I32EnumCase<"KvHeads", 2, "kv_heads">,
    I32EnumCase<"HeadGroup", 3, "head_group">]> {
  let cppNamespace = "::mlir::ppc";
}

#endif // PPC_IR_PPCENUMS_TD
