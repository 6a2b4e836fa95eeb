// Mutation testing of the verifiers of order and time: makes random mutations in a program, executes the result in many
// random orders to know whether the mutation matters, and asks the verifiers and the proof.
#include "RandomOperands.h"
#include "RankExecutor.h"
#include "TestPasses.h"
#include "TimeMutation.h"
#include "TimedExecutor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "ppc/Equivalence/EquivalenceChecker.h"
#include "ppc/Phases/TargetPhases.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include <set>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

/// Outcomes of the mutations of one kind.
struct Tally {
  int64_t matter = 0, noticed = 0, harmless = 0, refused = 0;
  int64_t byOutcome[4] = {}; ///< mutations that matter: other numbers, then as TimedOutcome::Kind
};

struct TestTimeMutationsPass : PassWrapper<TestTimeMutationsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestTimeMutationsPass)
  TestTimeMutationsPass() = default;
  TestTimeMutationsPass(const TestTimeMutationsPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-time-mutations"; }
  StringRef getDescription() const final {
    return "Make random timing mutations in a program and see which of those that matter in some order are detected";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<PpcDialect, func::FuncDialect>();
    registerTargetDialects(registry);
  }

  Option<std::string> logical{*this, "logical",
                              llvm::cl::desc("file with the logical program; default: a nested module @logical")};
  Option<std::string> only{*this, "only", llvm::cl::desc("kind of mutation; default: all")};
  Option<std::string> which{*this, "verifiers", llvm::cl::desc("pipeline of passes that look at the program"),
                            llvm::cl::init("ppc-verify-program")};
  Option<int64_t> count{*this, "count", llvm::cl::desc("mutations of each kind"), llvm::cl::init(5)};
  Option<unsigned> interleavings{*this, "interleavings", llvm::cl::desc("orders to try"), llvm::cl::init(100)};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("seed of mutations, values and orders"), llvm::cl::init(1)};
  Option<int64_t> number{*this, "number", llvm::cl::desc("the one mutation of this number"), llvm::cl::init(0)};
  Option<int64_t> buckets{*this, "buckets", llvm::cl::desc("reduce gradients in as many buckets"), llvm::cl::init(0)};
  Option<bool> arena{*this, "arena", llvm::cl::desc("with the offsets of the device phase"), llvm::cl::init(false)};
  Option<bool> list{*this, "list", llvm::cl::desc("print every mutation with its outcome"), llvm::cl::init(false)};

  void runOnOperation() override;

private:
  using Kept = std::map<int, std::vector<double>>; ///< results of orders: of steps and evaluations, exact and rounded

  void fail(const Twine &message) {
    getOperation().emitError() << message;
    signalPassFailure();
  }
  /// Computes values, offsets and numbers of the unchanged program. Returns "" or an error.
  std::string prepare();
  std::string placeBuffers();
  /// False if no gradients are reduced in buckets then.
  bool reduceInBuckets();
  std::string compareWithPlainExecution();
  void judge(StringRef kind, int64_t number, Random &random);
  /// Executes steps and evaluations. The first outcome that is not as expected, whose kind is Ended for other numbers;
  /// nothing when all are. Fills `expected` when that is empty.
  std::optional<TimedOutcome> execute(ModuleOp program);
  /// The name of what refuses the program and why; "" when nothing does.
  std::string refusal(ModuleOp program);
  void summarize();
  /// Whether the program came with offsets.
  bool isPlaced() {
    return llvm::all_of(ppcrt::findProgram(getOperation()).getDevices(),
                        [](ppcrt::DeviceOp device) { return device.getArena().has_value(); });
  }

  OwningOpRef<ModuleOp> whole, device;
  NamedTensors values;
  std::map<int, std::unique_ptr<RoutineNumbers>> numbers;
  Kept expected;
  bool isProved = false;
  std::map<std::string, Tally> tallies;
  std::map<std::string, int64_t> noticedBy;
  std::set<std::string> known; ///< mutations that have been made
  SmallVector<std::string> misses;
};

} // namespace

std::string TestTimeMutationsPass::placeBuffers() {
  device = getOperation().clone();
  PassManager phase(&getContext());
  buildDevicePhase(phase, hostTarget());
  if (failed(phase.run(*device)))
    return "the device phase fails";
  ppcrt::ProgramOp own = ppcrt::findProgram(getOperation());
  OpBuilder(own).clone(*ppcrt::findProgram(*device));
  own.erase();
  return "";
}

