// device -> host code in the LLVM dialect; registration of both phases.
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
#include "mlir/Dialect/Func/Transforms/Passes.h"
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
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "ppc/Conversion/Passes.h"
#include "ppc/Phases/HostPhases.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Fusion/Passes.h"
#include "ppc/Transforms/Memory/Passes.h"
#include "ppc/Transforms/Outline/Passes.h"
#include "ppc/Transforms/Profile/Passes.h"

namespace mlir::ppc {

void buildHostPhase(OpPassManager &pm) {
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

void registerHostPhases() {
  registerPpcConversionPasses();
  registerPpcFusionPasses();
  registerPpcMemoryPasses();
  registerPpcOutlinePasses();
  registerPpcProfilePasses();
  bufferization::registerDropEquivalentBufferResultsPass();
  bufferization::registerEmptyTensorEliminationPass();
  bufferization::registerOneShotBufferizePass();
  func::registerDuplicateFunctionEliminationPass();
  PassPipelineRegistration<>("ppc-phase-device", "partition -> device: bodies merged, loops fused, buffers at offsets",
                             [](OpPassManager &pm) { buildDevicePhase(pm); });
  PassPipelineRegistration<>("ppc-phase-host", "device -> host code in the LLVM dialect", buildHostPhase);
}

void registerHostDialects(DialectRegistry &registry) {
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

} // namespace mlir::ppc
