// Counting.
#include "ppc/Transforms/Profile/Work.h"

#include "dialects/ppcrt/Epilogue.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ppc {

/// Bytes of a buffer; 0 if its size is known only at run time.
static int64_t bytesOf(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  return type && type.hasStaticShape() ? type.getNumElements() * type.getElementTypeBitWidth() / 8 : 0;
}

static Work workOf(linalg::LinalgOp op) {
  Work work;
  int64_t turns = 1, operations = 0;
  for (int64_t size : op.getStaticLoopRanges())
    turns *= ShapedType::isDynamic(size) ? 0 : size;
  for (Operation &inner : op->getRegion(0).front())
    operations += isa_and_nonnull<arith::ArithDialect, math::MathDialect>(inner.getDialect()) &&
                  inner.getNumResults() == 1 && isa<FloatType>(inner.getResult(0).getType()) &&
                  !isa<arith::ConstantOp, arith::SelectOp>(inner);
  work.flops = turns * operations;
  llvm::SmallSetVector<Value, 8> buffers;
  for (OpOperand &operand : op->getOpOperands()) {
    buffers.insert(operand.get());
    if (op.isDpsInit(&operand) && !op->getRegion(0).front().getArgument(operand.getOperandNumber()).use_empty())
      work.bytes += bytesOf(operand.get());
  }
  for (Value buffer : buffers)
    work.bytes += bytesOf(buffer);
  return work;
}

static Work workOf(ppcrt::GemmOp op) {
  Work work{2, bytesOf(op.getA()) + bytesOf(op.getB()) + bytesOf(op.getOut()) * (op.getAccumulate() ? 2 : 1)};
  for (int64_t size : op.getSizes())
    work.flops *= size;
  for (size_t loop = 0; loop < op.getLoops().size(); loop += 4)
    work.flops *= op.getLoops()[loop];
  return work;
}

/// Work of a matmul with an epilogue: only the used parts of A, B and the bias count.
static Work workOf(ppcrt::EpilogueGemmOp op) {
  ArrayRef<int64_t> sizes = op.getSizes();
  auto elementBytes = [](Value buffer) {
    return int64_t(cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8);
  };
  Work work{2 * sizes[0] * sizes[1] * sizes[2], (sizes[0] * sizes[2] + sizes[2] * sizes[1]) * elementBytes(op.getA())};
  for (Value buffer : op.getOuts())
    work.bytes += bytesOf(buffer);
  for (Value buffer : {op.getAddend(), op.getAt()})
    work.bytes += buffer ? bytesOf(buffer) : 0;
  if (Value bias = op.getBias())
    work.bytes += sizes[1] * elementBytes(bias);
  return work;
}

/// Queries times the keys that they see, over all heads.
static int64_t visibleScores(MemRefType q, MemRefType k, bool causal, int64_t window) {
  int64_t queries = q.getDimSize(1), keys = k.getDimSize(1), scores = 0;
  for (int64_t query = 0; query < queries; ++query) {
    int64_t last = causal ? query + keys - queries + 1 : keys;
    scores += window ? std::min(window, last) : last;
  }
  return scores * q.getDimSize(0) * q.getDimSize(2) * q.getDimSize(3);
}

/// Work of attention: two matmuls forward, five backward.
template <typename OpTy> static Work attentionWork(OpTy op) {
  constexpr bool backward = std::is_same_v<OpTy, ppcrt::AttentionBackwardOp>;
  auto q = cast<MemRefType>(op.getIns()[0].getType()), k = cast<MemRefType>(op.getIns()[1].getType()),
       v = cast<MemRefType>(op.getIns()[2].getType());
  Work work;
  work.flops = 2 * visibleScores(q, k, op.getCausal(), int64_t(op.getWindow().value_or(0))) *
               ((backward ? 3 : 1) * q.getDimSize(4) + (backward ? 2 : 1) * v.getDimSize(3));
  for (Value operand : op->getOperands())
    work.bytes += bytesOf(operand);
  return work;
}

static Work workOf(ppcrt::LaunchOp op) {
  Work work{int64_t(op.getFlops())};
  for (ArrayRef<int64_t> places : {op.getReads(), op.getWrites()})
    for (int64_t place : places)
      work.bytes += bytesOf(op.getOperands()[unsigned(place)]);
  return work;
}

Work workOf(Operation *op) {
  if (auto attention = dyn_cast<ppcrt::AttentionOp>(op))
    return attentionWork(attention);
  if (auto attention = dyn_cast<ppcrt::AttentionBackwardOp>(op))
    return attentionWork(attention);
  if (auto loops = dyn_cast<linalg::LinalgOp>(op))
    return workOf(loops);
  if (auto product = dyn_cast<ppcrt::GemmOp>(op))
    return workOf(product);
  if (auto product = dyn_cast<ppcrt::EpilogueGemmOp>(op))
    return workOf(product);
  if (auto launch = dyn_cast<ppcrt::LaunchOp>(op))
    return workOf(launch);
  Work work;
  if (auto region = dyn_cast<scf::ExecuteRegionOp>(op)) {
    for (auto loops : region.getRegion().getOps<linalg::LinalgOp>())
      work.flops += workOf(loops).flops;
    return work;
  }
  for (Value operand : op->getOperands())
    work.bytes += bytesOf(operand);
  return work;
}

} // namespace mlir::ppc
