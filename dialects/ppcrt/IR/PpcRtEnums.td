// Enumerations of the runtime dialect, with the values of the C ABI.
#ifndef PPCRT_IR_PPCRTENUMS_TD
#define PPCRT_IR_PPCRTENUMS_TD

include "mlir/IR/EnumAttr.td"

def PpcRt_ReductionKindAttr : I32EnumAttr<"ReductionKind", "how values of several ranks are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::mlir::ppcrt";
}

#endif // PPCRT_IR_PPCRTENUMS_TD
