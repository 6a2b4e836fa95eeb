// ppc-mark-operations: calls that tell the runtime which operation begins.
#include "ppc/Transforms/Profile/Passes.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_MARKOPERATIONSPASS
#include "ppc/Transforms/Profile/Passes.h.inc"

namespace {
constexpr StringLiteral kRuntimeFunction = "ppcrt_profile";

/// What one execution does at least.
struct Work {
  int64_t flops = 0, bytes = 0;
};

void collectNames(Location location, llvm::SetVector<StringRef> &names) {
  if (auto name = dyn_cast<NameLoc>(location))
    names.insert(name.getName().getValue());
  else if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      collectNames(part, names);
}

int64_t bytesOf(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  return type ? type.getNumElements() * type.getElementTypeBitWidth() / 8 : 0;
}

Work workOf(linalg::LinalgOp op) {
  Work work;
  int64_t turns = 1, operations = 0;
  for (int64_t size : op.getStaticLoopRanges())
    turns *= size;
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

Work workOf(ppcrt::GemmOp op) {
  Work work{2, bytesOf(op.getA()) + bytesOf(op.getB()) + bytesOf(op.getOut()) * (op.getAccumulate() ? 2 : 1)};
  for (int64_t size : op.getSizes())
    work.flops *= size;
  for (size_t loop = 0; loop < op.getLoops().size(); loop += 4)
    work.flops *= op.getLoops()[loop];
  return work;
}

/// Queries times the keys that they see, over all heads.
int64_t visibleScores(MemRefType q, MemRefType k, bool causal, int64_t window) {
  int64_t queries = q.getDimSize(1), keys = k.getDimSize(1), scores = 0;
  for (int64_t query = 0; query < queries; ++query) {
    int64_t last = causal ? query + keys - queries + 1 : keys;
    scores += window ? std::min(window, last) : last;
  }
  return scores * q.getDimSize(0) * q.getDimSize(2) * q.getDimSize(3);
}

/// Two products forward, five backward.
template <typename OpTy> Work attentionWork(OpTy op) {
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

Work workOf(Operation *op) {
  if (auto attention = dyn_cast<ppcrt::AttentionOp>(op))
    return attentionWork(attention);
  if (auto attention = dyn_cast<ppcrt::AttentionBackwardOp>(op))
    return attentionWork(attention);
  if (auto loops = dyn_cast<linalg::LinalgOp>(op))
    return workOf(loops);
  if (auto product = dyn_cast<ppcrt::GemmOp>(op))
    return workOf(product);
  Work work;
  for (Value operand : op->getOperands())
    work.bytes += bytesOf(operand);
  return work;
}

std::string nameOf(Operation *op) {
  llvm::SetVector<StringRef> names;
  collectNames(op->getLoc(), names);
  std::string name = names.empty() ? op->getName().stripDialect().str() : llvm::join(names, " + ");
  if (auto product = dyn_cast<ppcrt::GemmOp>(op)) {
    auto sizes = product.getSizes();
    name += " (" + std::to_string(sizes[0]) + " x " + std::to_string(sizes[2]) + " x " + std::to_string(sizes[1]);
    int64_t turns = 1;
    for (size_t loop = 0; loop < product.getLoops().size(); loop += 4)
      turns *= product.getLoops()[loop];
    name += turns > 1 ? ", " + std::to_string(turns) + " times)" : ")";
  }
  if (isa<ppcrt::AttentionOp, ppcrt::AttentionBackwardOp>(op)) {
    auto q = cast<MemRefType>(op->getOperand(0).getType()), k = cast<MemRefType>(op->getOperand(1).getType());
    name += " (" + std::to_string(q.getDimSize(1)) + " x " + std::to_string(q.getDimSize(4)) + " x " +
            std::to_string(k.getDimSize(1)) + ", " +
            std::to_string(q.getDimSize(0) * q.getDimSize(2) * q.getDimSize(3)) + " heads)";
  }
  return name;
}

struct MarkOperationsPass : impl::MarkOperationsPassBase<MarkOperationsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder builder(&getContext());
    auto number = builder.getI64Type();
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto runtime = func::FuncOp::create(top, module.getLoc(), kRuntimeFunction, builder.getFunctionType({number}, {}));
    runtime.setPrivate();
    SmallVector<Attribute> operations;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      // forward_body_4 and stage0.forward are part of forward.
      StringRef action = function.getName().split("_body").first.rsplit('.').second;
      if (action.empty())
        action = function.getName().split("_body").first;
      SmallVector<Operation *> work;
      for (Operation &op : function.getBody().front())
        if (isa<linalg::LinalgOp, memref::CopyOp>(op) || (isa_and_nonnull<ppcrt::PpcRtDialect>(op.getDialect()) &&
                                                          !isa<ppcrt::CallOp, ppcrt::ReachOp, ppcrt::CoordinateOp>(op)))
          work.push_back(&op);
      if (work.empty()) // calls of bodies only
        continue;
      for (Operation *op : work) {
        mark(ImplicitLocOpBuilder(op->getLoc(), op), operations.size());
        Work once = workOf(op);
        operations.push_back(
            builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(action + ": " + nameOf(op))),
                                       builder.getNamedAttr("flops", builder.getI64IntegerAttr(once.flops)),
                                       builder.getNamedAttr("bytes", builder.getI64IntegerAttr(once.bytes))}));
      }
      mark(ImplicitLocOpBuilder(function.getLoc(), function.getBody().front().getTerminator()), -1);
    }
    module->setAttr("ppc.operations", builder.getArrayAttr(operations));
  }

private:
  static void mark(ImplicitLocOpBuilder b, int64_t number) {
    Value value = arith::ConstantIntOp::create(b, number, 64);
    func::CallOp::create(b, kRuntimeFunction, TypeRange(), value);
  }
};
} // namespace
} // namespace mlir::ppc
