// Every sharding rule against brute force: shard each loop, run the shards, concatenate them, compare with the
// unsharded op. A shard that does not know its index must compute the same if the rule says that the index does not
// matter, and other results if it says that it does; rules with the opposite statement about one loop are injected, and
// must be detected.
#include "IsolatedOp.h"
#include "RandomOperands.h"
#include "TestPasses.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Interpreter/RankGrid.h"
#include "ppc/Interpreter/ShardedTensors.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

// A factor sharded over some axes, major to minor.
struct Cut {
  unsigned factor;
  SmallVector<std::pair<StringRef, int64_t>, 2> axes;
};
using Cuts = SmallVector<Cut, 2>;

class RuleChecker {
public:
  RuleChecker(Operation *op, ShardingRule rule, int64_t seed)
      : op(op), rule(std::move(rule)), random(seed), seed(seed), operands(randomOperands(op, random)) {}

  LogicalResult run();
  int64_t checkedCuts = 0;
  int64_t checkedBlocks = 0; ///< loops x numbers of blocks
  int64_t noticedFaults = 0;

private:
  LogicalResult checkForm();
  LogicalResult checkLinearity();
  LogicalResult checkSplit(ArrayRef<unsigned> parts);
  LogicalResult checkCuts(const Cuts &cuts);
  /// Whether a block knows its index, or its first element, along the sharded loop.
  enum class Told { Nothing, Block, Start };
  /// Whether `count` blocks of a loop, concatenated, equal the unsharded op; std::nullopt if blocks cannot be told so.
  std::optional<bool> blocksAreWhole(unsigned factor, int64_t count, Told told);
  /// Checks the rule's statement whether the index along the loop matters; writes the reason to `problem`.
  bool isPositionRight(unsigned factor, bool positional, std::string &problem);
  LogicalResult checkPositions();
  SmallVector<Cuts> allCuts();

  ShardingAttr sharding(const TensorFactors &tensor, const Cuts &cuts, bool isResult);
  void fillPadding(unsigned operand, ShardingAttr sharding, GridAttr grid, MutableArrayRef<ReferenceTensor> locals);
  InFlightDiagnostic error(const Cuts &cuts);

  Operation *op;
  ShardingRule rule;
  Random random;
  int64_t seed;
  SmallVector<ReferenceTensor> operands, results;
};

} // namespace

static LogicalResult evaluate(Operation *op, ArrayRef<ReferenceTensor> operands, const ReferenceContext &context,
                              SmallVector<ReferenceTensor> &results) {
  return cast<ReferenceOpInterface>(op).evaluate(operands, context, results);
}

