// The rules of the equivalence check against brute force: each op separately, its operands randomly sharded or partial,
// its results taken for random blocks. Statements that the check accepts must hold on numbers.
#include "IsolatedOp.h"
#include "RandomOperands.h"
#include "TestPasses.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Equivalence/EquivalenceChecker.h"
#include "ppc/Interpreter/Interpreter.h"
#include "ppc/Interpreter/ShardedTensors.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

/// One try: a layout of the operands and results of `op`, as a logical and a partitioned function.
class RuleTry {
public:
  RuleTry(Operation *op, Random &random) : op(op), random(random), builder(op->getContext()) {}

  /// Whether there is a program; `logical` and `local` hold it.
  bool draw();
  /// "" when the ranks compute what one device does.
  std::string compare();

  OwningOpRef<ModuleOp> logical, local;

private:
  int64_t number(int64_t count) { return random() % count; }
  bool chance(int percent) { return number(100) < percent; }
  ShardingAttr randomSharding(RankedTensorType type);
  void cutLoops();
  func::FuncOp makeFunction(ModuleOp module, bool isLocal);

  Operation *op;
  Random &random;
  OpBuilder builder;
  GridAttr grid;
  SmallVector<int64_t> extents; ///< per axis: extents of the dimensions that it prefers to shard
  SmallVector<ShardingAttr> operands, results;
  SmallVector<StringAttr> pending; ///< per operand: the axis over which it is still to be summed, or null
  SmallVector<std::pair<StringAttr, Combiner>> reductions;
  std::optional<NamedAttribute> block;
  SmallVector<bool> isConstant; ///< per operand: one number everywhere
};

ShardingAttr RuleTry::randomSharding(RankedTensorType type) {
  SmallVector<SmallVector<Attribute>> dims(type.getRank());
  for (auto [axis, extent] : llvm::zip(grid.getNames(), extents)) {
    SmallVector<int64_t> fitting;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.getDimSize(dim) == extent)
        fitting.push_back(dim);
    if (!fitting.empty() && chance(80))
      dims[fitting[number(fitting.size())]].push_back(axis);
  }
  if (chance(20))
    for (SmallVector<Attribute> &axes : dims)
      std::reverse(axes.begin(), axes.end());
  return ShardingAttr::get(op->getContext(),
                           llvm::map_to_vector(dims, [&](auto &axes) { return builder.getArrayAttr(axes); }), {}, {});
}

/// A layout that is probably right: loops sharded according to the op's sharding rule. Half of the time one thing is
/// then changed.
void RuleTry::cutLoops() {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  if (rule.isNone())
    return;
  auto clear = [](MutableArrayRef<ShardingAttr> list) {
    for (ShardingAttr &sharding : list)
      sharding = ShardingAttr::replicated(sharding.getContext(), sharding.getDims().size());
  };
  int64_t operand = chance(25) && !operands.empty() ? number(operands.size()) : -1,
          result = chance(25) ? number(results.size()) : -1;
  bool keepsReductions = chance(10), keepsBlock = chance(10);
  SmallVector<ShardingAttr> before = operands, resultsBefore = results;
  clear(operands);
  clear(results);
  if (!keepsReductions)
    reductions.clear();
  if (!keepsBlock)
    block.reset();
  for (StringAttr axis : grid.getNames()) {
    if (rule.factors.empty() || chance(30))
      continue;
    unsigned factor = number(rule.factors.size());
    auto cut = [&](MutableArrayRef<ShardingAttr> shardings, ArrayRef<TensorFactors> tensors) {
      bool isEverywhere = true;
      for (auto [sharding, tensor] : llvm::zip_equal(shardings, tensors)) {
        SmallVector<ArrayAttr> dims(sharding.getDims());
        bool found = false;
        for (auto [dim, factors] : llvm::enumerate(tensor))
          if (llvm::is_contained(factors, factor)) {
            SmallVector<Attribute> list(dims[dim].begin(), dims[dim].end());
            list.push_back(axis);
            dims[dim] = builder.getArrayAttr(list);
            found = true;
          }
        isEverywhere &= found;
        sharding = ShardingAttr::get(op->getContext(), dims, {}, {});
      }
      return isEverywhere;
    };
    cut(operands, rule.operands);
    if (!cut(results, rule.results) && !keepsReductions)
      reductions.push_back({axis, rule.factors[factor].combiner});
    for (StringRef name : {"rows", "classes", "experts", "positions", "queries"})
      if (!keepsBlock && llvm::is_contained(op->getRegisteredInfo()->getAttributeNames(), builder.getStringAttr(name)))
        block = builder.getNamedAttr(
            name, BlockAttr::get(op->getContext(), builder.getArrayAttr({axis}), rule.factors[factor].size));
  }
  if (operand >= 0)
    operands[operand] = before[operand];
  if (result >= 0)
    results[result] = resultsBefore[result];
}