bool TestTimeMutationsPass::reduceInBuckets() {
  OwningOpRef<ModuleOp> overlapped = getOperation().clone();
  PassManager passes(&getContext());
  passes.addPass(createOverlapReductionsPass(OverlapReductionsPassOptions{"", buckets}));
  if (failed(passes.run(*overlapped)))
    return false;
  getOperation().getBodyRegion().takeBody(overlapped->getBodyRegion());
  return getOperation().walk([](ppcrt::CollectiveOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

std::string TestTimeMutationsPass::compareWithPlainExecution() {
  TimedExecutor timed(getOperation(), values, *numbers.at(0));
  TimedOutcome outcome = timed.run(seed, 0);
  RankExecutor plain(getOperation());
  if (!plain.run(values).empty())
    return ""; // not its vocabulary
  std::vector<double> found;
  for (const std::vector<RankTensors> &stage : plain.outputs())
    for (const RankTensors &ranks : stage)
      for (const ReferenceTensor &tensor : ranks)
        llvm::append_range(found, tensor.data);
  return sameNumbers(timed.outputs(), found, 1e-9, 1e-3) ? "" : "two executors differ: " + outcome.text;
}

std::string TestTimeMutationsPass::prepare() {
  ppcrt::ProgramOp program = ppcrt::findProgram(getOperation());
  if (!program)
    return "no program";
  Random random(seed);
  values = randomValues(program, random);
  if (auto nested = getOperation().lookupSymbol<ModuleOp>("logical")) {
    whole = nested.clone();
    nested.erase();
  }
  if (!logical.empty())
    whole = parseSourceFile<ModuleOp>(logical, &getContext());
  if (whole || !logical.empty()) {
    auto step = whole ? whole->lookupSymbol<func::FuncOp>("step") : func::FuncOp();
    if (!step)
      return "no logical program with @step in " + logical;
    values = randomValues(step, random);
  }
  for (Arithmetic arithmetic : {Arithmetic::Exact, Arithmetic::Rounded})
    numbers[int(arithmetic)] = std::make_unique<RoutineNumbers>(program.getGrid(), program.getDeviceGrid(), arithmetic);
  if (buckets && !reduceInBuckets())
    return "has no gradients to put into buckets";
  if (arena)
    if (std::string error = placeBuffers(); !error.empty())
      return error;
  if (std::optional<TimedOutcome> outcome = execute(getOperation()))
    return "the program itself is not sound: " + outcome->text;
  std::string reason = refusal(getOperation());
  if (!reason.empty())
    return "the program itself is refused: " + reason;
  if (whole) {
    ScopedDiagnosticHandler silent(&getContext(), [](Diagnostic &) { return success(); });
    isProved = succeeded(checkEquivalence(*whole, getOperation()));
  }
  return compareWithPlainExecution();
}

std::optional<TimedOutcome> TestTimeMutationsPass::execute(ModuleOp module) {
  bool evaluates = llvm::all_of(ppcrt::findProgram(module).getDevices(),
                                [](ppcrt::DeviceOp device) { return bool(device.getEvaluate()); });
  for (bool isEvaluation : {false, true})
    for (Arithmetic arithmetic : {Arithmetic::Exact, Arithmetic::Rounded}) {
      if (isEvaluation && !evaluates)
        continue;
      bool isExact = arithmetic == Arithmetic::Exact;
      TimedExecutor executor(module, values, *numbers.at(int(arithmetic)), isEvaluation);
      std::vector<double> &wanted = expected[2 * isEvaluation + int(arithmetic)];
      for (unsigned order = 0; order < (isExact ? interleavings : interleavings / 10); ++order) {
        TimedOutcome outcome = executor.run(seed, order);
        if (outcome.kind != TimedOutcome::Ended)
          return outcome;
        std::vector<double> found = executor.outputs();
        if (wanted.empty())
          wanted = found;
        if (!sameNumbers(found, wanted, isExact ? 1e-9 : 1e-4, isExact ? 1e-3 : 1e-2)) {
          outcome.text = "order " + std::to_string(order) + " gives other numbers";
          return outcome;
        }
      }
    }
  return std::nullopt;
}

std::string TestTimeMutationsPass::refusal(ModuleOp program) {
  std::string first;
  ScopedDiagnosticHandler silent(&getContext(), [&](Diagnostic &diagnostic) {
    if (first.empty())
      first = diagnostic.str();
    return success();
  });
  auto run = [&](StringRef pipeline, ModuleOp module) {
    PassManager passes(&getContext());
    OwningOpRef<ModuleOp> copy = module.clone();
    return failed(parsePassPipeline(pipeline, passes)) || failed(passes.run(*copy));
  };
  if (run(which, program))
    return which + ": " + first;
  if (device) { // offsets, as the device phase gave them
    OwningOpRef<ModuleOp> placed = device->clone();
    ppcrt::ProgramOp own = ppcrt::findProgram(*placed);
    OpBuilder(own).clone(*ppcrt::findProgram(program));
    own.erase();
    for (auto group : program.getOps<ppcrt::GroupOp>())
      if (!placed->lookupSymbol(group.getSymNameAttr()))
        OpBuilder::atBlockBegin(placed->getBody()).clone(*group);
    if (run("ppc-verify-arena", *placed))
      return "ppc-verify-arena: " + first;
  } else if (isPlaced() && run("ppc-verify-arena", program)) {
    return "ppc-verify-arena: " + first;
  }
  if (isProved && failed(checkEquivalence(*whole, program)))
    return "ppc-verify-equivalence: " + first;
  return "";
}

void TestTimeMutationsPass::judge(StringRef kind, int64_t number, Random &random) {
  OwningOpRef<ModuleOp> mutant = getOperation().clone();
  std::optional<std::string> what = mutateTime(*mutant, kind, random);
  ScopedDiagnosticHandler silent(&getContext(), [](Diagnostic &) { return success(); });
  if (!what || failed(verify(*mutant)) || !known.insert(*what).second)
    return; // no program, or one that is known
  std::optional<TimedOutcome> outcome = execute(*mutant);
  std::string reason = refusal(*mutant);
  Tally &tally = tallies[kind.str()];
  static const StringRef names[] = {"gives other numbers", "hangs", "overlaps", "cannot run"};
  std::string label = "#" + std::to_string(number) + " " + kind.str();
  if (outcome) {
    ++tally.matter;
    ++tally.byOutcome[outcome->kind];
    tally.noticed += !reason.empty();
    ++noticedBy[reason.substr(0, reason.find(':'))];
    if (reason.empty())
      misses.push_back(label + ", which " + names[outcome->kind].str() + ": " + *what + "\n    " + outcome->text);
  } else {
    ++tally.harmless;
    tally.refused += !reason.empty();
  }
  if (list)
    llvm::outs() << label << " " << (outcome ? names[outcome->kind] : "does not matter") << ", "
                 << (reason.empty() ? "accepted" : "refused by " + reason) << "\n    " << *what << "\n    "
                 << (outcome ? outcome->text : "") << "\n";
}

void TestTimeMutationsPass::summarize() {
  Tally all;
  for (auto &[kind, tally] : tallies) {
    llvm::outs() << kind << ": " << tally.matter << " matter (" << tally.byOutcome[0] << " numbers, "
                 << tally.byOutcome[1] << " hangs, " << tally.byOutcome[2] << " overlaps, " << tally.byOutcome[3]
                 << " cannot run), " << tally.noticed << " noticed; " << tally.harmless << " do not, " << tally.refused
                 << " of them refused\n";
    all.matter += tally.matter;
    all.noticed += tally.noticed;
    all.harmless += tally.harmless;
    all.refused += tally.refused;
  }
  for (auto &[verifier, times] : noticedBy)
    if (!verifier.empty())
      llvm::outs() << "first noticed by " << verifier << ": " << times << "\n";
  llvm::outs() << "seed " << seed << (isProved ? ", with" : ", without") << " proof: " << all.matter
               << " timing mutations matter, " << all.noticed << " of them noticed; " << all.harmless
               << " do not matter, " << all.refused << " of them refused\n";
  for (const std::string &miss : misses)
    llvm::outs() << "missed: " << miss << "\n";
}

void TestTimeMutationsPass::runOnOperation() {
  if (failed(verifySizes(getOperation())))
    return signalPassFailure();
  if (std::string error = prepare(); !error.empty())
    return fail(error);
  for (auto [place, kind] : llvm::enumerate(timeMutationKinds())) {
    if (!only.empty() && kind != only)
      continue;
    auto made = [&] { return tallies[kind.str()].matter + tallies[kind.str()].harmless; };
    for (int64_t tries = 1; made() < count && tries <= 40 * count; ++tries) {
      Random own((seed * 1000003 + tries) * 11 + place);
      if (!number || tries == number)
        judge(kind, tries, own);
    }
  }
  summarize();
}

void ppc::test::registerTestTimeMutations() { PassRegistration<TestTimeMutationsPass>(); }
