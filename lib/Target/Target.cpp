#include "ppc/Target/Target.h"

using namespace mlir;
using namespace mlir::ppc;

llvm::Expected<std::string> Target::kernelText(ModuleOp, StringRef) const {
  return llvm::createStringError("programs for " + capabilities().name + " have no kernels; give --target=cuda");
}

ArrayRef<const Target *> ppc::targets() {
  static const Target *const all[] = {&hostTarget(), &cudaTarget()};
  return all;
}

llvm::Expected<const Target *> ppc::findTarget(StringRef name) {
  llvm::Expected<const TargetCapabilities *> known = findTargetCapabilities(name);
  if (!known)
    return known.takeError();
  return *llvm::find_if(targets(), [&](const Target *target) { return &target->capabilities() == *known; });
}
