// Matmuls and a collective on two streams, each of which slows the other while both run (see runTogether).
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
  auto reduce = dyn_cast<AllReduceOp>(op);
  Seconds measured = timeOverAxes(machine, grid, reduce ? reduce.getAxes() : cast<ReduceScatterOp>(op).getAxes(),
                                  reduce ? CollectiveKind::AllReduce : CollectiveKind::ReduceScatter, bytes);
  return measured.value / machine.device().collectiveShare + machine.device().collectiveMeeting.value;
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

double PieceTimes::exposed(ArrayRef<MatmulOp> products, Operation *collective, ArrayRef<double> shares, double hiding,
                           int64_t bytesCopied) const {
  const double computeRate = 1 - machine.device().communicationShare,
               communicationRate = 1 - machine.device().communicationSlowdown;
  double clock = 0, left = 0, whole = hiding; // left: of the collective that runs, in seconds with the device to itself
  auto compute = [&](double seconds) {
    double beside = std::min(seconds / computeRate, left / communicationRate);
    left = std::max(0.0, left - communicationRate * beside);
    clock += seconds + (1 - computeRate) * beside;
  };
  auto wait = [&] {
    clock += left;
    left = 0;
  };
  for (double share : shares) {
    if (bytesCopied)
      compute(streamTime(machine.device(), Bytes(double(bytesCopied) * share)).value);
    for (MatmulOp product : products)
      compute(this->product(product, share));
    wait(); // a rank starts a collective after the wait for the one before
    left = this->collective(collective, share);
  }
  compute(hiding);
  wait();
  for (MatmulOp product : products)
    whole += this->product(product, 1);
  return clock - whole;
}

} // namespace mlir::ppc
