// Bufferization of the dialect's ops: the destination is written in place, inputs are read.
#include "dialects/ppcrt/Epilogue.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"

using namespace mlir;
using namespace mlir::ppcrt;
using namespace mlir::bufferization;

namespace {
/// `readsDestination` answers whether the old content of the destination matters.
template <typename OpTy>
struct DestinationModel : DstBufferizableOpInterfaceExternalModel<DestinationModel<OpTy>, OpTy> {
  static bool readsDestination(OpTy op) {
    if constexpr (std::is_same_v<OpTy, GemmOp>)
      return op.getAccumulate();
    return std::is_same_v<OpTy, AllReduceOp>;
  }

  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) || readsDestination(cast<OpTy>(op));
  }

  /// Matmuls and communication may work on a part of a buffer.
  static bool takesBuffer(MemRefType type) {
    constexpr bool isAttention = std::is_same_v<OpTy, AttentionOp> || std::is_same_v<OpTy, AttentionBackwardOp>;
    return isAttention ? type.getLayout().isIdentity() : memref::isStaticShapeAndContiguousRowMajor(type);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> operands;
    SmallVector<Value> destinations;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType())) {
        operands.push_back(operand.get());
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      if (auto type = cast<MemRefType>(buffer->getType()); !takesBuffer(type))
        return op->emitOpError() << "needs row-major buffers without gaps, not " << type;
      operands.push_back(*buffer);
      if (cast<DestinationStyleOpInterface>(op).isDpsInit(&operand))
        destinations.push_back(*buffer);
    }
    OperationState bufferized(op->getLoc(), op->getName(), operands, {}, op->getAttrs());
    rewriter.create(bufferized);
    replaceOpWithBufferizedValues(rewriter, op, destinations);
    return success();
  }
};
} // namespace

void ppcrt::registerBufferizableOpInterfaceModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, PpcRtDialect *) {
    AttentionOp::attachInterface<DestinationModel<AttentionOp>>(*context);
    AttentionBackwardOp::attachInterface<DestinationModel<AttentionBackwardOp>>(*context);
    GemmOp::attachInterface<DestinationModel<GemmOp>>(*context);
    EpilogueGemmOp::attachInterface<DestinationModel<EpilogueGemmOp>>(*context);
    AllReduceOp::attachInterface<DestinationModel<AllReduceOp>>(*context);
    AllGatherOp::attachInterface<DestinationModel<AllGatherOp>>(*context);
    ReduceScatterOp::attachInterface<DestinationModel<ReduceScatterOp>>(*context);
    AllToAllOp::attachInterface<DestinationModel<AllToAllOp>>(*context);
    PermuteOp::attachInterface<DestinationModel<PermuteOp>>(*context);
  });
}