static bool isClose(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

static bool isClose(const ReferenceTensor &a, const ReferenceTensor &b) {
  return a.shape == b.shape && llvm::all_of(llvm::zip_equal(a.data, b.data),
                                            [](auto pair) { return isClose(std::get<0>(pair), std::get<1>(pair)); });
}

// Checks that sizes and ranks of the rule match the op.
LogicalResult RuleChecker::checkForm() {
  if (rule.operands.size() != op->getNumOperands() || rule.results.size() != op->getNumResults() ||
      rule.keepsZeroPadding.size() != op->getNumResults())
    return op->emitError() << "rule " << rule.str() << " has another number of operands or results than the op";
  auto check = [&](const TensorFactors &factors, Value value) -> LogicalResult {
    RankedTensorType type = tensorType(value);
    if (int64_t(factors.size()) != type.getRank())
      return op->emitError() << "rule " << rule.str() << " has " << factors.size() << " dimensions for " << type;
    for (auto [dim, size] : llvm::zip_equal(factors, type.getShape())) {
      int64_t product = 1;
      for (unsigned factor : dim)
        product *= rule.factors[factor].size;
      if (!dim.empty() && product != size)
        return op->emitError() << "rule " << rule.str() << " walks " << product << " elements of a dimension of "
                               << size;
    }
    return success();
  };
  for (auto [factors, value] : llvm::zip_equal(rule.operands, op->getOperands()))
    if (failed(check(factors, value)))
      return failure();
  for (auto [factors, value] : llvm::zip_equal(rule.results, op->getResults()))
    if (failed(check(factors, value)))
      return failure();
  return success();
}

// The parts of `operands` add up: f(x) = f(x1) + f(x2) where x = x1 + x2 in `parts` and the others stay.
LogicalResult RuleChecker::checkSplit(ArrayRef<unsigned> parts) {
  SmallVector<ReferenceTensor> first = operands, second = operands, firstResults, secondResults;
  for (unsigned i : parts) {
    first[i] = randomOperand(op, i, random);
    for (auto [rest, whole, part] : llvm::zip_equal(second[i].data, operands[i].data, first[i].data))
      rest = whole - part;
  }
  if (failed(evaluate(op, first, {}, firstResults)) || failed(evaluate(op, second, {}, secondResults)))
    return failure();
  for (auto [whole, a, b] : llvm::zip_equal(results, firstResults, secondResults))
    for (auto [y, ya, yb] : llvm::zip_equal(whole.data, a.data, b.data))
      if (!isClose(ya + yb, y))
        return op->emitError() << "is not linear in operands [" << parts << "] as its rule says: " << ya << " + " << yb
                               << " is not " << y << " (seed " << seed << ")";
  return success();
}

LogicalResult RuleChecker::checkLinearity() {
  if (rule.linearity == Linearity::Joint)
    return checkSplit(rule.linearOperands);
  for (unsigned operand : rule.linearOperands)
    if (failed(checkSplit({operand})))
      return failure();
  return success();
}

// Each factor alone over 2, over 3 and over 2 x 3 devices, and each pair of factors.
SmallVector<Cuts> RuleChecker::allCuts() {
  SmallVector<unsigned> cuttable;
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    if (!factor.needsReplication)
      cuttable.push_back(i);
  SmallVector<Cuts> all;
  for (unsigned f : cuttable) {
    all.push_back({Cut{f, {{"a", 2}}}});
    all.push_back({Cut{f, {{"a", 3}}}});
    all.push_back({Cut{f, {{"a", 2}, {"b", 3}}}});
    for (unsigned g : cuttable)
      if (f != g)
        all.push_back({Cut{f, {{"a", 2}}}, Cut{g, {{"b", 3}}}});
  }
  return all;
}

ShardingAttr RuleChecker::sharding(const TensorFactors &tensor, const Cuts &cuts, bool isResult) {
  Builder builder(op->getContext());
  SmallVector<ArrayAttr> dims;
  SmallVector<StringAttr> partialAxes;
  SmallVector<Combiner> combiners;
  for (const auto &dim : tensor) {
    SmallVector<StringRef> axes;
    for (const Cut &cut : cuts)
      if (llvm::is_contained(dim, cut.factor))
        llvm::append_range(axes, llvm::make_first_range(cut.axes));
    dims.push_back(builder.getStrArrayAttr(axes));
  }
  for (const Cut &cut : cuts)
    if (isResult && !ShardingRule::contains(tensor, cut.factor))
      for (auto [axis, size] : cut.axes) {
        partialAxes.push_back(builder.getStringAttr(axis));
        combiners.push_back(rule.factors[cut.factor].combiner);
      }
  return ShardingAttr::get(op->getContext(), dims, partialAxes, combiners);
}

// Writes random numbers into the padding of a floating-point operand: nothing may depend on them.
void RuleChecker::fillPadding(unsigned operand, ShardingAttr sharding, GridAttr grid,
                              MutableArrayRef<ReferenceTensor> locals) {
  if (!isa<FloatType>(tensorType(op->getOperand(operand)).getElementType()))
    return;
  SmallVector<ReferenceTensor> isReal = cutTensor(ReferenceTensor(operands[operand].shape, 1), sharding, grid);
  ReferenceTensor noise = randomOperand(op, operand, random);
  for (auto [local, mask] : llvm::zip_equal(locals, isReal))
    for (int64_t i = 0; i < local.size(); ++i)
      if (mask.data[i] == 0)
        local.data[i] = noise.data[i % noise.size()];
}

InFlightDiagnostic RuleChecker::error(const Cuts &cuts) {
  InFlightDiagnostic diagnostic = op->emitError() << "rule " << rule.str() << " with";
  for (const Cut &cut : cuts) {
    diagnostic << " " << rule.factors[cut.factor].name << " (" << rule.factors[cut.factor].size << ") over";
    for (auto [axis, size] : cut.axes)
      diagnostic << " " << size;
  }
  return std::move(diagnostic << ", seed " << seed << ": ");
}

LogicalResult RuleChecker::checkCuts(const Cuts &cuts) {
  MLIRContext *context = op->getContext();
  // The mesh lists its axes in another order than the shardings do.
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const Cut &cut : llvm::reverse(cuts))
    for (auto [axis, size] : llvm::reverse(cut.axes)) {
      names.push_back(StringAttr::get(context, axis));
      sizes.push_back(size);
    }
  auto grid = GridAttr::get(context, names, sizes);

  SmallVector<ShardingAttr> operandShardings, resultShardings;
  SmallVector<Type> operandTypes, resultTypes;
  for (auto [factors, value] : llvm::zip_equal(rule.operands, op->getOperands())) {
    operandShardings.push_back(sharding(factors, cuts, /*isResult=*/false));
    operandTypes.push_back(operandShardings.back().localType(tensorType(value), grid));
  }
  for (auto [factors, value] : llvm::zip_equal(rule.results, op->getResults())) {
    resultShardings.push_back(sharding(factors, cuts, /*isResult=*/true));
    resultTypes.push_back(resultShardings.back().localType(tensorType(value), grid));
  }

  IsolatedOp local(op, operandTypes, resultTypes);
  // Padding may hold anything where the op looks after it, or where it ends up in padding of every result.
  bool paddingIsFree = true;
  llvm::SmallDenseSet<unsigned> took; // factors whose padding the op makes zero
  for (const Cut &cut : cuts) {
    Builder builder(context);
    auto block = BlockAttr::get(context, builder.getStrArrayAttr(llvm::to_vector(llvm::make_first_range(cut.axes))),
                                rule.factors[cut.factor].size);
    bool tookNote = cast<ShardingRuleOpInterface>(local.op).setFactorBlock(cut.factor, block);
    if (tookNote)
      took.insert(cut.factor);
    bool inEveryResult = llvm::all_of(
        rule.results, [&](const TensorFactors &result) { return ShardingRule::contains(result, cut.factor); });
    paddingIsFree &= tookNote || inEveryResult;
  }
  if (failed(verify(local.op)))
    return error(cuts) << "the local op is invalid";

  RankGrid ranks(grid);
  for (bool noise : {false, true}) {
    if (noise && !paddingIsFree)
      break;
    SmallVector<SmallVector<ReferenceTensor>> localOperands(ranks.rankCount()), localResults(op->getNumResults());
    for (unsigned i = 0; i < operands.size(); ++i) {
      SmallVector<ReferenceTensor> locals = cutTensor(operands[i], operandShardings[i], grid);
      if (noise)
        fillPadding(i, operandShardings[i], grid, locals);
      for (auto [rank, tensor] : llvm::enumerate(locals))
        localOperands[rank].push_back(std::move(tensor));
    }
    for (int64_t rank = 0; rank < ranks.rankCount(); ++rank) {
      SmallVector<ReferenceTensor> computed;
      if (failed(evaluate(local.op, localOperands[rank], ranks.context(rank), computed)))
        return error(cuts) << "the local op cannot be evaluated on rank " << rank;
      for (auto [i, tensor] : llvm::enumerate(computed))
        localResults[i].push_back(std::move(tensor));
    }
    for (unsigned i = 0; i < results.size(); ++i) {
      AssembleOptions options;
      for (auto [dim, factors] : llvm::enumerate(rule.results[i]))
        if ((!noise && rule.keepsZeroPadding[i]) ||
            (!factors.empty() && llvm::all_of(factors, [&](unsigned factor) { return took.contains(factor); })))
          options.zeroPadding.push_back(dim);
      FailureOr<ReferenceTensor> assembled = assembleTensor(
          localResults[i], results[i].shape, resultShardings[i], grid, [&]() { return error(cuts); }, options);
      if (failed(assembled))
        return failure();
      if (!isClose(*assembled, results[i]))
        return error(cuts) << "result #" << i << " differs from the whole"
                           << (noise ? ", with noise in the padding" : "");
    }
  }
  ++checkedCuts;
  return success();
}

