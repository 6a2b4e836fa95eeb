// ppc-mark-operations: calls that tell the runtime which operation begins.
#include "ppc/Transforms/Profile/Passes.h"

#include "dialects/ppcrt/Epilogue.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "ppc/Transforms/Profile/Work.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_MARKOPERATIONSPASS
#include "ppc/Transforms/Profile/Passes.h.inc"

namespace {
void collectNames(Location location, llvm::SetVector<StringRef> &names) {
  if (auto name = dyn_cast<NameLoc>(location))
    names.insert(name.getName().getValue());
  else if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      collectNames(part, names);
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
  if (auto product = dyn_cast<ppcrt::EpilogueGemmOp>(op)) {
    auto sizes = product.getSizes();
    name += " (" + std::to_string(sizes[0]) + " x " + std::to_string(sizes[2]) + " x " + std::to_string(sizes[1]) + ")";
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
    auto runtime = func::FuncOp::create(top, module.getLoc(), kProfileFunction, builder.getFunctionType({number}, {}));
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
      if (work.empty()) // only calls of compiled functions
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
    func::CallOp::create(b, kProfileFunction, TypeRange(), value);
  }
};
} // namespace
} // namespace mlir::ppc
