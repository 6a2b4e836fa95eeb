// Layers of a function as templates.
#include "ppc/Analysis/TemplateExtraction.h"
#include "ppc/Analysis/OpSharding.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::ppc {

namespace {

/// One layer: ops [first, last) of the function.
class LayerReader {
public:
  LayerReader(func::FuncOp function, const DenseSet<Value> &active, const DenseMap<Value, int> &shared,
              const DenseMap<Value, int> &sharers)
      : function(function), active(active), shared(shared), sharers(sharers) {}

  LogicalResult read(ArrayRef<Operation *> ops, ArrayRef<Value> arriving, ArrayRef<Value> leaving) {
    for (Value value : arriving)
      layer.inputs.push_back(number(value, TemplateValueKind::Boundary));
    for (Operation *op : ops)
      if (failed(read(op)))
        return failure();
    for (Value value : leaving)
      layer.outputs.push_back(numbers.lookup(value));
    auto attribute = ops.front()->getAttrOfType<IntegerAttr>(attr::layer);
    layer.name = attribute ? "layer " + std::to_string(attribute.getInt())
                           : "layer at " + ops.front()->getName().getStringRef().str();
    return success();
  }

  OpTemplate layer;
  ExtractedTemplates::Layer places;

private:
  int add(TemplateValue data, Value value) {
    layer.values.push_back(std::move(data));
    places.values.push_back(value);
    return int(layer.values.size()) - 1;
  }

