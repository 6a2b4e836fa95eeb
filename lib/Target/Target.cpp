#include "ppc/Target/Target.h"

using namespace mlir;
using namespace mlir::ppc;

static llvm::Error noKernels(const Target &target) {
  return llvm::createStringError("programs for " + target.capabilities().name + " have no kernels; give --target=cuda");
}

std::string Target::processorsFor(ArrayRef<std::string>) const { return ""; }
llvm::Expected<std::string> Target::kernelText(ModuleOp, StringRef) const { return noKernels(*this); }
llvm::Expected<std::string> Target::kernelTable(ModuleOp, StringRef) const { return noKernels(*this); }
llvm::Expected<std::string> Target::trafficTable(ModuleOp) const { return noKernels(*this); }

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
