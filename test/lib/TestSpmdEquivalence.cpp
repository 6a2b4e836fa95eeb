// Partitioned programs against the unpartitioned one: partitions a copy of the module, runs the function on one device
// and on all ranks of the mesh, concatenates the ranks' results and compares; then proves equivalence. Random layouts
// cover unforeseen cases.
#include "RandomOperands.h"
#include "TestPasses.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "ppc/Analysis/OpSharding.h"
#include "ppc/Equivalence/EquivalenceChecker.h"
#include "ppc/Interpreter/Interpreter.h"
#include "ppc/Interpreter/ShardedTensors.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

int64_t draw(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// Values for the arguments; optimizer state and scalars are positive.
RankValues randomArguments(func::FuncOp function, Random &random) {
  RankValues values;
  for (BlockArgument argument : function.getArguments()) {
    RankedTensorType type = tensorType(argument);
    ReferenceTensor &tensor = values.emplace_back(randomTensor(type, random));
    unsigned number = argument.getArgNumber();
    bool positive = function.getArgAttr(number, attr::state) || function.getArgAttr(number, attr::scalar);
    int64_t bound = isa<IntegerType>(type.getElementType()) ? indexBound(argument) : 0;
    for (double &element : tensor.data)
      element = bound ? double(draw(random, 0, bound - 1)) : positive ? 1.25 + element : element;
  }
  return values;
}

/// A random grid of at most 16 devices.
GridAttr randomGrid(MLIRContext *context, Random &random) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  int64_t devices = 1;
  static const StringRef axes[] = {"a", "b", "c"};
  for (StringRef name : ArrayRef(axes).take_front(draw(random, 1, 3))) {
    int64_t size = draw(random, 2, 4);
    if (devices * size > 16)
      break;
    devices *= size;
    names.push_back(StringAttr::get(context, name));
    sizes.push_back(size);
  }
  return GridAttr::get(context, names, sizes);
}

/// Random axes on random dimensions; `rows` bounds dimension 0, 0 for no bound.
ShardingAttr randomSharding(RankedTensorType type, GridAttr grid, int64_t rows, Random &random) {
  SmallVector<AxisList> dims(type.getRank());
  SmallVector<StringAttr> axes(grid.getNames());
  std::shuffle(axes.begin(), axes.end(), random);
  for (StringAttr axis : axes) {
    if (!type.getRank() || draw(random, 0, 2) == 0)
      continue;
    int64_t dim = draw(random, 0, type.getRank() - 1);
    AxisList &list = dims[dim];
    list.push_back(axis);
    int64_t parts = grid.product(toArrayAttr(axis.getContext(), list));
    if (parts > type.getDimSize(dim) || (dim == 0 && rows && rows % parts))
      list.pop_back();
  }
  return shardingOf(grid.getContext(), dims);
}

struct TestSpmdEquivalencePass : PassWrapper<TestSpmdEquivalencePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestSpmdEquivalencePass)
  TestSpmdEquivalencePass() = default;
  TestSpmdEquivalencePass(const TestSpmdEquivalencePass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-spmd-equivalence"; }
  StringRef getDescription() const final {
    return "Partition a copy of the module as planned, or in random layouts, run it on all ranks and compare with one "
           "device";
  }

  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<PpcDialect>(); }

  Option<int64_t> layouts{*this, "layouts", llvm::cl::desc("random layouts to try; 0: as the module says"),
                          llvm::cl::init(0)};
  Option<int64_t> first{*this, "first", llvm::cl::desc("number of the first layout, to repeat one"), llvm::cl::init(0)};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("seed of layouts and values"), llvm::cl::init(1)};

  void runOnOperation() override {
    if (failed(verifySizes(getOperation())))
      return signalPassFailure();
    if (getOperation().getOps<func::FuncOp>().empty() || (!layouts && !planOf(getOperation()))) {
      getOperation().emitError("has no function, or no ppc.plan");
      return signalPassFailure();
    }
    for (int64_t layout = first; layout < first + std::max<int64_t>(1, layouts); ++layout) {
      Random random(seed * 1000003 + layout);
      OwningOpRef<ModuleOp> copy = getOperation().clone();
      if (layouts)
        randomize(*copy, random);
      if (succeeded(check(*copy, random)))
        continue;
      InFlightDiagnostic error = getOperation().emitError() << "layout " << layout << " of seed " << seed.getValue()
                                                            << " fails on " << planOf(*copy).getGrid();
      for (auto function : copy->getOps<func::FuncOp>())
        for (unsigned number = 0; number < function.getNumArguments(); ++number)
          if (Attribute sharding = function.getArgAttr(number, attr::sharding))
            error << "\n  argument " << number << ": " << sharding;
      return signalPassFailure();
    }
    getOperation().emitRemark() << std::max<int64_t>(1, layouts) << " layouts compute what one device does";
  }

