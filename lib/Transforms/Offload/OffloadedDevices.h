// The devices of a program, for passes that move something of each to the memory of the host.
#ifndef PPC_LIB_TRANSFORMS_OFFLOAD_OFFLOADEDDEVICES_H
#define PPC_LIB_TRANSFORMS_OFFLOAD_OFFLOADEDDEVICES_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

/// Calls `offload` with each device that has a step, if the plan of the module asks for it. `offload` returns
/// whether anything is offloaded. If it offloads nothing on any device, a missed remark with the name `kind` reports
/// `idle`, if not empty: the request, and why it has no effect. Errors: no program; errors of `offload`.
LogicalResult forEachDevice(ModuleOp module, function_ref<bool(PlanAttr)> isAsked,
                            function_ref<FailureOr<bool>(ppcrt::DeviceOp)> offload, StringRef kind = "",
                            StringRef idle = "");

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OFFLOAD_OFFLOADEDDEVICES_H
