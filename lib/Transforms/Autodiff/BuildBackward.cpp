// Reverse-mode differentiation of a loss function: walks the ops backwards, queries each for the gradients of its
// operands, and sums the gradients of each value.
#include "GradientCuts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "ppc/Transforms/Autodiff/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_BUILDBACKWARDPASS
#include "ppc/Transforms/Autodiff/Passes.h.inc"

namespace {

class Differentiator {
public:
  Differentiator(func::FuncOp function) : function(function), builder(function.getContext()) {}

  LogicalResult run();

private:
  /// Values that depend on a parameter.
  void findActive();
  /// Gradients of the operands of `op`, given those of its results.
  LogicalResult differentiate(Operation *op);
  /// `gradient` with another element type: rounded once, when all that a value receives has been added.
  Value converted(Value gradient, Type element, Part part, Attribute layer);
  /// The gradients of the results of `op` as its derivative reads them.
  void convertResultGradients(Operation *op, MutableArrayRef<Value> gradients, Attribute layer);
  /// Adds `gradient`, computed by ops of `layer`, to the gradient of `value` so far, in the wider of their types.
  void receive(Value value, Value gradient, Attribute layer);
  /// Labels the ops created since `before` (the last op of that time). Ops through which backward would read deferred
  /// weight gradients are deferred with them.
  void label(Operation *before, Part part, Attribute layer);

  bool isParameter(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && function.getArgAttr(argument.getArgNumber(), attr::parameter);
  }

  /// Whether `value` is a parameter, or the cast of one that matmuls read.
  bool isWeight(Value value) {
    auto convert = value.getDefiningOp<ConvertOp>();
    return isParameter(value) || (convert && isParameter(convert.getX()));
  }

  func::FuncOp function;
  OpBuilder builder;
  Attribute slice; ///< ppc.slice of the op that is differentiated, if it has one
  GradientCuts cuts;
  DenseSet<Value> active;
  DenseMap<Value, Value> gradients; // gradients of all values but parameters
  /// Gradients by parameter and layer of use. Layers in order of arrival: the last layer first.
  DenseMap<Value, SmallVector<std::pair<Attribute, Value>>> parameterGradients;
};

void Differentiator::findActive() {
  for (BlockArgument argument : function.getArguments())
    if (isParameter(argument))
      active.insert(argument);
  for (Operation &op : function.front())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
      for (Value result : op.getResults())
        if (isa<FloatType>(getElementTypeOrSelf(result)))
          active.insert(result);
}

void Differentiator::label(Operation *before, Part part, Attribute layer) {
  auto isPutOff = [](Value operand) {
    auto own = operand.getDefiningOp() ? operand.getDefiningOp()->getAttrOfType<PartAttr>(attr::part) : PartAttr();
    return own && own.getValue() == Part::WeightGradient;
  };
  for (Operation *op = before->getNextNode(); op && !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode()) {
    bool isLater = part == Part::Backward && llvm::any_of(op->getOperands(), isPutOff);
    op->setAttr(attr::part, PartAttr::get(op->getContext(), isLater ? Part::WeightGradient : part));
    if (layer)
      op->setAttr(attr::layer, layer);
    if (slice)
      op->setAttr(attr::slice, slice);
  }
}

void Differentiator::receive(Value value, Value gradient, Attribute layer) {
  Value *slot = nullptr;
  if (isParameter(value)) {
    auto &contributions = parameterGradients[value];
    auto same = llvm::find_if(contributions, [&](auto &contribution) { return contribution.first == layer; });
    if (same == contributions.end()) {
      contributions.push_back({layer, gradient});
      return;
    }
    slot = &same->second;
  } else {
    auto [it, first] = gradients.try_emplace(value, gradient);
    if (first)
      return;
    slot = &it->second;
  }
  Operation *before = builder.getInsertionPoint()->getPrevNode();
  auto bits = [](Value x) { return tensorType(x).getElementTypeBitWidth(); };
  Value &narrow = bits(*slot) < bits(gradient) ? *slot : gradient,
        wide = bits(*slot) < bits(gradient) ? gradient : *slot;
  if (bits(narrow) < bits(wide))
    narrow = builder.createOrFold<ConvertOp>(value.getLoc(), wide.getType(), narrow);
  *slot = AddOp::create(builder, value.getLoc(), *slot, gradient);
  if (!isParameter(value))
    cuts.cutSum(value, slot->getDefiningOp());
  label(before, Part::Backward, layer);
}

Value Differentiator::converted(Value gradient, Type element, Part part, Attribute layer) {
  RankedTensorType type = tensorType(gradient);
  if (type.getElementType() == element)
    return gradient;
  builder.setInsertionPoint(function.front().getTerminator());
  Operation *before = builder.getInsertionPoint()->getPrevNode();
  Value result = builder.createOrFold<ConvertOp>(gradient.getLoc(), withElement(type, element), gradient);
  label(before, part, layer);
  return result;
}

void Differentiator::convertResultGradients(Operation *op, MutableArrayRef<Value> gradients, Attribute layer) {
  if (isa<ConvertOp>(op)) // gradients go through as wide as they are
    return;
  for (auto [result, gradient] : llvm::zip_equal(op->getResults(), gradients)) {
    if (!gradient)
      continue;
    // The matmuls of both gradients read dy in the type of the operands: one copy serves both.
    auto matmul = dyn_cast<MatmulOp>(op);
    Type element = tensorType(matmul ? matmul.getLhs() : Value(result)).getElementType();
    gradient = converted(gradient, element, Part::Backward, layer);
  }
}

LogicalResult Differentiator::differentiate(Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGradients, [](Value gradient) { return bool(gradient); }))
    return success();
  Attribute layer = op->getAttr(attr::layer);
  slice = op->getAttr(attr::slice);
  convertResultGradients(op, resultGradients, layer);
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (!active.contains(operand))
      continue;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitOpError("is between a parameter and the loss but has no derivative");
    if (StringRef reason = differentiable.noGradientReason(); !reason.empty())
      return op->emitOpError() << "is between a parameter and the loss but has no derivative: " << reason;
    Operation *before = builder.getInsertionPoint()->getPrevNode();
    builder.setInsertionPoint(function.front().getTerminator());
    FailureOr<Value> gradient = differentiable.buildGradient(builder, number, resultGradients);
    if (failed(gradient))
      return op->emitOpError() << "has no derivative with respect to operand " << number;
    // Only matmuls are worth deferring: other ops read operands of the gradient of the input, which would have to be
    // saved for longer.
    Part part = isWeight(operand) && isa<MatmulOp>(op) ? Part::WeightGradient : Part::Backward;
    label(before, part, layer);
    cuts.inherit(before, op);
    if (*gradient && isParameter(operand))
      gradient = converted(*gradient, tensorType(operand).getElementType(), part, layer);
    if (*gradient) {
      cuts.receive(op, number);
      receive(operand, *gradient, layer);
    }
  }
  return success();
}

