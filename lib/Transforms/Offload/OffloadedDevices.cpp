#include "OffloadedDevices.h"

#include "mlir/IR/Remarks.h"

namespace mlir::ppc {

LogicalResult forEachDevice(ModuleOp module, function_ref<bool(PlanAttr)> isAsked,
                            function_ref<FailureOr<bool>(ppcrt::DeviceOp)> offload, StringRef kind, StringRef idle) {
  ppcrt::ProgramOp program = ppcrt::requireProgram(module);
  if (!program)
    return failure();
  auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
  if (!plan || !isAsked(plan))
    return success();
  bool leaves = false;
  for (ppcrt::DeviceOp device : program.getDevices()) {
    if (!device.getStep())
      continue;
    FailureOr<bool> some = offload(device);
    if (failed(some))
      return failure();
    leaves |= *some;
  }
  if (!leaves && !idle.empty())
    remark::missed(module.getLoc(), remark::RemarkOpts::name(kind).category("ppc-offload")) << idle;
  return success();
}

} // namespace mlir::ppc
