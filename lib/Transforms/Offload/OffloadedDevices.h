// The devices of a program, for passes that move something of each to the memory of the host.
#ifndef PPC_LIB_TRANSFORMS_OFFLOAD_OFFLOADEDDEVICES_H
#define PPC_LIB_TRANSFORMS_OFFLOAD_OFFLOADEDDEVICES_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

/// Calls `offload` with each device that has a step, where the plan of the module asks for it. `offload` returns
/// whether anything leaves. Where nothing of any device does, `idle`, if it is not empty, is remarked as missed under
/// the name `kind`: what was asked for, and why it does nothing. Errors: no program; what `offload` reports.
LogicalResult forEachDevice(ModuleOp module, function_ref<bool(PlanAttr)> isAsked,
                            function_ref<FailureOr<bool>(ppcrt::DeviceOp)> offload, StringRef kind = "",
                            StringRef idle = "");

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OFFLOAD_OFFLOADEDDEVICES_H