std::optional<bool> RuleChecker::blocksAreWhole(unsigned factor, int64_t count, Told told) {
  MLIRContext *context = op->getContext();
  auto grid = GridAttr::get(context, StringAttr::get(context, "a"), count);
  const Cuts cuts = {Cut{factor, {{"a", count}}}};
  SmallVector<Type> operandTypes, resultTypes;
  SmallVector<SmallVector<ReferenceTensor>> localOperands(count);
  for (auto [i, factors] : llvm::enumerate(rule.operands)) {
    ShardingAttr own = sharding(factors, cuts, /*isResult=*/false);
    operandTypes.push_back(own.localType(tensorType(op->getOperand(i)), grid));
    for (auto [rank, tensor] : llvm::enumerate(cutTensor(operands[i], own, grid)))
      localOperands[rank].push_back(tensor);
  }
  SmallVector<ShardingAttr> resultShardings;
  for (auto [factors, value] : llvm::zip_equal(rule.results, op->getResults())) {
    resultShardings.push_back(sharding(factors, cuts, /*isResult=*/true));
    resultTypes.push_back(resultShardings.back().localType(tensorType(value), grid));
  }
  // Ids of other blocks are an error of a table that is not told of them. Other threads check other functions.
  const uint64_t own = llvm::get_threadid();
  ScopedDiagnosticHandler silent(context, [own](Diagnostic &) { return success(llvm::get_threadid() == own); });
  RankGrid ranks(grid);
  SmallVector<SmallVector<ReferenceTensor>> localResults(op->getNumResults());
  for (int64_t rank = 0; rank < count; ++rank) {
    IsolatedOp local(op, operandTypes, resultTypes);
    auto interface = cast<ShardingRuleOpInterface>(local.op);
    auto block = BlockAttr::get(context, Builder(context).getStrArrayAttr({"a"}), rule.factors[factor].size);
    if ((told == Told::Block && !interface.setFactorBlock(factor, block)) ||
        (told == Told::Start && !interface.setFactorStart(factor, rank * (rule.factors[factor].size / count))))
      return std::nullopt;
    SmallVector<ReferenceTensor> computed;
    ReferenceContext place = told == Told::Block ? ranks.context(rank) : ReferenceContext();
    if (failed(verify(local.op)) || failed(evaluate(local.op, localOperands[rank], place, computed)))
      return false;
    for (auto [i, tensor] : llvm::enumerate(computed))
      localResults[i].push_back(std::move(tensor));
  }
  for (unsigned i = 0; i < results.size(); ++i) {
    FailureOr<ReferenceTensor> assembled =
        assembleTensor(localResults[i], results[i].shape, resultShardings[i], grid, [&]() { return op->emitError(); });
    if (failed(assembled) || !isClose(*assembled, results[i]))
      return false;
  }
  return true;
}

