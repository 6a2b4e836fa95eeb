// ppc-fuse-rows: loops between matmuls, attention and communication that share rows become one region each.
#include "ppc/Transforms/Fusion/BufferAccess.h"
#include "ppc/Transforms/Fusion/Passes.h"
#include "ppc/Transforms/Fusion/RegionChoice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_FUSEROWSPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {

/// Whether a run of loops continues after `op`: it only computes scalars, or names a buffer.
bool isBetween(Operation *op) {
  return isa<memref::AllocOp, ViewLikeOpInterface>(op) || (op->getNumRegions() == 0 && isMemoryEffectFree(op));
}

class RunFuser {
public:
  RunFuser(SmallVector<linalg::LinalgOp> run, bool explain)
      : run(std::move(run)), last(this->run.back()), explain(explain),
        choice(this->run, [&](Value root) { return isLiveBehind(root, last); }) {}

  void fuse() {
    RunGroups groups = choice.choose();
    if (explain)
      explainChoice(groups);
    if (groups.size() == run.size())
      return;
    OpBuilder b(last->getContext());
    b.setInsertionPointAfter(last);
    Operation *end = b.create<arith::ConstantOp>(last->getLoc(), b.getIndexAttr(0)); // insertion point of the groups
    SmallVector<scf::ExecuteRegionOp> regions;
    for (ArrayRef<unsigned> group : groups) {
      if (group.size() == 1) {
        run[group[0]]->moveBefore(end);
        continue;
      }
      b.setInsertionPoint(end);
      auto places = llvm::map_to_vector(group, [&](unsigned number) { return run[number]->getLoc(); });
      auto region = scf::ExecuteRegionOp::create(b, b.getFusedLoc(places), TypeRange());
      region.setNoInline(true);
      b.createBlock(&region.getRegion());
      auto yield = scf::YieldOp::create(b, region.getLoc());
      for (unsigned number : group)
        run[number]->moveBefore(yield);
      regions.push_back(region);
    }
    end->erase();
    for (scf::ExecuteRegionOp region : regions) {
      takeShapes(region);
      leaveInputs(region);
      keepInside(region);
    }
  }

private:
  /// Other shapes of buffers are the region's own, so that each buffer comes in once.
  void takeShapes(scf::ExecuteRegionOp region) {
    Block &block = region.getRegion().front();
    while (Operation *shape = shapeFromOutside(block)) {
      OpBuilder b = OpBuilder::atBlockBegin(&block);
      Operation *inside = b.clone(*shape);
      shape->getResult(0).replaceUsesWithIf(inside->getResult(0),
                                            [&](OpOperand &use) { return use.getOwner()->getBlock() == &block; });
      if (shape->use_empty())
        shape->erase();
    }
  }

  static Operation *shapeFromOutside(Block &block) {
    for (Operation &op : block)
      for (Value operand : op.getOperands())
        if (Operation *shape = operand.getDefiningOp();
            isa_and_nonnull<memref::ExpandShapeOp, memref::CollapseShapeOp>(shape) && shape->getBlock() != &block)
          return shape;
    return nullptr;
  }