func::FuncOp RuleTry::makeFunction(ModuleOp module, bool isLocal) {
  OpBuilder at = OpBuilder::atBlockEnd(module.getBody());
  Location loc = op->getLoc();
  SmallVector<Type> arguments, logicalArguments, resultTypes;
  SmallVector<ShardingAttr> shardings;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = tensorType(operand);
    ShardingAttr sharding = operands[i];
    if (isConstant[i]) {
      type = withShape(type, {});
      sharding = ShardingAttr::replicated(op->getContext(), 0);
    } else if (pending[i]) { // the sum of 2 * (size of the axis) tensors
      SmallVector<int64_t> shape = {2 * grid.size(pending[i])};
      shape.append(type.getShape().begin(), type.getShape().end());
      type = withShape(type, shape);
      SmallVector<ArrayAttr> dims = {builder.getArrayAttr({pending[i]})};
      dims.append(sharding.getDims().begin(), sharding.getDims().end());
      sharding = ShardingAttr::get(op->getContext(), dims, {}, {});
    }
    logicalArguments.push_back(type);
    shardings.push_back(sharding);
    arguments.push_back(isLocal ? sharding.localType(type, grid) : type);
  }
  for (auto [result, sharding] : llvm::zip_equal(op->getResults(), results))
    resultTypes.push_back(isLocal ? sharding.localType(tensorType(result), grid) : tensorType(result));
  auto function = func::FuncOp::create(at, loc, "alone", at.getFunctionType(arguments, resultTypes));
  at.setInsertionPointToEnd(function.addEntryBlock());
  SmallVector<Value> values;
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    Value value = argument;
    RankedTensorType whole = tensorType(op->getOperand(i)),
                     block = isLocal ? operands[i].localType(whole, grid) : whole;
    if (isConstant[i] && whole.getRank())
      value = BroadcastOp::create(at, loc, block, value,
                                  at.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(whole.getRank()))));
    else if (!isConstant[i] && pending[i])
      value = ReduceOp::create(at, loc, withShape(tensorType(value), tensorType(value).getShape().drop_front()),
                               CombinerAttr::get(op->getContext(), Combiner::Sum), value, at.getDenseI64ArrayAttr({0}));
    values.push_back(value);
  }
  Operation *copy = at.clone(*op);
  copy->setOperands(values);
  for (auto [result, type] : llvm::zip_equal(copy->getResults(), resultTypes))
    result.setType(type);
  SmallVector<Value> returned(copy->getResults());
  if (isLocal) {
    if (block)
      copy->setAttr(block->getName(), block->getValue());
    for (Value &value : returned)
      for (auto [axis, combiner] : reductions)
        if (isa<FloatType>(tensorType(value).getElementType()))
          value = ppc::AllReduceOp::create(at, loc, value.getType(), value, builder.getArrayAttr({axis}),
                                           CombinerAttr::get(op->getContext(), combiner), DenseI64ArrayAttr());
    for (auto [i, sharding] : llvm::enumerate(shardings)) {
      function.setArgAttr(i, attr::sharding, sharding);
      function.setArgAttr(i, attr::logicalType, TypeAttr::get(logicalArguments[i]));
    }
    for (auto [i, sharding] : llvm::enumerate(results)) {
      function.setResultAttr(i, attr::sharding, sharding);
      function.setResultAttr(i, attr::logicalType, TypeAttr::get(op->getResult(i).getType()));
    }
  }
  func::ReturnOp::create(at, loc, returned);
  return function;
}

