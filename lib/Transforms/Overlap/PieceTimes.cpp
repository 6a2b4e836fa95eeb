// Products and a collective on two streams, of which the second one takes from the first what it occupies.
#include "PieceTimes.h"
#include "ppc/CostModel/KernelCost.h"
#include "llvm/ADT/SmallSet.h"

namespace mlir::ppc {

double PieceTimes::product(MatmulOp op, double share) const {
  GemmShape shape;
  auto size = [](StringRef letters, RankedTensorType type, char letter) {
    size_t dim = letters.find(letter);
    return dim == StringRef::npos ? int64_t(0) : type.getDimSize(dim);
  };
  llvm::SmallSet<char, 8> letters;
  for (char letter : (op.lhsLetters() + op.rhsLetters()).str()) {
    if (!letters.insert(letter).second)
      continue;
    int64_t left = size(op.lhsLetters(), tensorType(op.getLhs()), letter),
            right = size(op.rhsLetters(), tensorType(op.getRhs()), letter);
    bool isKept = op.resultLetters().contains(letter);
    (left && right ? isKept ? shape.batch : shape.k : left ? shape.m : shape.n) *= std::max(left, right);
  }
  shape.m = std::max<int64_t>(1, std::llround(double(shape.m) * share));
  return gemmTime(machine.device(), precision, shape).value;
}

double PieceTimes::collective(Operation *op, double share) const {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  Bytes bytes(double(type.getNumElements()) * type.getElementTypeBitWidth() / 8 * share);
  return timeOverAxes(machine, grid, cast<AllReduceOp>(op).getAxes(), CollectiveKind::AllReduce, bytes).value +
         machine.device().collectiveMeeting.value;
}

double PieceTimes::hidingBehind(Operation *collective) const {
  double work = 0;
  llvm::SmallPtrSet<Operation *, 16> dependent{collective};
  for (Operation *op = collective->getNextNode(); op; op = op->getNextNode()) {
    if (op->hasTrait<OpTrait::IsTerminator>() || op->getAttr(attr::layer) != collective->getAttr(attr::layer) ||
        isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp>(op))
      break;
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return dependent.contains(operand.getDefiningOp()); }))
      break;
    work += timeOf(op, machine.device(), precision).value;
  }
  return work;
}

double PieceTimes::exposed(ArrayRef<MatmulOp> products, Operation *collective, ArrayRef<double> shares,
                           double hiding) const {
  const Device &device = machine.device();
  double clock = 0, link = 0, whole = hiding;
  auto compute = [&](double seconds) {
    double beside = std::min(seconds, std::max(0.0, link - clock) * (1 - device.communicationShare));
    clock += beside / (1 - device.communicationShare) + seconds - beside;
  };
  for (double share : shares) {
    for (MatmulOp product : products)
      compute(this->product(product, share));
    clock = std::max(clock, link); // a rank begins one when it has waited for the one before
    bool isBeside = hiding > 0 || &share != &shares.back();
    link = clock + this->collective(collective, share) * (isBeside ? 1 + device.communicationSlowdown : 1);
  }
  compute(hiding);
  for (MatmulOp product : products)
    whole += this->product(product, 1);
  return std::max(clock, link) - whole;
}

} // namespace mlir::ppc
