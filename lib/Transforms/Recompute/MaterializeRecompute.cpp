// Clones marked forward ops into backward, each before its first user there.
#include "dialects/ppc/Ppc.h"
#include "mlir/IR/IRMapping.h"
#include "ppc/Transforms/Recompute/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_MATERIALIZERECOMPUTEPASS
#include "ppc/Transforms/Recompute/Passes.h.inc"

namespace {

class Recomputation {
public:
  explicit Recomputation(Block &body) : body(body) {}

  LogicalResult run() {
    SmallVector<Operation *> marked, users;
    for (Operation &op : body.without_terminator()) {
      auto part = op.getAttrOfType<PartAttr>(attr::part);
      bool forward = part && part.getValue() == Part::Forward;
      if (op.hasAttr(attr::recompute)) {
        if (!forward || op.getNumRegions())
          return op.emitOpError() << "is marked " << attr::recompute
                                  << ", which only forward ops without regions can be";
        marked.push_back(&op);
      }
      if (!forward)
        users.push_back(&op);
    }
    for (Operation *user : users) {
      if (Operation *same = markedTwin(user)) { // backward gathers itself what is gathered again
        user->replaceAllUsesWith(copyOf(same, user));
        user->erase();
        continue;
      }
      for (OpOperand &operand : user->getOpOperands())
        if (Operation *maker = operand.get().getDefiningOp(); maker && isMarked(maker))
          operand.set(copyOf(maker, user)->getResult(cast<OpResult>(operand.get()).getResultNumber()));
    }
    for (Operation *op : llvm::reverse(marked)) {
      op->removeAttr(attr::recompute);
      if (op->use_empty())
        op->erase();
    }
    return success();
  }

private:
  bool isMarked(Operation *op) const { return op->getBlock() == &body && op->hasAttr(attr::recompute); }

  /// A marked gather of the value that `op` gathers in the same way.
  Operation *markedTwin(Operation *op) const {
    auto gather = dyn_cast<AllGatherOp>(op);
    if (!gather)
      return nullptr;
    Value gathered = gather.getX();
    if (Operation *original = originals.lookup(gathered.getDefiningOp())) // the original of an earlier copy
      gathered = original->getResult(cast<OpResult>(gathered).getResultNumber());
    for (Operation *user : gathered.getUsers())
      if (auto other = dyn_cast<AllGatherOp>(user);
          other && user != op && isMarked(user) && other.getDim() == gather.getDim() &&
          other.getAxes() == gather.getAxes() && other.getType() == gather.getType())
        return user;
    return nullptr;
  }

  /// The copy of a marked op, created before `user` with all ops that it needs, unless it exists already.
  Operation *copyOf(Operation *marked, Operation *user) {
    if (Operation *known = copies.lookup(marked))
      return known;
    IRMapping mapping;
    for (Value operand : marked->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && isMarked(maker))
        mapping.map(operand, copyOf(maker, user)->getResult(cast<OpResult>(operand).getResultNumber()));
    OpBuilder builder(user);
    Operation *copy = builder.clone(*marked, mapping);
    copy->removeAttr(attr::recompute);
    copy->setAttr(attr::part, PartAttr::get(copy->getContext(), Part::Backward));
    copies[marked] = copy;
    originals[copy] = marked;
    return copy;
  }

  Block &body;
  DenseMap<Operation *, Operation *> copies, originals; // marked op -> copy, and the inverse
};

struct MaterializeRecomputePass : impl::MaterializeRecomputePassBase<MaterializeRecomputePass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](AccumulateOp accumulate) {
      return failed(Recomputation(accumulate.getBody().front()).run()) ? WalkResult::interrupt()
                                                                       : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace mlir::ppc
