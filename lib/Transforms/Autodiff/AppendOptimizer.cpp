// The update at the end of a training step: global gradient norm, clipping, AdamW.
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "ppc/Transforms/Autodiff/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_APPENDOPTIMIZERPASS
#include "ppc/Transforms/Autodiff/Passes.h.inc"

namespace {

struct AppendOptimizerPass : impl::AppendOptimizerPassBase<AppendOptimizerPass> {
  using AppendOptimizerPassBase::AppendOptimizerPassBase;

  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (functions.size() != 1) {
      getOperation().emitError() << "expected one function with gradients, found " << functions.size();
      return signalPassFailure();
    }
    for (auto [name, value] : {std::pair("beta1", beta1.getValue()), std::pair("beta2", beta2.getValue())})
      if (!(value >= 0 && value < 1)) {
        getOperation().emitError() << name << " is " << value << ", expected a number from 0 to below 1";
        return signalPassFailure();
      }
    if (failed(append(functions.front())))
      signalPassFailure();
  }

private:
  struct Parameter {
    StringAttr name;
    BlockArgument value;
    Value gradient;
    bool decay;
  };

  /// The parameters in argument order, each with its gradient among the function's results.
  FailureOr<SmallVector<Parameter>> findParameters(func::FuncOp function) {
    auto isLabelled = [&](unsigned result, StringRef kind) {
      auto label = function.getResultAttrOfType<StringAttr>(result, attr::result);
      return label && label == kind;
    };
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()) || function.getNumResults() == 0 ||
        !isLabelled(0, "loss"))
      return function.emitOpError("must have one block and return the loss first: run ppc-build-backward first");
    llvm::StringMap<Value> gradients;
    for (auto [number, value] : llvm::enumerate(function.front().getTerminator()->getOperands()))
      if (isLabelled(number, "gradient"))
        if (auto of = function.getResultAttrOfType<StringAttr>(number, attr::of))
          gradients[of] = value;
    SmallVector<Parameter> parameters;
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      auto state = function.getArgAttrOfType<StringAttr>(number, attr::state);
      if (state && !function.getArgAttr(number, attr::of))
        return function.emitOpError() << "has state " << state
                                      << ", which no optimizer updates: such a model can be planned, not trained";
      if (state)
        return function.emitOpError() << "has optimizer state already, argument " << number;
      auto name = function.getArgAttrOfType<StringAttr>(number, attr::parameter);
      if (!name)
        continue;
      if (!gradients.contains(name))
        return function.emitOpError() << "has no gradient for parameter " << name << ": run ppc-build-backward first";
      parameters.push_back({name, argument, gradients[name], !function.getArgAttr(number, attr::noWeightDecay)});
    }
    if (parameters.empty())
      return function.emitOpError("has no parameters to update: mark arguments with ppc.parameter");
    return parameters;
  }

  LogicalResult append(func::FuncOp function) {
    FailureOr<SmallVector<Parameter>> parameters = findParameters(function);
    if (failed(parameters))
      return failure();
    OpBuilder builder(function.front().getTerminator());
    Location loc = function.getLoc();
    auto named = [&](StringRef key, StringRef text) { return builder.getNamedAttr(key, builder.getStringAttr(text)); };
    // Arguments are added all at once: there are thousands of them in a deep model.
    SmallVector<Type> argumentTypes;
    SmallVector<DictionaryAttr> argumentAttrs;
    for (const char *moment : {"m", "v"})
      for (Parameter &parameter : *parameters) {
        SmallVector<NamedAttribute> attrs = {named(attr::state, moment),
                                             builder.getNamedAttr(attr::of, parameter.name)};
        if (Attribute dims = function.getArgAttr(parameter.value.getArgNumber(), attr::dims))
          attrs.push_back(builder.getNamedAttr(attr::dims, dims));
        argumentTypes.push_back(parameter.value.getType());
        argumentAttrs.push_back(builder.getDictionaryAttr(attrs));
      }
    Type scalar = function.front().getTerminator()->getOperand(0).getType();
    for (StringRef name : {"learning_rate", "step"}) {
      argumentTypes.push_back(scalar);
      argumentAttrs.push_back(builder.getDictionaryAttr(named(attr::scalar, name)));
    }
    size_t firstNew = function.getNumArguments(), count = parameters->size();
    if (failed(function.insertArguments(SmallVector<unsigned>(argumentTypes.size(), firstNew), argumentTypes,
                                        argumentAttrs, SmallVector<Location>(argumentTypes.size(), loc))))
      return failure();
    ValueRange added = ValueRange(function.getArguments()).drop_front(firstNew);
    ValueRange moments[2] = {added.take_front(count), added.slice(count, count)}; // m, v
    Value learningRate = added[2 * count], step = added[2 * count + 1];

    Operation *before = function.front().getTerminator()->getPrevNode();
    SmallVector<Value> squares;
    for (Parameter &parameter : *parameters)
      squares.push_back(SquaredNormOp::create(builder, loc, scalar, parameter.gradient));
    Value norm = SqrtOp::create(builder, loc, SumOp::create(builder, loc, scalar, squares));
    Value scale;
    if (maxNorm > 0)
      scale = ClipScaleOp::create(builder, loc, norm, builder.getF64FloatAttr(maxNorm));
    else
      scale = ConstantOp::create(builder, loc, scalar,
                                 DenseElementsAttr::get(cast<RankedTensorType>(scalar),
                                                        builder.getFloatAttr(getElementTypeOrSelf(scalar), 1.0)));

    SmallVector<Value> results = {function.front().getTerminator()->getOperand(0), norm};
    SmallVector<DictionaryAttr> resultAttrs = {builder.getDictionaryAttr(named(attr::result, "loss")),
                                               builder.getDictionaryAttr(named(attr::result, "grad_norm"))};
    SmallVector<SmallVector<Value>> updated(3);
    for (auto [i, parameter] : llvm::enumerate(*parameters)) {
      auto adamw = AdamwOp::create(builder, loc, parameter.value, parameter.gradient, moments[0][i], moments[1][i],
                                   learningRate, step, scale, builder.getF64FloatAttr(beta1),
                                   builder.getF64FloatAttr(beta2), builder.getF64FloatAttr(epsilon),
                                   builder.getF64FloatAttr(parameter.decay ? weightDecay.getValue() : 0.0));
      for (int k = 0; k < 3; ++k)
        updated[k].push_back(adamw->getResult(k));
    }
    for (Operation *op = before ? before->getNextNode() : &function.front().front();
         op != function.front().getTerminator(); op = op->getNextNode())
      op->setAttr(attr::part, PartAttr::get(&getContext(), Part::Update));

    auto addResults = [&](StringRef kind, ArrayRef<Value> values) {
      for (auto [parameter, value] : llvm::zip(*parameters, values)) {
        results.push_back(value);
        resultAttrs.push_back(
            builder.getDictionaryAttr({named(attr::result, kind), builder.getNamedAttr(attr::of, parameter.name)}));
      }
    };
    addResults("gradient", llvm::map_to_vector(*parameters, [](Parameter &parameter) { return parameter.gradient; }));
    addResults("parameter", updated[0]);
    addResults("m", updated[1]);
    addResults("v", updated[2]);
    function.front().getTerminator()->setOperands(results);
    function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
    function.setAllResultAttrs(resultAttrs);
    function.setSymName("step");
    return success();
  }
};

} // namespace
} // namespace mlir::ppc