bool RuleTry::draw() {
  MLIRContext *context = op->getContext();
  grid = GridAttr::get(context, {builder.getStringAttr("a"), builder.getStringAttr("b")}, {2, chance(50) ? 2 : 3});
  SmallVector<int64_t> sizes;
  for (Type type :
       llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
    sizes.append(cast<RankedTensorType>(type).getShape().begin(), cast<RankedTensorType>(type).getShape().end());
  if (sizes.empty())
    return false;
  for (int axis = 0; axis < 2; ++axis)
    extents.push_back(chance(30) ? -1 : sizes[number(sizes.size())]);
  for (StringRef name : {"rows", "classes", "experts", "positions", "queries"})
    if (llvm::is_contained(op->getRegisteredInfo()->getAttributeNames(), builder.getStringAttr(name)) && chance(80))
      block = builder.getNamedAttr(name, BlockAttr::get(context, builder.getArrayAttr({grid.getNames()[number(2)]}),
                                                        sizes[number(sizes.size())]));
  for (StringAttr axis : grid.getNames())
    if (chance(50))
      reductions.push_back({axis, chance(80) ? Combiner::Sum : chance(50) ? Combiner::Max : Combiner::LogSumExp});
  bool isLikely = chance(60);
  for (Value operand : op->getOperands()) {
    operands.push_back(randomSharding(tensorType(operand)));
    pending.emplace_back();
    isConstant.push_back(chance(10) && isa<FloatType>(tensorType(operand).getElementType()));
    if (isLikely)
      continue;
    StringAttr axis = grid.getNames()[number(2)];
    bool isFree =
        llvm::none_of(operands.back().getDims(), [&](ArrayAttr axes) { return llvm::is_contained(axes, axis); });
    if (isFree && chance(15) && isa<FloatType>(tensorType(operand).getElementType()))
      pending.back() = axis;
  }
  for (Value result : op->getResults())
    results.push_back(randomSharding(tensorType(result)));
  if (isLikely)
    cutLoops();
  logical = ModuleOp::create(op->getLoc());
  local = ModuleOp::create(op->getLoc());
  (*local)->setAttr(attr::plan,
                    PlanAttr::get(context, grid, ArrayRef<int64_t>{0}, 1, builder.getStringAttr("1f1b"), 1,
                                  builder.getDictionaryAttr({}), builder.getDictionaryAttr({}), DictionaryAttr()));
  makeFunction(*logical, false);
  makeFunction(*local, true);
  ScopedDiagnosticHandler silent(context, [](Diagnostic &) { return success(); });
  return succeeded(verify(*logical)) && succeeded(verify(*local));
}

std::string RuleTry::compare() {
  auto whole = *logical->getOps<func::FuncOp>().begin(), part = *local->getOps<func::FuncOp>().begin();
  RankValues arguments;
  SmallVector<RankValues> locals(grid.deviceCount());
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    ReferenceTensor value = randomOperand(op, i, random);
    if (isConstant[i]) {
      value = ReferenceTensor({}, value.data.front());
    } else if (pending[i]) { // random parts whose sum is the value
      ReferenceTensor parts = randomTensor(whole.getArgumentTypes()[i], random);
      for (int64_t element = 0; element < value.size(); ++element) {
        double sum = 0;
        for (int64_t at = value.size() + element; at < parts.size(); at += value.size())
          sum += parts.data[at];
        parts.data[element] = value.data[element] - sum;
      }
      value = std::move(parts);
    }
    for (auto [rank, tensor] :
         llvm::enumerate(cutTensor(value, part.getArgAttrOfType<ShardingAttr>(i, attr::sharding), grid)))
      locals[rank].push_back(tensor);
    arguments.push_back(std::move(value));
  }
  FailureOr<RankValues> expected = interpret(whole, arguments);
  FailureOr<SmallVector<RankValues>> found = interpretSpmd(grid, part, locals);
  if (failed(expected) || failed(found))
    return "cannot be run";
  for (auto [number, wanted] : llvm::enumerate(*expected)) {
    SmallVector<ReferenceTensor> blocks;
    for (const RankValues &values : *found)
      blocks.push_back(values[number]);
    AssembleOptions options;
    if (isa<FloatType>(tensorType(op->getResult(number)).getElementType()))
      options.zeroPadding = llvm::to_vector(llvm::seq<int64_t>(wanted.shape.size()));
    std::string problem;
    ScopedDiagnosticHandler silent(op->getContext(), [&](Diagnostic &diagnostic) {
      problem = diagnostic.str();
      return success();
    });
    FailureOr<ReferenceTensor> assembled =
        assembleTensor(blocks, wanted.shape, results[number], grid, [&] { return op->emitError(); }, options);
    if (failed(assembled))
      return problem;
    for (auto [a, b] : llvm::zip_equal(assembled->data, wanted.data))
      if (!(std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b))))
        return "computes " + std::to_string(a) + ", one device " + std::to_string(b);
  }
  return "";
}