bool RuleChecker::isPositionRight(unsigned factor, bool positional, std::string &problem) {
  const Factor &loop = rule.factors[factor];
  bool sameEverywhere = true, isCut = false;
  llvm::raw_string_ostream os(problem);
  for (int64_t count = 2; count <= loop.size; ++count) {
    if (loop.size % count)
      continue;
    isCut = true;
    ++checkedBlocks;
    bool same = *blocksAreWhole(factor, count, Told::Nothing);
    sameEverywhere &= same;
    if (!positional && !same)
      return os << count << " blocks of " << loop.name << " are not the whole, but the rule does not say positional",
             false;
    if (!positional)
      continue;
    if (blocksAreWhole(factor, count, Told::Block) != std::optional(true))
      return os << count << " blocks of " << loop.name << " are not the whole when they are told so", false;
    if (blocksAreWhole(factor, count, Told::Start) == std::optional(false))
      return os << count << " blocks of " << loop.name << " are not the whole when they are told their starts", false;
  }
  if (positional && isCut && sameEverywhere)
    return os << "blocks of " << loop.name << " are the whole in any case, but the rule says positional", false;
  return true;
}

LogicalResult RuleChecker::checkPositions() {
  for (auto [number, factor] : llvm::enumerate(rule.factors)) {
    if (factor.needsReplication || factor.size == 1)
      continue;
    std::string problem;
    if (!isPositionRight(number, factor.positional, problem))
      return op->emitError() << "rule " << rule.str() << ": " << problem << " (seed " << seed << ")";
    const int64_t checked = checkedBlocks;
    if (isPositionRight(number, !factor.positional, problem))
      return op->emitError() << "rule " << rule.str() << " with another answer for " << factor.name
                             << " is not noticed (seed " << seed << ")";
    checkedBlocks = checked;
    ++noticedFaults;
  }
  return success();
}

LogicalResult RuleChecker::run() {
  if (failed(checkForm()) || failed(evaluate(op, operands, {}, results)) || failed(checkLinearity()) ||
      failed(checkPositions()))
    return failure();
  for (const Cuts &cuts : allCuts())
    if (failed(checkCuts(cuts)))
      return failure();
  return success();
}

namespace {
struct TestShardingRulesPass : PassWrapper<TestShardingRulesPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestShardingRulesPass)
  TestShardingRulesPass() = default;
  TestShardingRulesPass(const TestShardingRulesPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-sharding-rules"; }
  StringRef getDescription() const final {
    return "Compare sharded ops with unsharded ops, and show the rules as remarks";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<func::FuncDialect>(); }

  void runOnOperation() override {
    if (failed(verifySizes(getOperation())))
      return signalPassFailure();
    WalkResult result = getOperation().walk([&](ShardingRuleOpInterface op) {
      ShardingRule rule = op.getShardingRule();
      if (rule.isNone()) {
        op.emitRemark() << "none: " << rule.noneReason;
        return WalkResult::advance();
      }
      RuleChecker checker(op, rule, seed);
      if (failed(checker.run()))
        return WalkResult::interrupt();
      op.emitRemark() << rule.str() << ", " << checker.checkedCuts << " cuts, " << checker.checkedBlocks
                      << " numbers of blocks, " << checker.noticedFaults << " planted faults noticed";
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  Option<int64_t> seed{*this, "seed", llvm::cl::desc("Seed of the random operands"), llvm::cl::init(1)};
};
} // namespace

void test::registerTestShardingRules() { PassRegistration<TestShardingRulesPass>(); }
