// Mutation testing of ppc-verify-equivalence: makes random mutations in a partitioned program, runs the result on
// numbers, in f64 and rounded to f32, to know whether the mutation matters, and asks the checker.
#include "MutantJudge.h"
#include "ProgramMutation.h"
#include "TestPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

struct TestEquivalenceMutationsPass : PassWrapper<TestEquivalenceMutationsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestEquivalenceMutationsPass)
  TestEquivalenceMutationsPass() = default;
  TestEquivalenceMutationsPass(const TestEquivalenceMutationsPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-equivalence-mutations"; }
  StringRef getDescription() const final {
    return "Make random mutations in a partitioned program and see which of those that change its numbers are detected";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<PpcDialect, func::FuncDialect>(); }

  Option<std::string> logical{*this, "logical", llvm::cl::desc("file with the logical program")};
  Option<int64_t> count{*this, "count", llvm::cl::desc("mutations that change numbers to make"), llvm::cl::init(50)};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("seed of mutations and values"), llvm::cl::init(1)};
  Option<std::string> only{*this, "only", llvm::cl::desc("kind of mutation; default: all")};
  Option<bool> list{*this, "list", llvm::cl::desc("print every mutation with its outcome"), llvm::cl::init(false)};

  void runOnOperation() override {
    OwningOpRef<ModuleOp> whole = parseSourceFile<ModuleOp>(logical, &getContext());
    auto step = whole ? whole->lookupSymbol<func::FuncOp>("step") : func::FuncOp();
    if (!step)
      return fail("no logical program with @step in " + logical);
    if (!only.empty() && !llvm::is_contained(mutationKinds(), StringRef(only)))
      return fail("no such kind of mutation: " + only);
    MutantJudge judge(*whole, getOperation());
    if (std::string problem = judge.prepare(seed); !problem.empty())
      return fail(problem);
    judge.judge(count, seed, only, list);
    llvm::outs() << judge.changed << " mutations changed numbers, " << judge.noticed << " of them noticed; "
                 << judge.broken << " did not run, " << judge.brokenNoticed << " of them noticed; " << judge.harmless
                 << " changed nothing, " << judge.overcautious << " of them refused\n";
    for (const std::string &miss : judge.misses)
      llvm::outs() << "missed: " << miss << "\n";
  }

private:
  void fail(const Twine &message) {
    getOperation().emitError() << message;
    signalPassFailure();
  }
};

} // namespace

void ppc::test::registerTestEquivalenceMutations() { PassRegistration<TestEquivalenceMutationsPass>(); }
