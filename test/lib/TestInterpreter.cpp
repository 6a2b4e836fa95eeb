// Runs functions without arguments and shows what each rank returns.
#include "RandomOperands.h"
#include "TestPasses.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Interpreter/Interpreter.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::ppc;

// [1, 2.5; 3, 4] in row-major order; dimensions beyond the first two are not shown apart.
static std::string textOf(const ReferenceTensor &tensor) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  os << "[";
  for (int64_t i = 0; i < tensor.size(); ++i)
    os << (i == 0 ? "" : i % columns == 0 ? "; " : ", ") << llvm::format("%g", tensor.data[i]);
  os << "]";
  return text;
}

namespace {
struct TestInterpreterPass : PassWrapper<TestInterpreterPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestInterpreterPass)

  StringRef getArgument() const final { return "test-ppc-interpreter"; }
  StringRef getDescription() const final {
    return "Run each function that has `test.grid`, on all ranks, or the functions that `test.programs` of the module "
           "names, one per rank of the module's `test.grid`; show results as remarks";
  }

  void runOnOperation() override {
    if (failed(verifySizes(getOperation())))
      return signalPassFailure();
    if (auto programs = getOperation()->getAttrOfType<ArrayAttr>("test.programs")) {
      auto functions = llvm::map_to_vector(programs, [&](Attribute name) {
        return getOperation().lookupSymbol<func::FuncOp>(cast<FlatSymbolRefAttr>(name));
      });
      return run(getOperation()->getAttrOfType<GridAttr>("test.grid"), functions);
    }
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (auto grid = function->getAttrOfType<GridAttr>("test.grid"))
        run(grid, SmallVector<func::FuncOp>(std::min<int64_t>(grid.deviceCount(), kMostRanks), function));
  }

private:
  static constexpr int64_t kMostRanks = 4096;

  void run(GridAttr grid, ArrayRef<func::FuncOp> functions) {
    if (!grid || int64_t(functions.size()) != grid.deviceCount() || llvm::is_contained(functions, func::FuncOp())) {
      getOperation().emitError("needs test.grid of at most 4096 ranks, and as many functions as it has ranks");
      return signalPassFailure();
    }
    FailureOr<SmallVector<RankValues>> results =
        interpretRanks(grid, functions, SmallVector<RankValues>(functions.size()));
    if (failed(results))
      return signalPassFailure();
    for (auto [rank, values] : llvm::enumerate(*results)) {
      func::FuncOp function = functions[rank];
      InFlightDiagnostic remark = function.emitRemark() << "rank " << rank << " returns";
      for (const ReferenceTensor &value : values)
        remark << " " << textOf(value);
    }
  }
};
} // namespace

void ppc::test::registerTestInterpreter() { PassRegistration<TestInterpreterPass>(); }
