// Types of the runtime dialect.
#ifndef PPCRT_IR_PPCRTTYPES_TD
#define PPCRT_IR_PPCRTTYPES_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"
include "mlir/IR/AttrTypeBase.td"

def PpcRt_Token : TypeDef<PpcRt_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "a point of time on a device";
  let description = [{
    The end of an action, or of communication that was started. What takes it begins afterwards, on whatever stream. A token is
    of one device: between devices only messages and collectives order.
  }];
}

#endif // PPCRT_IR_PPCRTTYPES_TD
