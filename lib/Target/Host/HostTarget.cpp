// Programs for hosts: bodies become loops and calls of the runtime on buffers, then the LLVM dialect, one object.
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "ppc/Codegen/Manifest.h"
#include "ppc/Conversion/Passes.h"
#include "ppc/Target/Target.h"
#include "ppc/Transforms/Buffers/BufferPasses.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::ppc;

namespace {

class HostTarget : public Target {
public:
  const TargetCapabilities &capabilities() const override { return hostCapabilities(); }
  void registerDialects(DialectRegistry &registry) const override { registerBufferDialects(registry); }
  void registerPasses() const override;
  void addBodyPasses(OpPassManager &pm, bool overlap) const override { addBufferPasses(pm, overlap); }
  void addCodePasses(OpPassManager &pm) const override;

  FailureOr<std::string> describeProgram(ModuleOp module, const ProgramTexts &texts) const override {
    return writeManifest(module, capabilities().name, texts.plan, texts.config, texts.mathematics);
  }
  llvm::Error checkProcessors(StringRef processor) const override {
    return hostTargetMachine(optionsFor(processor)).takeError();
  }
  llvm::Error writeObject(ModuleOp module, StringRef description, const CodeOptions &options,
                          raw_ostream &object) const override {
    HostTargetOptions host = optionsFor(options.processors);
    host.optimize = options.optimize;
    return emitHostObject(module, description, host, object);
  }
  llvm::Expected<LinkTools> findLinkTools(const LinkOptions &options) const override {
    return ppc::findLinkTools(options);
  }
  llvm::Error link(StringRef object, StringRef executable, const LinkTools &tools) const override {
    return linkExecutable(object, executable, tools);
  }

private:
  static HostTargetOptions optionsFor(StringRef processor) {
    HostTargetOptions options;
    if (!processor.empty())
      options.cpu = processor.str();
    return options;
  }
};

} // namespace

void HostTarget::addCodePasses(OpPassManager &pm) const {
  pm.addPass(createLinalgToSCFPass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  // Views of buffers become arithmetic on addresses.
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  pm.addPass(createPpcRtToLLVMPass());
}

void HostTarget::registerPasses() const {
  registerPpcConversionPasses();
  registerBufferPasses();
}

const Target &ppc::hostTarget() {
  static const HostTarget host;
  return host;
}
