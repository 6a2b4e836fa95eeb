// From bodies of ppc ops on tensors to loops, products, attention and communication on buffers.
#include "ppc/Transforms/Buffers/BufferPasses.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"
#include "ppc/Conversion/Passes.h"
#include "ppc/Transforms/Fusion/Passes.h"
#include "ppc/Transforms/Memory/Passes.h"
#include "ppc/Transforms/Overlap/Passes.h"

using namespace mlir;
using namespace mlir::ppc;

void ppc::addBufferPasses(OpPassManager &pm, bool overlap, bool fuseRows, bool fuseEpilogues,
                          llvm::function_ref<void(OpPassManager &)> beforeOffsets) {
  // Where results go is decided while a value is still a value.
  pm.addPass(createPassDestinationsPass());
  // Products become library calls before sums become loops, so that a sum can go into the call; collectives that were
  // rearranged by loops follow.
  pm.addPass(createRotateProductsPass());
  if (fuseRows)
    pm.addPass(createRoundTokensPass());
  pm.addPass(createPpcToPpcRtPass());
  pm.addPass(createFuseAccumulationPass());
  pm.addPass(createFuseRoundingPass());
  if (fuseEpilogues)
    pm.addPass(createFuseEpiloguesPass());
  pm.addPass(createPpcToLinalgPass());
  pm.addPass(createPpcToPpcRtPass());
  pm.addPass(createFuseElementwisePass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  if (overlap)
    pm.addNestedPass<func::FuncOp>(createSeparateDestinationsPass());
  // Buffers: loops write straight to the destinations.
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  bufferize.unknownTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addNestedPass<func::FuncOp>(createCSEPass());           // views of one place, of which one is copied to the other
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass()); // drops copies of a buffer to itself
  pm.addPass(bufferization::createDropEquivalentBufferResultsPass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  pm.addPass(createOrderConstantsPass());
  if (fuseRows) {
    pm.addPass(createForwardDestinationsPass());
    pm.addPass(createForwardFillsPass());
    pm.addPass(createCopyPartsPass());
    pm.addPass(createSplitSumsPass());
    pm.addPass(createFuseRowsPass());
  }
  if (beforeOffsets)
    beforeOffsets(pm);
  // Of kernels as they are now: a collective that begins or ends between loops would keep them apart.
  pm.addPass(createStartCollectivesPass(StartCollectivesPassOptions{overlap}));
  pm.addPass(createAssignOffsetsPass());
}

void ppc::registerBufferPasses() {
  registerPpcFusionPasses();
  bufferization::registerDropEquivalentBufferResultsPass();
  bufferization::registerEmptyTensorEliminationPass();
  bufferization::registerOneShotBufferizePass();
}

void ppc::registerBufferDialects(DialectRegistry &registry) {
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
