// Prints the result of the replay of a program.
#include "StepProgramReader.h"

#include "ppc/Simulation/ProgramReplay.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include "llvm/Support/Format.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SIMULATEPROGRAMPASS
#include "ppc/Transforms/Overlap/Passes.h.inc"

namespace {

struct SimulateProgramPass : impl::SimulateProgramPassBase<SimulateProgramPass> {
  using SimulateProgramPassBase::SimulateProgramPassBase;

  void runOnOperation() override {
    ppcrt::ProgramOp program = ppcrt::findProgram(getOperation());
    if (!program) {
      getOperation().emitError() << "has no ppcrt.program: run ppc-phase-device first";
      return signalPassFailure();
    }
    constexpr int64_t mostSteps = 10000;
    if (emulation.empty() || steps < 1 || steps > mostSteps) {
      program.emitError() << getArgument() << ": "
                          << (emulation.empty() ? "give the links with emulation=FILE"
                                                : "steps is not from 1 to " + std::to_string(mostSteps));
      return signalPassFailure();
    }
    FailureOr<StepProgram> step = readStepProgram(program);
    if (failed(step))
      return signalPassFailure();
    llvm::Expected<EmulatedMachine> machine = readEmulatedMachine(*step, emulation, durations);
    if (!machine)
      return fail(machine.takeError());
    llvm::Expected<std::vector<ReplayedRank>> ranks = replayProgram(*step, *machine, steps);
    if (!ranks)
      return fail(ranks.takeError());
    llvm::errs() << "rank,step_s,exposed_s\n";
    for (auto [number, rank] : llvm::enumerate(*ranks))
      llvm::errs() << number << llvm::format(",%.9g,%.9g\n", rank.step.value, rank.exposed.value);
    markAllAnalysesPreserved();
  }

  void fail(llvm::Error error) {
    getOperation().emitError() << getArgument() << ": " << llvm::toString(std::move(error));
    signalPassFailure();
  }
};

} // namespace
} // namespace mlir::ppc