struct TestEquivalenceRulesPass : PassWrapper<TestEquivalenceRulesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestEquivalenceRulesPass)
  TestEquivalenceRulesPass() = default;
  TestEquivalenceRulesPass(const TestEquivalenceRulesPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-equivalence-rules"; }
  StringRef getDescription() const final {
    return "Each op alone in random layouts: what the equivalence check accepts must be so on numbers";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<PpcDialect, func::FuncDialect>(); }

  Option<int64_t> count{*this, "count", llvm::cl::desc("layouts per op"), llvm::cl::init(300)};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("seed of layouts and values"), llvm::cl::init(1)};

  void runOnOperation() override {
    if (failed(verifySizes(getOperation())))
      return signalPassFailure();
    int64_t programs = 0, accepted = 0, ops = 0;
    getOperation().walk([&](Operation *op) {
      auto reference = dyn_cast<ReferenceOpInterface>(op);
      if (!reference || !reference.noReferenceReason().empty() || isa<ConstantOp, MaskPaddingOp, ReshardOp>(op))
        return;
      ++ops;
      bool some = false;
      for (int64_t layout = 0; layout < count; ++layout) {
        Random random(seed * 1000003 + layout);
        RuleTry attempt(op, random);
        if (!attempt.draw())
          continue;
        ++programs;
        {
          ScopedDiagnosticHandler silent(&getContext(), [](Diagnostic &) { return success(); });
          if (failed(checkEquivalence(*attempt.logical, *attempt.local)))
            continue;
        }
        some = true;
        ++accepted;
        if (std::string problem = attempt.compare(); !problem.empty()) {
          op->emitError() << "is accepted in layout " << layout << " of seed " << seed.getValue() << ", but "
                          << problem;
          attempt.local->print(llvm::errs());
          signalPassFailure();
          return;
        }
      }
      bool isScalar =
          llvm::all_of(op->getOperandTypes(), [](Type type) { return cast<RankedTensorType>(type).getRank() == 0; });
      if (!some && !isScalar) {
        op->emitError() << "is accepted in no layout: the test shows nothing";
        signalPassFailure();
      }
    });
    llvm::outs() << ops << " ops, " << programs << " programs, " << accepted
                 << " accepted, each of them right on numbers\n";
  }
};

} // namespace

void ppc::test::registerTestEquivalenceRules() { PassRegistration<TestEquivalenceRulesPass>(); }