  /// If a region overwrites a buffer that it has read, and the buffer is dead after the region, lets it write to a
  /// new buffer instead: bufferization lets loops write over their last operand.
  void leaveInputs(scf::ExecuteRegionOp region) {
    Block &block = region.getRegion().front();
    llvm::SmallSetVector<Value, 8> read;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (BufferAccess access : accessesOf(&op)) {
        if (access.reads)
          read.insert(access.root);
        if (access.writes && read.contains(access.root) && access.root.getDefiningOp<memref::AllocOp>() &&
            access.root.getParentBlock() != &block && access.buffer == access.root &&
            !isLiveBehind(access.root, region))
          writeElsewhere(cast<linalg::LinalgOp>(op), access.root);
      }
    }
  }

  /// Lets `op` and its successors in its block use a new buffer instead of `root`, if `op` overwrites it and no
  /// later op reads it through a view.
  void writeElsewhere(linalg::LinalgOp op, Value root) {
    OpOperand *out = nullptr;
    for (OpOperand &init : op.getDpsInitsMutable())
      if (wholeBuffer(init.get()) == root && !out)
        out = &init;
      else if (rootBuffer(init.get()) == root)
        return;
    if (!out || op.payloadUsesValueFromOperand(out) || !op.getMatchingIndexingMap(out).isProjectedPermutation())
      return;
    SmallVector<OpOperand *> uses{out};
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      for (OpOperand &operand : next->getOpOperands()) {
        if (!isa<MemRefType>(operand.get().getType()) || rootBuffer(operand.get()) != root)
          continue;
        if (wholeBuffer(operand.get()) != root)
          return;
        uses.push_back(&operand);
      }
    OpBuilder b = OpBuilder::atBlockBegin(op->getBlock());
    Value inside = b.clone(*root.getDefiningOp())->getResult(0);
    for (OpOperand *use : uses)
      use->set(inShapeOf(b, use->get(), root, inside));
  }

  /// `buffer`, which is `root` in another shape, as the same shape of `other`.
  Value inShapeOf(OpBuilder &b, Value buffer, Value root, Value other) {
    if (buffer == root)
      return other;
    Operation *shape = buffer.getDefiningOp();
    Value from = inShapeOf(b, shape->getOperand(0), root, other);
    b.setInsertionPointAfterValue(from);
    Operation *clone = b.clone(*shape);
    clone->setOperand(0, from);
    return clone->getResult(0);
  }

  /// Moves buffers whose values are not used outside of the region into it, in registers.
  void keepInside(scf::ExecuteRegionOp region) {
    Block &block = region.getRegion().front();
    llvm::MapVector<Value, bool> buffers; // -> whether their first use writes alone
    for (Operation &op : block)
      for (const BufferAccess &access : accessesOf(&op)) {
        auto [at, isNew] = buffers.try_emplace(access.root, access.writes && !access.reads);
        at->second &= access.buffer == access.root;
      }
    for (auto [buffer, isOwn] : buffers) {
      auto alloc = buffer.getDefiningOp<memref::AllocOp>();
      if (!alloc || !isOwn || isLiveBehind(buffer, region))
        continue;
      OpBuilder b = OpBuilder::atBlockBegin(&block); // before shapes of it
      auto inside = cast<memref::AllocOp>(b.clone(*alloc));
      alloc.getResult().replaceUsesWithIf(inside, [&](OpOperand &use) { return use.getOwner()->getBlock() == &block; });
      if (alloc.use_empty())
        alloc.erase();
    }
  }

  void explainChoice(const RunGroups &groups) {
    run.front()->emitRemark() << run.size() << " ops as " << groups.size() << " kernels cost " << choice.cost(groups)
                              << " bytes, greedily chosen ones " << choice.cost(choice.greedy());
    for (auto [number, group] : llvm::enumerate(groups)) {
      int64_t apart = 0;
      for (unsigned op : group)
        apart += choice.traffic({op});
      linalg::LinalgOp first = run[group.front()];
      if (group.size() > 1)
        first->emitRemark() << group.size() << " ops as one kernel, which moves " << choice.traffic(group)
                            << " bytes instead of " << apart;
      if (number > 0)
        first->emitRemark() << "not with the group before: " << choice.whyNot(groups[number - 1], group);
    }
  }

  SmallVector<linalg::LinalgOp> run;
  Operation *last;
  bool explain;
  RegionChoice choice;
};

/// Whether the bytes that an op moves are known.
static bool haveSizes(Operation &op) {
  return llvm::all_of(op.getOperandTypes(), [](Type type) {
    auto buffer = dyn_cast<MemRefType>(type);
    return !buffer || (buffer.hasStaticShape() && buffer.getElementType().isIntOrFloat());
  });
}

struct FuseRowsPass : impl::FuseRowsPassBase<FuseRowsPass> {
  using FuseRowsPassBase::FuseRowsPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && llvm::hasSingleElement(function.getBody()))
        fuse(function.front());
  }

  void fuse(Block &block) {
    SmallVector<SmallVector<linalg::LinalgOp>> runs(1);
    for (Operation &op : block) {
      if (auto loops = dyn_cast<linalg::LinalgOp>(op);
          loops && haveSizes(op) && runs.back().size() < RegionChoice::kLongest)
        runs.back().push_back(loops);
      else if (!isBetween(&op))
        runs.emplace_back();
    }
    for (auto &run : runs)
      if (run.size() > 1)
        RunFuser(std::move(run), explain).fuse();
  }
};

} // namespace
} // namespace mlir::ppc
