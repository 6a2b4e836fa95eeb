#include "LayerRecompute.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ppc;

bool mlir::ppc::isForward(Operation *op) {
  auto part = op->getAttrOfType<PartAttr>(attr::part);
  return part && part.getValue() == Part::Forward;
}

std::string mlir::ppc::nameInLayer(Operation *op) {
  int64_t before = 0;
  for (Operation *other = op->getPrevNode(); other; other = other->getPrevNode())
    before += other->getName() == op->getName() && isForward(other) &&
              other->getAttr(attr::layer) == op->getAttr(attr::layer);
  return (op->getName().stripDialect() + "." + Twine(before)).str();
}

bool mlir::ppc::canRecompute(Operation *op) {
  return isForward(op) && !isa<ConstantOp>(op) && op->getNumRegions() == 0 && op->hasAttr(attr::layer) &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           return user->getAttr(attr::layer) == op->getAttr(attr::layer) &&
                  user->getAttr(attr::slice) == op->getAttr(attr::slice);
         });
}

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

LayerRecompute::LayerRecompute(ArrayRef<Operation *> ops, double balance) : balance(balance) {
  for (Operation *op : ops) {
    (isForward(op) ? forward : backward).push_back(op);
    if (op->hasAttr(attr::recompute))
      chosen.insert(op);
  }
}

double LayerRecompute::costOf(Operation *op) const {
  auto priced = dyn_cast<CostOpInterface>(op);
  OpCost cost = priced ? priced.getCost() : OpCost{};
  double bytes = double(cost.bytesRead + cost.bytesWritten);
  // Links are several times slower than memory.
  return std::max(1.0, cost.engine == Engine::Network ? 8 * bytes : std::max(bytes, cost.flops / balance));
}

llvm::DenseSet<Value> LayerRecompute::keptValues(const Marks &marks) const {
  llvm::DenseSet<Value> kept;
  SmallVector<Operation *> readers(backward.begin(), backward.end());
  Marks copied;
  while (!readers.empty()) {
    Operation *reader = readers.pop_back_val();
    for (Value operand : reader->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      // Arguments are there anyway, and so is what backward makes.
      if (!maker || maker->getBlock() != reader->getBlock() || !isForward(maker) || isa<ConstantOp>(maker))
        continue;
      if (!marks.contains(maker))
        kept.insert(operand);
      else if (copied.insert(maker).second)
        readers.push_back(maker);
    }
  }
  return kept;
}

LayerRecompute::Price LayerRecompute::evaluate(const Marks &marks) const {
  Price price;
  for (Value value : keptValues(marks))
    price.bytes += bytesOf(value);
  // A marked op that only marked ops without readers in backward use is not copied; counting it is on the safe side.
  for (Operation *op : marks)
    price.cost += costOf(op);
  return price;
}

void LayerRecompute::addWithProducers(Operation *op, const Marks &marks, const llvm::DenseSet<Value> &kept,
                                      SmallVectorImpl<Operation *> &ops) const {
  if (marks.contains(op) || llvm::is_contained(ops, op))
    return;
  ops.push_back(op);
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp();
        maker && !kept.contains(operand) && maker->getBlock() == op->getBlock() &&
        maker->getAttr(attr::layer) == op->getAttr(attr::layer) && canRecompute(maker))
      addWithProducers(maker, marks, kept, ops);
}

std::vector<RecomputeStep> LayerRecompute::steps() const {
  std::vector<RecomputeStep> steps;
  Marks marks = chosen;
  Price now = evaluate(marks);
  while (true) {
    RecomputeStep best;
    llvm::DenseSet<Value> kept = keptValues(marks);
    for (Operation *op : forward) {
      if (marks.contains(op) || !canRecompute(op))
        continue;
      SmallVector<Operation *, 4> alone = {op}, chain;
      addWithProducers(op, marks, kept, chain);
      for (ArrayRef<Operation *> ops : {ArrayRef<Operation *>(alone), ArrayRef<Operation *>(chain)}) {
        Marks tried = marks;
        tried.insert(ops.begin(), ops.end());
        Price then = evaluate(tried);
        RecomputeStep step{{ops.begin(), ops.end()}, now.bytes - then.bytes, std::max(1.0, then.cost - now.cost)};
        if (step.bytes > 0 && (best.ops.empty() || step.rate() > best.rate()))
          best = std::move(step);
      }
    }
    if (best.ops.empty())
      return steps;
    marks.insert(best.ops.begin(), best.ops.end());
    now = evaluate(marks);
    steps.push_back(std::move(best));
  }
}
