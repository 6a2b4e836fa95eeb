// Types of the runtime dialect.
#ifndef PPCRT_IR_PPCRTTYPES_TD
#define PPCRT_IR_PPCRTTYPES_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"
include "mlir/IR/AttrTypeBase.td"

def PpcRt_Token : TypeDef<PpcRt_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "completion of an action on a device";
  let description = [{
    Completion of an action, or of communication that was started. An action that takes it starts afterwards, on
    whatever stream. A token belongs to one device: between devices only messages and collectives order.
  }];
}

#endif // PPCRT_IR_PPCRTTYPES_TD
