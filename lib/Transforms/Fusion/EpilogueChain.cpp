// Search for epilogues, and their cost in bytes.
#include "ppc/Transforms/Fusion/EpilogueChain.h"
#include "ppc/Transforms/Fusion/RegionChoice.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ppc {

/// Rows and columns of results, and columns of parts, are multiples of this: libraries require it of the additional
/// matrix, and so every address is a multiple of 16 bytes.
static constexpr int64_t kColumns = 8;

static int64_t bytesOf(Value value) {
  auto type = cast<ShapedType>(value.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

BlockRuns::BlockRuns(Block &block) {
  int64_t anchors = 0;
  for (Operation &op : block) {
    runs[&op] = anchors;
    bool isOurs = isa_and_nonnull<PpcDialect, ppcrt::PpcRtDialect>(op.getDialect());
    bool isNothing = isa<tensor::EmptyOp, bufferization::MaterializeInDestinationOp>(op) || isPure(&op);
    anchors += !isLoop(&op) && (isOurs || !isNothing);
  }
}

bool BlockRuns::isLoop(Operation *op) {
  return isa_and_nonnull<PpcDialect>(op->getDialect()) &&
         !isa<MatmulOp, AttentionOp, AttentionBackwardOp, AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp>(op);
}

EpilogueChain::EpilogueChain(ppcrt::GemmOp product, const BlockRuns &runs) : gemm(product), runs(runs) {
  if (!takesEpilogue())
    return;
  findStages();
  findSplit();
  if (isPossible())
    run = runs.runOf(found.empty() ? parts.getOperation() : found.front().op);
}

Value EpilogueChain::value(unsigned number) const {
  return number ? found[number - 1].op->getResult(0) : gemm->getResult(0);
}

/// Whether the result has contiguous rows, comes from one matmul, and does not accumulate.
bool EpilogueChain::takesEpilogue() const {
  ppcrt::GemmOp op = gemm;
  ArrayRef<int64_t> sizes = op.getSizes(), strides = op.getStrides();
  Type in = cast<ShapedType>(op.getA().getType()).getElementType();
  return op->getNumResults() == 1 && !op.getAccumulate() && op.getLoops().empty() &&
         op.getOut().getDefiningOp<tensor::EmptyOp>() && (in.isF32() || in.isBF16()) && sizes[0] > 1 && sizes[2] > 0 &&
         sizes[1] % kColumns == 0 && sizes[1] > 0 && strides[5] == 1 && strides[4] == sizes[1] &&
         tensorType(op->getResult(0)).getNumElements() == sizes[0] * sizes[1];
}

bool EpilogueChain::hasStage(EpilogueStage::Kind kind) const {
  return llvm::any_of(found, [&](const EpilogueStage &stage) { return stage.kind == kind; });
}

void EpilogueChain::findStages() {
  for (bool grows = true; grows && !hasStage(EpilogueStage::Gelu) && !hasStage(EpilogueStage::GeluGradient);) {
    Value last = value(unsigned(found.size()));
    grows = false;
    for (Operation *user : llvm::make_early_inc_range(last.getUsers()))
      // A value with other uses can only be the operand of gelu.
      if ((last.hasOneUse() || isa<GeluOp>(user)) && user->getBlock() == gemm->getBlock() && addStage(user)) {
        grows = true;
        break;
      }
  }
}

bool EpilogueChain::addStage(Operation *user) {
  Value last = value(unsigned(found.size()));
  Type element = tensorType(last).getElementType();
  if (auto add = dyn_cast<AddOp>(user))
    return !hasStage(EpilogueStage::Rounding) && addSum(add);
  EpilogueStage stage{EpilogueStage::Rounding, user, Value()};
  if (auto convert = dyn_cast<ConvertOp>(user)) {
    // The addend of a bf16 result would be bf16 as well.
    if (!element.isF32() || !tensorType(product().getA()).getElementType().isBF16() ||
        !convert.getType().getElementType().isBF16() || hasStage(EpilogueStage::Addend))
      return false;
  } else if (auto gelu = dyn_cast<GeluOp>(user); gelu && gelu.getTanh() && element.isBF16()) {
    stage.kind = EpilogueStage::Gelu;
  } else if (auto gradient = dyn_cast<GeluBackwardOp>(user); gradient && gradient.getTanh() && element.isBF16() &&
                                                             gradient.getDy() == last && gradient.getX() != last &&
                                                             !hasStage(EpilogueStage::Bias)) {
    stage.kind = EpilogueStage::GeluGradient;
    stage.operand = gradient.getX();
  } else {
    return false;
  }
  found.push_back(stage);
  return true;
}

bool EpilogueChain::addSum(AddOp add) {
  Value last = value(unsigned(found.size())), other = add.getA() == last ? add.getB() : add.getA();
  if (other == last)
    return false;
  if (auto repeated = other.getDefiningOp<BroadcastOp>(); repeated && !hasStage(EpilogueStage::Bias)) {
    ArrayRef<int64_t> dims = repeated.getDims();
    bool isOfColumns =
        llvm::all_of(llvm::enumerate(dims), [](auto dim) { return dim.value() == int64_t(dim.index()); });
    if (isOfColumns && tensorType(repeated.getX()).getNumElements() == product().getSizes()[1]) {
      found.push_back({EpilogueStage::Bias, add, repeated.getX()});
      return true;
    }
  }
  if (hasStage(EpilogueStage::Addend))
    return false;
  found.push_back({EpilogueStage::Addend, add, other});
  return true;
}

void EpilogueChain::findSplit() {
  Value last = value(unsigned(found.size()));
  if (!last.hasOneUse() || hasStage(EpilogueStage::Addend) || hasStage(EpilogueStage::GeluGradient) ||
      keptBy(unsigned(found.size())))
    return;
  auto split = dyn_cast<SplitOp>(*last.getUsers().begin());
  int64_t rows = product().getSizes()[0];
  if (!split || split->getBlock() != gemm->getBlock() ||
      ShapedType::getNumElements(tensorType(last).getShape().take_front(split.getDim())) != rows)
    return;
  if (llvm::all_of(split.getParts(),
                   [&](Value part) { return tensorType(part).getNumElements() / rows % kColumns == 0; }))
    parts = split;
}

Value EpilogueChain::keptBy(unsigned stages) const {
  if (stages == 0 || found[stages - 1].kind != EpilogueStage::Gelu)
    return {};
  Value sum = value(stages - 1);
  return sum.hasOneUse() ? Value() : sum;
}

/// Calls `f` with each op that reads a value, also in other shapes.
static void forEachReader(Value value, function_ref<void(Operation *)> f) {
  for (Operation *user : value.getUsers())
    if (isa<ReshapeOp>(user))
      forEachReader(user->getResult(0), f);
    else
      f(user);
}

bool EpilogueChain::isReadInRun(Value value, Operation *except) const {
  bool isRead = false;
  forEachReader(
      value, [&](Operation *user) { isRead |= user != except && BlockRuns::isLoop(user) && runs.runOf(user) == run; });
  return isRead;
}

bool EpilogueChain::isReadBehind(Value value) const {
  bool isRead = false;
  forEachReader(value, [&](Operation *user) { isRead |= !BlockRuns::isLoop(user) || runs.runOf(user) != run; });
  return isRead;
}

int64_t EpilogueChain::epilogueBytes(unsigned stages) const {
  Value result = value(stages);
  int64_t bytes = bytesOf(result);
  for (const EpilogueStage &stage : ArrayRef(found).take_front(stages))
    if (stage.operand) {
      bytes += bytesOf(stage.operand);
      if (stage.kind == EpilogueStage::Bias &&
          tensorType(stage.operand).getElementType() != tensorType(result).getElementType())
        bytes += kLaunchBytes + bytesOf(stage.operand); // it is rounded by a kernel
    }
  if (Value kept = keptBy(stages))
    bytes += bytesOf(kept) + (isReadInRun(kept, found[stages - 1].op) ? bytesOf(kept) : 0);
  return bytes;
}

int64_t EpilogueChain::cost(EpilogueChoice choice) const {
  auto all = unsigned(found.size());
  Value result = value(choice.stages), last = value(all);
  int64_t bytes = epilogueBytes(choice.stages);
  if (choice.splits) {
    auto again = int64_t(split().getParts().size()) - 1;
    return bytes + again * (kLaunchBytes + bytesOf(product().getA()));
  }
  if (parts) // all of it once more, by a kernel of its own where it is rounded before
    bytes += bytesOf(last) + (choice.stages < all ? bytesOf(last) * 2 + kLaunchBytes : 0);
  if (isReadInRun(result))
    bytes += bytesOf(result) + kLaunchBytes;
  for (unsigned number = choice.stages + 1; number <= all; ++number) {
    if (Value operand = found[number - 1].operand)
      bytes += bytesOf(operand);
    if (isReadBehind(value(number)))
      bytes += bytesOf(value(number));
  }
  return bytes;
}

EpilogueChoice EpilogueChain::choose() const {
  EpilogueChoice best;
  for (unsigned stages = 1; stages <= found.size(); ++stages)
    if (EpilogueChoice choice{stages, false}; cost(choice) < cost(best))
      best = choice;
  if (EpilogueChoice choice = longest(); parts && cost(choice) < cost(best))
    best = choice;
  return best;
}

std::string EpilogueChain::describe(EpilogueChoice choice) const {
  static constexpr const char *names[] = {"bias", "addend", "rounding", "gelu", "gradient of gelu"};
  std::string text;
  for (const EpilogueStage &stage : ArrayRef(found).take_front(choice.stages))
    text += std::string(text.empty() ? " " : ", ") + names[stage.kind];
  if (keptBy(choice.stages))
    text += " in addition to its sum";
  if (choice.splits)
    text += std::string(text.empty() ? " " : ", ") + std::to_string(split().getParts().size()) + " parts";
  return text;
}

} // namespace mlir::ppc
