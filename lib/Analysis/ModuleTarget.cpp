#include "ppc/Analysis/ModuleTarget.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::ppc;

void mlir::ppc::setModuleTarget(ModuleOp module, const TargetCapabilities &target) {
  module->setAttr(attr::target, StringAttr::get(module.getContext(), target.name));
}

llvm::Expected<const TargetCapabilities *> mlir::ppc::moduleTarget(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(attr::target);
  if (!name)
    return llvm::createStringError("the module has no ppc.target, which ppc-make-plan and ppc-search-plan write");
  return findTargetCapabilities(name.getValue());
}

llvm::Expected<ArrayRef<const TargetCapabilities *>> mlir::ppc::possibleTargets(ModuleOp module) {
  if (!module->hasAttr(attr::target))
    return targetCapabilities();
  llvm::Expected<const TargetCapabilities *> named = moduleTarget(module);
  if (!named)
    return named.takeError();
  return ArrayRef(llvm::find(targetCapabilities(), *named), 1);
}