private:
  void randomize(ModuleOp module, Random &random) {
    MLIRContext *context = &getContext();
    GridAttr grid = randomGrid(context, random);
    SmallVector<NamedAttribute> activations;
    SmallVector<StringAttr> axes(grid.getNames());
    std::shuffle(axes.begin(), axes.end(), random);
    axes.truncate(draw(random, 0, axes.size()));
    for (StringRef name : {"sequence", "hidden"}) // dimensions of inputs that have them
      if (!axes.empty() && draw(random, 0, 1))
        activations.emplace_back(StringAttr::get(context, name), toArrayAttr(context, axes));
    module->setAttr(attr::plan, PlanAttr::get(context, grid, ArrayRef<int64_t>{0}, 1, StringAttr::get(context, "1f1b"),
                                              1, DictionaryAttr::get(context), DictionaryAttr::get(context),
                                              DictionaryAttr(), DictionaryAttr::get(context, activations)));
    module.walk([&](Operation *op) { // everything is on one stage
      if (op->hasAttr(attr::layer))
        op->setAttr(attr::stage, IntegerAttr::get(IntegerType::get(context, 64), 0));
    });
    for (auto function : module.getOps<func::FuncOp>()) {
      for (BlockArgument argument : function.getArguments()) {
        int64_t rows = 0;
        for (OpOperand &use : argument.getUses())
          if (auto accumulate = dyn_cast<AccumulateOp>(use.getOwner()))
            rows = tensorType(accumulate.getBody().getArgument(use.getOperandNumber())).getDimSize(0);
        function.setArgAttr(argument.getArgNumber(), attr::sharding,
                            randomSharding(tensorType(argument), grid, rows, random));
      }
      for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
        if (draw(random, 0, 3) == 0) // most results lie as the program likes
          function.setResultAttr(number, attr::sharding, randomSharding(cast<RankedTensorType>(type), grid, 0, random));
    }
    module.walk([&](StrategyOpInterface op) {
      SmallVector<StringRef> names = op.getStrategies();
      (void)op.chooseStrategy(names[draw(random, 0, names.size() - 1)]);
    });
  }

  LogicalResult run(ModuleOp module, ArrayRef<std::unique_ptr<Pass> (*)()> passes) {
    PassManager pm(&getContext());
    for (auto create : passes)
      pm.addPass(create());
    return pm.run(module);
  }

  LogicalResult check(ModuleOp module, Random &random) {
    auto whole = *getOperation().getOps<func::FuncOp>().begin();
    RankValues arguments = randomArguments(whole, random);
    FailureOr<RankValues> expected = interpret(whole, arguments);
    if (failed(expected))
      return failure();
    if (!layouts && failed(run(module, {createApplyPlanPass})))
      return failure();
    if (failed(run(module, {createExpandCrossEntropyPass, createPropagateShardingsPass, createInsertReshardsPass,
                            createVerifyPlannedPass, createPartitionToSpmdPass, createVerifySpmdPass})) ||
        failed(compare(module, arguments, *expected, "partitioned")))
      return failure();
    if (failed(run(module, {createSimplifyCollectivesPass, createVerifySpmdPass})))
      return failure();
    return compare(module, arguments, *expected, "simplified");
  }

  LogicalResult compare(ModuleOp module, const RankValues &arguments, const RankValues &expected, StringRef what) {
    GridAttr grid = planOf(module).getGrid();
    auto function = *module.getOps<func::FuncOp>().begin();
    SmallVector<RankValues> locals(grid.deviceCount());
    for (auto [number, value] : llvm::enumerate(arguments)) {
      auto sharding = function.getArgAttrOfType<ShardingAttr>(number, attr::sharding);
      for (auto [rank, local] : llvm::enumerate(cutTensor(value, sharding, grid)))
        locals[rank].push_back(local);
    }
    FailureOr<SmallVector<RankValues>> results = interpretSpmd(grid, function, locals);
    if (failed(results))
      return failure();
    for (auto [number, whole] : llvm::enumerate(expected)) {
      SmallVector<ReferenceTensor> parts;
      for (const RankValues &values : *results)
        parts.push_back(values[number]);
      auto sharding = function.getResultAttrOfType<ShardingAttr>(number, attr::sharding);
      AssembleOptions options;
      options.zeroPadding = llvm::to_vector(llvm::seq<int64_t>(0, whole.shape.size()));
      auto report = [&, number = number] { return function.emitError() << what << " result " << number << ": "; };
      FailureOr<ReferenceTensor> assembled = assembleTensor(parts, whole.shape, sharding, grid, report, options);
      if (failed(assembled))
        return failure();
      for (auto [position, pair] : llvm::enumerate(llvm::zip(assembled->data, whole.data))) {
        auto [found, wanted] = pair;
        if (!(std::abs(found - wanted) <= 1e-9 * std::max(1.0, std::abs(wanted))))
          return report() << "element " << position << " is " << found << ", on one device " << wanted << " ("
                          << sharding << ")";
      }
    }
    return checkEquivalence(getOperation(), module);
  }
};

} // namespace

void ppc::test::registerTestSpmdEquivalence() { PassRegistration<TestSpmdEquivalencePass>(); }
