// Values of a model that are cast to bf16: operands of matmuls, and values between two matmuls.
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Transforms/Precision/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_LOWERPRECISIONPASS
#include "ppc/Transforms/Precision/Passes.h.inc"

namespace {

bool isF32(Value value) { return tensorType(value).getElementType().isF32(); }

/// Ops that may run on cast values if matmuls read the result: each of their elements is rounded once.
bool mayFollow(Operation *op) {
  return isa<SiluOp, GeluOp, SigmoidOp, MulOp, ScaleOp, RotaryOp, TransposeOp, ReshapeOp, BroadcastOp, SplitOp,
             ConcatOp>(op);
}

class PrecisionLowering {
public:
  PrecisionLowering(func::FuncOp function) : function(function), narrow(BFloat16Type::get(function.getContext())) {}

  void run();
  int64_t products = 0, roundings = 0;

private:
  void findSelectingProducts();
  void findFollowers();
  /// Whether `use` reads bf16 after the rewrite.
  bool readsNarrow(OpOperand &use);
  /// `value` rounded, for `user`: one copy for each layer that reads it, so that a layer depends on no other's copy.
  Value rounded(Value value, Operation *user);
  void rewrite(Operation *op);

  func::FuncOp function;
  Type narrow;
  DenseSet<Operation *> selecting; ///< matmuls that select experts
  DenseSet<Operation *> followers; ///< ops between matmuls that run on cast values
  DenseMap<std::pair<Value, Attribute>, Value> copies;
};

void PrecisionLowering::findSelectingProducts() {
  SmallVector<Value> worklist;
  function.walk([&](TopKOp op) { worklist.push_back(op.getScores()); });
  DenseSet<Operation *> seen;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<MatmulOp>(op))
      selecting.insert(op);
    else if (op->getNumResults() == 1 && cast<RankedTensorType>(op->getResult(0).getType()).getElementType().isF32())
      worklist.append(op->operand_begin(), op->operand_end());
  }
}

bool PrecisionLowering::readsNarrow(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<AttentionOp>(user))
    return use.getOperandNumber() < 3; // the slopes of ALiBi are added to scores
  return (isa<MatmulOp>(user) && !selecting.contains(user)) || followers.contains(user);
}

void PrecisionLowering::findFollowers() {
  for (Operation &op : llvm::reverse(function.front())) {
    auto read = [&](Value result) {
      return isF32(result) && !result.use_empty() &&
             llvm::all_of(result.getUses(), [&](OpOperand &use) { return readsNarrow(use); });
    };
    if (mayFollow(&op) && llvm::all_of(op.getResults(), read))
      followers.insert(&op);
  }
}

Value PrecisionLowering::rounded(Value value, Operation *user) {
  if (!isF32(value))
    return value;
  Value &copy = copies[{value, user->getAttr(attr::layer)}];
  if (!copy) {
    OpBuilder builder(user);
    copy = ConvertOp::create(builder, value.getLoc(), withElement(tensorType(value), narrow), value);
    if (Attribute layer = user->getAttr(attr::layer))
      copy.getDefiningOp()->setAttr(attr::layer, layer);
    ++roundings;
  }
  return copy;
}

void PrecisionLowering::rewrite(Operation *op) {
  bool isProduct =
      isa<MatmulOp, AttentionOp>(op) && !selecting.contains(op) && llvm::all_of(op->getOperands(), [](Value operand) {
        return isF32(operand) || tensorType(operand).getElementType().isBF16();
      });
  if (!isProduct && !followers.contains(op))
    return;
  for (OpOperand &operand : op->getOpOperands())
    if (readsNarrow(operand))
      operand.set(rounded(operand.get(), op));
  products += isProduct;
  if (isa<MatmulOp>(op))
    return;
  for (Value result : isa<AttentionOp>(op) ? op->getResults().take_front() : op->getResults()) {
    if (!isF32(result))
      continue;
    Type wide = result.getType();
    result.setType(withElement(tensorType(result), narrow));
    // Ops that compute in f32 read a copy as wide as they are.
    for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
      if (readsNarrow(use))
        continue;
      OpBuilder builder(use.getOwner());
      auto copy = ConvertOp::create(builder, result.getLoc(), wide, result);
      if (Attribute layer = use.getOwner()->getAttr(attr::layer))
        copy->setAttr(attr::layer, layer);
      use.set(copy);
    }
  }
}

void PrecisionLowering::run() {
  findSelectingProducts();
  findFollowers();
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    rewrite(&op);
}

struct LowerPrecisionPass : impl::LowerPrecisionPassBase<LowerPrecisionPass> {
  using LowerPrecisionPassBase::LowerPrecisionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (precision != "f32" && precision != "bf16") {
      module.emitError() << "precision is '" << precision << "', expected f32 or bf16";
      return signalPassFailure();
    }
    if (precision == "f32")
      return;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || !llvm::hasSingleElement(function.getBody())) {
        function.emitOpError("must have one block, the loss of a model, to be computed in another precision");
        return signalPassFailure();
      }
      PrecisionLowering lowering(function);
      lowering.run();
      remark::passed(function.getLoc(), remark::RemarkOpts::name("precision").category("ppc-precision"))
          << remark::reason("{0} matmuls read {1}, {2} values rounded to it", lowering.products, precision.getValue(),
                            lowering.roundings);
    }
    module->setAttr(attr::precision, StringAttr::get(&getContext(), precision));
  }
};

} // namespace
} // namespace mlir::ppc