  int number(Value value, TemplateValueKind kind) {
    auto [it, isNew] = numbers.try_emplace(value, int(layer.values.size()));
    if (!isNew)
      return it->second;
    TemplateValue data;
    data.kind = kind;
    RankedTensorType type = tensorType(value);
    data.shape.assign(type.getShape().begin(), type.getShape().end());
    data.elementBytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
    data.hasGradient = active.contains(value);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      for (StringRef role : {attr::parameter, attr::input})
        if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), role))
          data.name = name.str();
      auto isShared = shared.find(value);
      data.shared = isShared == shared.end() ? -1 : isShared->second;
      data.sharers = isShared == shared.end() ? 1 : sharers.lookup(value);
    } else {
      data.name = value.getDefiningOp()->getName().stripDialect().str();
    }
    return add(std::move(data), value);
  }

  int operandNumber(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    bool isParameter = argument && function.getArgAttr(argument.getArgNumber(), attr::parameter);
    return number(value, isParameter ? TemplateValueKind::Parameter : TemplateValueKind::Input);
  }

  static DimFactors dimFactors(const TensorFactors &tensor) {
    DimFactors dims;
    for (const auto &factors : tensor)
      dims.push_back(factors.size() == 1 ? int(factors.front()) : -1);
    return dims;
  }

  LogicalResult read(Operation *op) {
    if (isa<ConstantOp>(op)) // written anew wherever it is needed
      return success();
    if (op->getNumRegions())
      return op->emitOpError("has a region: its layout can be searched before ppc-split-microbatches only");
    for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
      if (!isa<RankedTensorType>(type))
        return op->emitOpError() << "works on " << type << ", which is not a tensor";
    if (auto loss = dyn_cast<CrossEntropyOp>(op))
      return readCrossEntropy(loss), success();

    ShardingRule rule = OpSharding::uncut(op).rule;
    TemplateOp data;
    data.name = op->getName().stripDialect().str();
    if (auto matmul = dyn_cast<MatmulOp>(op))
      data.name += " " + matmul.getSpec().str();
    for (const Factor &factor : rule.factors)
      data.factors.push_back({factor});
    for (const auto &tensors : {ArrayRef<TensorFactors>(rule.operands), ArrayRef<TensorFactors>(rule.results)})
      for (const TensorFactors &tensor : tensors)
        for (const auto &factors : tensor)
          if (factors.size() > 1) // blocks would not be contiguous
            for (unsigned factor : factors)
              data.factors[factor].needsReplication = true;
    if (isa<RotaryOp>(op)) // the sequence, whose positions its angles are
      for (auto [factor, own] : llvm::zip_equal(rule.factors, data.factors))
        own.plannedOnly = factor.positional;
    if (rule.linearity == Linearity::Joint)
      data.linearOperands.assign(rule.linearOperands.begin(), rule.linearOperands.end());

    DenseSet<Value> kept;
    if (auto differentiable = dyn_cast<DifferentiableOpInterface>(op))
      for (OpOperand &operand : op->getOpOperands())
        if (active.contains(operand.get()))
          kept.insert_range(differentiable.keptForGradient(operand.getOperandNumber()));
    for (auto [operand, tensor] : llvm::zip_equal(op->getOperands(), rule.operands)) {
      data.operands.push_back(operandNumber(operand));
      data.operandFactors.push_back(dimFactors(tensor));
      data.savedOperands.push_back(kept.contains(operand));
    }
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results)) {
      data.results.push_back(number(result, TemplateValueKind::Computed));
      data.resultFactors.push_back(dimFactors(tensor));
      data.savedResults.push_back(kept.contains(result));
    }
    data.kernel = kernelOf(op);
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      auto find = [&](StringRef name) { return rule.findFactor(name) ? int(*rule.findFactor(name)) : -1; };
      data.attention = {find("b"),
                        find("s"),
                        find("k"),
                        find("g"),
                        find("d"),
                        find("t"),
                        attention.getCausal(),
                        find("v"),
                        int64_t(attention.getWindow().value_or(0))};
    }
    addOp(std::move(data), op);
    return success();
  }

  static TemplateKernel kernelOf(Operation *op) {
    if (isa<AttentionOp>(op))
      return TemplateKernel::Attention;
    if (isa<MatmulOp>(op))
      return TemplateKernel::Product;
    auto cost = dyn_cast<CostOpInterface>(op);
    return cost && cost.getCost().engine == Engine::None ? TemplateKernel::None : TemplateKernel::Stream;
  }

  // lse = log_sum_exp logits; nll = lse - pick(logits, targets)
  void readCrossEntropy(CrossEntropyOp op) {
    int logits = operandNumber(op.getLogits()), targets = operandNumber(op.getTargets());
    int lse = number(op.getLse(), TemplateValueKind::Computed);
    TemplateValue picked = layer.values[lse];
    picked.name = "pick";
    int pick = add(std::move(picked), Value());
    int nll = number(op.getNll(), TemplateValueKind::Computed);
    TemplateOp rows;
    DimFactors all, kept;
    for (auto [dim, size] : llvm::enumerate(tensorType(op.getLogits()).getShape())) {
      bool isClass = dim + 1 == size_t(tensorType(op.getLogits()).getRank());
      rows.factors.push_back({isClass ? "v" : "d" + std::to_string(dim), size});
      all.push_back(int(dim));
      if (!isClass)
        kept.push_back(int(dim));
    }
    TemplateOp sum = rows;
    sum.name = "log_sum_exp";
    sum.followsOperand = true;
    sum.factors.back().combiner = Combiner::LogSumExp;
    sum.operands = {logits}, sum.operandFactors = {all}, sum.savedOperands = {true};
    sum.results = {lse}, sum.resultFactors = {kept}, sum.savedResults = {true};
    addOp(std::move(sum), nullptr);
    TemplateOp choose = rows;
    choose.name = "pick";
    choose.followsOperand = true;
    choose.operands = {logits, targets}, choose.operandFactors = {all, kept}, choose.savedOperands = {true, true};
    choose.results = {pick}, choose.resultFactors = {kept}, choose.savedResults = {false};
    addOp(std::move(choose), nullptr);
    TemplateOp difference = rows;
    difference.name = "sub";
    difference.factors.pop_back();
    difference.operands = {lse, pick}, difference.operandFactors = {kept, kept},
    difference.savedOperands = {false, false};
    difference.results = {nll}, difference.resultFactors = {kept}, difference.savedResults = {false};
    difference.linearOperands = {0, 1};
    addOp(std::move(difference), nullptr);
  }

  void addOp(TemplateOp data, Operation *op) {
    layer.ops.push_back(std::move(data));
    places.ops.push_back(op);
  }

  func::FuncOp function;
  const DenseSet<Value> &active;
  const DenseMap<Value, int> &shared, &sharers;
  DenseMap<Value, int> numbers;
};

/// Where layers begin, and what is alive there.
struct Cut {
  size_t first; // op
  SmallVector<Value> alive;
};

class TemplateExtractor {
public:
  explicit TemplateExtractor(func::FuncOp function) : function(function) {}

