// Programs for hosts: bodies become loops and calls of the runtime on buffers, then the LLVM dialect, one object.
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"
#include "ppc/Codegen/Manifest.h"
#include "ppc/Conversion/Passes.h"
#include "ppc/Target/Target.h"
#include "ppc/Transforms/Fusion/Passes.h"
#include "ppc/Transforms/Memory/Passes.h"
#include "ppc/Transforms/Overlap/Passes.h"

using namespace mlir;
using namespace mlir::ppc;

namespace {

class HostTarget : public Target {
public:
  const TargetCapabilities &capabilities() const override { return hostCapabilities(); }
  void registerDialects(DialectRegistry &registry) const override;
  void registerPasses() const override;
  void addBodyPasses(OpPassManager &pm, bool overlap) const override;
  void addCodePasses(OpPassManager &pm) const override;

  FailureOr<std::string> describeProgram(ModuleOp module, const ProgramTexts &texts) const override {
    return writeManifest(module, texts.plan, texts.config, texts.mathematics);
  }
  llvm::Error writeObject(ModuleOp module, StringRef description, StringRef processor,
                          raw_ostream &object) const override {
    HostTargetOptions options;
    if (!processor.empty())
      options.cpu = processor.str();
    return emitHostObject(module, description, options, object);
  }
  llvm::Expected<LinkTools> findLinkTools(const LinkOptions &options) const override {
    return ppc::findLinkTools(options);
  }
  llvm::Error link(StringRef object, StringRef executable, const LinkTools &tools) const override {
    return linkExecutable(object, executable, tools);
  }
};

} // namespace

void HostTarget::addBodyPasses(OpPassManager &pm, bool overlap) const {
  // Where results go is decided while a value is still a value.
  pm.addPass(createPassDestinationsPass());
  // Products become library calls before sums become loops, so that a sum can go into the call; collectives that were
  // rearranged by loops follow.
  pm.addPass(createPpcToPpcRtPass());
  pm.addPass(createFuseAccumulationPass());
  pm.addPass(createFuseRoundingPass());
  pm.addPass(createPpcToLinalgPass());
  pm.addPass(createPpcToPpcRtPass());
  pm.addPass(createFuseElementwisePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Buffers: loops write straight to the destinations.
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  bufferize.unknownTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createCanonicalizerPass()); // drops copies of a buffer to itself
  pm.addPass(bufferization::createDropEquivalentBufferResultsPass());
  pm.addPass(createCanonicalizerPass());
  if (overlap)
    pm.addPass(createStartCollectivesPass());
  pm.addPass(createAssignOffsetsPass());
}

void HostTarget::addCodePasses(OpPassManager &pm) const {
  pm.addPass(createLinalgToSCFPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  // Views of buffers become arithmetic on addresses.
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createPpcRtToLLVMPass());
}

void HostTarget::registerPasses() const {
  registerPpcConversionPasses();
  registerPpcFusionPasses();
  bufferization::registerDropEquivalentBufferResultsPass();
  bufferization::registerEmptyTensorEliminationPass();
  bufferization::registerOneShotBufferizePass();
}

void HostTarget::registerDialects(DialectRegistry &registry) const {
  registry
      .insert<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect, cf::ControlFlowDialect,
              func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
              ppcrt::PpcRtDialect, scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  ppcrt::registerBufferizableOpInterfaceModels(registry);
}

const Target &ppc::hostTarget() {
  static const HostTarget host;
  return host;
}
