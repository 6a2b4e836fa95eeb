// `ppc-bench step`: one training step of a LLaMA by PPC, JAX and PyTorch, in turn on the same machine.
#ifndef PPC_TOOLS_BENCH_STEP_H
#define PPC_TOOLS_BENCH_STEP_H

namespace mlir::ppc {

/// Whether the command line asks for the subcommand `step`.
bool isStepRequested();

/// Runs it; the exit status of the program: 1 when something fails or the participants compute different losses, 2 for
/// wrong usage. `program` is argv[0].
int runStep(const char *program);

} // namespace mlir::ppc

#endif // PPC_TOOLS_BENCH_STEP_H
