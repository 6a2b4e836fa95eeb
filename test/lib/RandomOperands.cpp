// Random operands that make sense for an op.
#include "RandomOperands.h"

#include "dialects/ppcrt/PpcRt.h"

using namespace mlir;
using namespace mlir::ppc;

LogicalResult test::verifySizes(Operation *root, int64_t most) {
  auto isLarge = [&](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (isa<TensorType>(type) && !shaped.hasStaticShape())
      return true;
    int64_t rest = most;
    for (int64_t extent : shaped &&shaped.hasStaticShape() ? shaped.getShape() : ArrayRef<int64_t>())
      rest /= std::max<int64_t>(1, extent);
    return rest == 0;
  };
  WalkResult walk = root->walk([&](Operation *op) -> WalkResult {
    SmallVector<Type> types(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(types, block.getArgumentTypes());
    if (auto buffer = dyn_cast<ppcrt::BufferOp>(op))
      types.push_back(buffer.getBufferType());
    for (Type type : types)
      if (auto tensor = dyn_cast<TensorType>(type); tensor && !tensor.getElementType().isIntOrFloat())
        return op->emitError() << "has a value of type " << type << ", and tests compute integers and floats";
      else if (isLarge(type))
        return op->emitError() << "has a value of type " << type << ", and tests compute at most " << most
                               << " elements";
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

static ReferenceTensor uniform(Type type, double low, double high, test::Random &random) {
  ReferenceTensor tensor = ReferenceTensor::zeros(type);
  std::uniform_real_distribution<double> distribution(low, high);
  for (double &element : tensor.data)
    element = distribution(random);
  return tensor;
}

// How many indices an op's index operand may name.
static int64_t indexCount(Operation *op) {
  if (auto embedding = dyn_cast<EmbeddingOp>(op))
    return tensorType(embedding.getTable()).getDimSize(0);
  if (auto backward = dyn_cast<EmbeddingBackwardOp>(op))
    return backward.getType().getDimSize(0);
  if (auto backward = dyn_cast<TopKBackwardOp>(op))
    return backward.getType().getShape().back();
  if (auto dispatch = dyn_cast<DispatchOp>(op))
    return dispatch.getExperts() ? dispatch.getExperts()->getExtent() : dispatch.getType().getDimSize(1);
  if (isa<CombineOp, RoutingWeightsGradientOp>(op))
    return tensorType(op->getOperand(0)).getDimSize(1);   // experts
  return tensorType(op->getOperand(0)).getShape().back(); // classes of a loss
}

int64_t test::indexBound(Value ids) {
  int64_t bound = 2;
  for (OpOperand &use : ids.getUses()) {
    Operation *op = use.getOwner();
    if (auto embedding = dyn_cast<EmbeddingOp>(op))
      bound = std::max(bound, tensorType(embedding.getTable()).getDimSize(0));
    else if (auto backward = dyn_cast<EmbeddingBackwardOp>(op))
      bound = std::max(bound, backward.getType().getDimSize(0));
    else if (isa<CrossEntropyOp, CrossEntropyBackwardOp, PickOp>(op))
      bound = std::max(bound, tensorType(op->getOperand(0)).getShape().back());
    else if (auto accumulate = dyn_cast<AccumulateOp>(op))
      bound = std::max(bound, indexBound(accumulate.getBody().getArgument(use.getOperandNumber())));
    if (auto split = dyn_cast<SplitOp>(use.getOwner()))
      for (Value part : split.getParts())
        bound = std::max(bound, indexBound(part));
  }
  return bound;
}

ReferenceTensor test::randomTensor(Type type, Random &random) { return uniform(type, -1, 1, random); }

ReferenceTensor test::randomOperand(Operation *op, unsigned number, Random &random) {
  Type type = op->getOperand(number).getType();
  if (isa<IntegerType>(cast<RankedTensorType>(type).getElementType())) {
    ReferenceTensor tensor = ReferenceTensor::zeros(type);
    std::uniform_int_distribution<int64_t> distribution(0, indexCount(op) - 1);
    for (double &element : tensor.data)
      element = double(distribution(random));
    if (auto embedding = dyn_cast<EmbeddingOp>(op)) // whose gradient leaves the padding index out on purpose
      for (double &element : tensor.data)
        if (std::optional<uint64_t> skipped = embedding.getPaddingIndex(); skipped && element == double(*skipped))
          element = double((*skipped + 1) % indexCount(op));
    if (isa<DispatchOp, CombineOp, RoutingWeightsGradientOp>(op)) // a token names an expert once
      for (int64_t k = tensor.shape.back(), i = 0; i < int64_t(tensor.data.size()) && k <= indexCount(op); ++i)
        while (llvm::is_contained(ArrayRef<double>(tensor.data).slice(i - i % k, i % k), tensor.data[i]))
          tensor.data[i] = double((int64_t(tensor.data[i]) + 1) % indexCount(op));
    return tensor;
  }
  if (isa<DivOp, LogOp, SqrtOp, RsqrtOp, AdamwOp>(op))
    return uniform(type, 0.5, 2, random);
  return randomTensor(type, random);
}

SmallVector<ReferenceTensor> test::randomOperands(Operation *op, Random &random) {
  SmallVector<ReferenceTensor> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    operands.push_back(randomOperand(op, i, random));
  return operands;
}