  FailureOr<ExtractedTemplates> run() {
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError("must have one block, for its layout to be searched");
    for (Operation &op : function.front().without_terminator())
      ops.push_back(&op);
    if (ops.empty())
      return function.emitOpError("computes nothing");
    findActive();
    findCuts();
    if (countShared() > 2) { // each would multiply the states of the whole chain
      cuts.resize(1);
      countShared();
    }
    return read();
  }

private:
  void findActive() {
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), attr::parameter))
        active.insert(argument);
    for (Operation *op : ops)
      if (llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); }))
        for (Value result : op->getResults())
          if (isa<FloatType>(getElementTypeOrSelf(result)))
            active.insert(result);
  }

  void findCuts() {
    constexpr size_t mostAlive = 2;
    DenseMap<Operation *, size_t> position;
    for (auto [index, op] : llvm::enumerate(ops))
      position[op] = index;
    DenseMap<Value, size_t> lastUse;
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        lastUse[operand] = position[op];
    bool hasLayers = llvm::any_of(ops, [](Operation *op) { return op->hasAttr(attr::layer); });
    cuts.push_back({0, {}});
    llvm::SetVector<Value> alive;
    Attribute layer = ops.front()->getAttr(attr::layer);
    for (size_t index = 0; index < ops.size(); ++index) {
      Operation *op = ops[index];
      Attribute here = op->getAttr(attr::layer);
      bool begins = hasLayers ? here && here != layer : index > 0 && alive.size() == 1 && !mayBePending(alive.front());
      if (here)
        layer = here;
      if (begins && index > 0 && alive.size() <= mostAlive)
        cuts.push_back({index, llvm::to_vector(alive)});
      if (!isa<ConstantOp>(op))
        for (Value result : op->getResults())
          if (lastUse.contains(result))
            alive.insert(result);
      alive.remove_if([&](Value value) { return lastUse.lookup(value) <= index; });
    }
  }

  /// Whether a sum over devices might pass on through the value.
  static bool mayBePending(Value value) {
    auto op = dyn_cast<ShardingRuleOpInterface>(value.getDefiningOp());
    if (!op)
      return false;
    ShardingRule rule = op.getShardingRule();
    if (rule.isNone())
      return false;
    bool single = rule.linearity == Linearity::Joint && rule.linearOperands.size() == 1;
    for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
      for (const TensorFactors &result : rule.results)
        single |= !rule.factors[factor].needsReplication && !ShardingRule::contains(result, factor);
    return single;
  }

  ArrayRef<Operation *> opsOf(size_t cut) const {
    size_t end = cut + 1 < cuts.size() ? cuts[cut + 1].first : ops.size();
    return ArrayRef(ops).slice(cuts[cut].first, end - cuts[cut].first);
  }

  int countShared() {
    shared.clear();
    sharers.clear();
    for (size_t cut = 0; cut < cuts.size(); ++cut) {
      DenseSet<Value> used;
      for (Operation *op : opsOf(cut))
        for (Value operand : op->getOperands())
          if (auto argument = dyn_cast<BlockArgument>(operand))
            if (function.getArgAttr(argument.getArgNumber(), attr::parameter) && used.insert(operand).second)
              ++sharers[operand];
    }
    for (BlockArgument argument : function.getArguments()) // in their order
      if (sharers.lookup(argument) > 1)
        shared.try_emplace(argument, int(shared.size()));
    return int(shared.size());
  }

  FailureOr<ExtractedTemplates> read() {
    ExtractedTemplates extracted;
    std::vector<OpTemplate> layers;
    for (size_t cut = 0; cut < cuts.size(); ++cut) {
      LayerReader reader(function, active, shared, sharers);
      ArrayRef<Value> leaving;
      if (cut + 1 < cuts.size())
        leaving = cuts[cut + 1].alive;
      if (failed(reader.read(opsOf(cut), cuts[cut].alive, leaving)))
        return failure();
      layers.push_back(std::move(reader.layer));
      extracted.layers.push_back(std::move(reader.places));
    }
    extracted.chain = foldLayers(std::move(layers));
    if (llvm::Error error = extracted.chain.verify())
      return function.emitOpError() << llvm::toString(std::move(error));
    return extracted;
  }

  func::FuncOp function;
  SmallVector<Operation *> ops;
  DenseSet<Value> active;
  SmallVector<Cut> cuts;
  DenseMap<Value, int> shared, sharers;
};

} // namespace

FailureOr<ExtractedTemplates> extractTemplates(func::FuncOp function) { return TemplateExtractor(function).run(); }

std::vector<ChainModel::BatchDimension> batchDimensions(const ExtractedTemplates &templates, func::FuncOp function) {
  std::vector<ChainModel::BatchDimension> found;
  std::vector<int> order;
  for (const TemplateChain::Segment &segment : templates.chain.segments)
    order.insert(order.end(), segment.count, segment.index);
  std::vector<bool> done(templates.chain.templates.size(), false);
  for (auto [index, layer] : llvm::enumerate(templates.layers)) {
    if (done[order[index]])
      continue;
    done[order[index]] = true;
    for (auto [number, value] : llvm::enumerate(layer.values)) {
      auto argument = dyn_cast_or_null<BlockArgument>(value);
      auto dims = argument ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attr::dims) : ArrayAttr();
      if (!dims || !function.getArgAttr(argument.getArgNumber(), attr::input))
        continue;
      for (auto [dim, name] : llvm::enumerate(axisNames(dims)))
        if (name == "batch" && int64_t(dim) < tensorType(value).getRank())
          found.push_back({order[index], int(number), int(dim)});
    }
  }
  return found;
}

} // namespace mlir::ppc