LogicalResult Differentiator::run() {
  Operation *terminator = function.front().getTerminator();
  Value loss = terminator->getOperand(0);
  SmallVector<Operation *> forward;
  for (Operation &op : function.front().without_terminator()) {
    op.setAttr(attr::part, PartAttr::get(op.getContext(), Part::Forward));
    forward.push_back(&op);
  }
  if (auto nested = llvm::find_if(forward, [](Operation *op) { return op->getNumRegions() > 0; });
      nested != forward.end())
    return (*nested)->emitOpError(
        "has a region, which cannot be differentiated: differentiate before ppc-split-microbatches");
  findActive();
  if (!loss.getDefiningOp())
    return function.emitOpError("returns an argument as its loss: there is nothing to differentiate");
  if (!active.contains(loss))
    return function.emitOpError("loss depends on no parameter: mark arguments with ppc.parameter");

  builder.setInsertionPoint(terminator);
  Operation *before = terminator->getPrevNode();
  auto type = cast<RankedTensorType>(loss.getType());
  auto one = DenseElementsAttr::get(type, builder.getFloatAttr(type.getElementType(), 1.0));
  gradients[loss] = ConstantOp::create(builder, loss.getLoc(), type, one);
  label(before, Part::Backward, loss.getDefiningOp()->getAttr(attr::layer));

  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op)))
      return failure();

  // One result per parameter.
  SmallVector<Value> results = {loss};
  SmallVector<DictionaryAttr> resultAttrs = {
      builder.getDictionaryAttr(builder.getNamedAttr(attr::result, builder.getStringAttr("loss")))};
  for (BlockArgument argument : function.getArguments()) {
    if (!isParameter(argument))
      continue;
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr::parameter);
    auto &contributions = parameterGradients[argument];
    if (contributions.empty())
      return function.emitOpError() << "parameter " << name << " does not influence the loss";
    Value gradient = contributions.front().second;
    if (contributions.size() > 1) {
      SmallVector<Value> parts =
          llvm::map_to_vector(contributions, [](auto &contribution) { return contribution.second; });
      Operation *previous = builder.getInsertionPoint()->getPrevNode();
      gradient = SumOp::create(builder, argument.getLoc(), argument.getType(), parts);
      label(previous, Part::Update, {});
    }
    results.push_back(gradient);
    resultAttrs.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(attr::result, builder.getStringAttr("gradient")), builder.getNamedAttr(attr::of, name)}));
  }
  terminator->setOperands(results);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(resultAttrs);
  return success();
}

struct BuildBackwardPass : impl::BuildBackwardPassBase<BuildBackwardPass> {
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (functions.size() != 1) {
      getOperation().emitError() << "expected one function that computes a loss, found " << functions.size();
      return signalPassFailure();
    }
    func::FuncOp function = functions.front();
    auto isScalar = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.getRank() == 0 && isa<FloatType>(tensor.getElementType());
    };
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()) || function.getNumResults() != 1 ||
        !isScalar(function.getResultTypes().front())) {
      function.emitOpError() << "must have one block and return one float scalar, the loss; its type is "
                             << function.getFunctionType();
      return signalPassFailure();
    }
    Differentiator differentiator(function);
    if (failed(differentiator.run()))
      return signalPassFailure();
  }
};

} // namespace
} // namespace mlir::ppc
