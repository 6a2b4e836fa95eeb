// How the parts of a partial (not yet reduced) value are combined.
#ifndef PPC_SHARDING_COMBINER_TD
#define PPC_SHARDING_COMBINER_TD

include "mlir/IR/EnumAttr.td"

def Ppc_Combiner : I32Enum<"Combiner", "how the parts of a partial value are combined", [
    I32EnumCase<"Sum", 0, "sum">,
    I32EnumCase<"Max", 1, "max">,
    I32EnumCase<"LogSumExp", 2, "log_sum_exp">]> {
  let cppNamespace = "::mlir::ppc";
}

#endif // PPC_SHARDING_COMBINER_TD
