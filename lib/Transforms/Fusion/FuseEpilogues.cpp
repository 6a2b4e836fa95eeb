// ppc-fuse-epilogues: elementwise ops after a matmul become its epilogue, as far as that moves the fewest bytes.
#include "ppc/Transforms/Fusion/EpilogueChain.h"
#include "ppc/Transforms/Fusion/Passes.h"

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/Epilogue.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {

/// The op of a block that comes last of those that make these values and `op`.
Operation *lastOf(Operation *op, ArrayRef<Value> values) {
  for (Value value : values)
    if (Operation *made = value ? value.getDefiningOp() : nullptr; made && op->isBeforeInBlock(made))
      op = made;
  return op;
}

/// Creates the matmul with the first `length` stages of its chain.
class ChainFuser {
public:
  ChainFuser(const EpilogueChain &chain, unsigned length)
      : chain(chain), gemm(chain.product()), stages(chain.stages().take_front(length)), builder(gemm.getContext()) {
    for (const EpilogueStage &stage : stages) {
      if (stage.kind == EpilogueStage::Bias)
        bias = stage.operand;
      else if (stage.kind == EpilogueStage::Addend)
        addend = stage.operand;
      else if (stage.kind == EpilogueStage::Gelu)
        activation = ppcrt::Activation::Gelu;
      else if (stage.kind == EpilogueStage::GeluGradient)
        activation = ppcrt::Activation::GeluGradient, at = stage.operand;
    }
    builder.setInsertionPointAfter(lastOf(gemm, {bias, addend, at}));
    Type element = tensorType(chain.value(length)).getElementType();
    if (bias && tensorType(bias).getElementType() != element)
      bias = ConvertOp::create(builder, gemm.getLoc(), tensorType(bias).clone(element), bias);
  }

  void fuse() {
    Value result = chain.value(unsigned(stages.size())), kept = chain.keptBy(unsigned(stages.size()));
    SmallVector<Type> types{result.getType()};
    if (kept)
      types.push_back(kept.getType());
    auto product = create(types, gemm.getSizes()[1], 0);
    result.replaceAllUsesWith(product.getResult()[0]);
    if (kept)
      kept.replaceAllUsesExcept(product.getResult()[1], stages.back().op);
    erase();
  }

  /// Creates a matmul for each part of the split after the chain.
  void fuse(SplitOp split) {
    int64_t rows = gemm.getSizes()[0], column = 0;
    for (Value part : split.getParts()) {
      int64_t columns = tensorType(part).getNumElements() / rows;
      // If the only user of a part reshapes it, it is written in that shape: directly to its destination.
      if (part.hasOneUse())
        if (auto reshape = dyn_cast<ReshapeOp>(*part.getUsers().begin()))
          part = reshape.getResult();
      part.replaceAllUsesWith(create(part.getType(), columns, column).getResult()[0]);
      column += columns;
    }
    for (Operation *user : llvm::make_early_inc_range(split->getUsers())) // shapes that nothing uses
      user->erase();
    split.erase();
    erase();
  }

private:
  ppcrt::EpilogueGemmOp create(TypeRange types, int64_t columns, int64_t column) {
    SmallVector<Value> outs;
    for (Type type : types)
      outs.push_back(tensor::EmptyOp::create(builder, gemm.getLoc(), cast<RankedTensorType>(type).getShape(),
                                             cast<RankedTensorType>(type).getElementType()));
    int64_t sizes[] = {gemm.getSizes()[0], columns, gemm.getSizes()[2]};
    SmallVector<Location> places{gemm.getLoc()};
    for (const EpilogueStage &stage : stages)
      places.push_back(stage.op->getLoc());
    return ppcrt::EpilogueGemmOp::create(builder, builder.getFusedLoc(places), types, gemm.getA(), gemm.getB(), addend,
                                         bias, at, outs, activation, sizes, gemm.getStrides().take_front(4), column);
  }

  void erase() {
    for (const EpilogueStage &stage : llvm::reverse(stages))
      stage.op->erase();
    gemm.erase();
  }

  const EpilogueChain &chain;
  ppcrt::GemmOp gemm;
  ArrayRef<EpilogueStage> stages;
  OpBuilder builder;
  Value bias, addend, at;
  ppcrt::Activation activation = ppcrt::Activation::None;
};

struct FuseEpiloguesPass : impl::FuseEpiloguesPassBase<FuseEpiloguesPass> {
  using FuseEpiloguesPassBase::FuseEpiloguesPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && llvm::hasSingleElement(function.getBody()))
        run(function.front());
  }

  void run(Block &block) {
    BlockRuns runs(block);
    SmallVector<ppcrt::GemmOp> products(block.getOps<ppcrt::GemmOp>());
    for (ppcrt::GemmOp product : products) {
      EpilogueChain chain(product, runs);
      if (!chain.isPossible())
        continue;
      EpilogueChoice choice = chain.choose();
      int64_t saved = chain.cost({}) - chain.cost(choice);
      if (explain) {
        if (saved > 0)
          product->emitRemark() << "ends with" << chain.describe(choice) << ", which saves " << saved << " of "
                                << chain.cost({}) << " bytes";
        else
          product->emitRemark() << "has no epilogue: with" << chain.describe(chain.longest()) << " it would save "
                                << chain.saving(chain.longest()) << " bytes";
      }
      if (saved <= 0)
        continue;
      ChainFuser fuser(chain, choice.stages);
      if (choice.splits)
        fuser.fuse(chain.split());
      else
        fuser.fuse();
    }
  }
};

} // namespace
} // namespace mlir::ppc
