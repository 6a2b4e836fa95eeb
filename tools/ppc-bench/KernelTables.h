// Tables of the GPU resources that machine code of kernels needs. Nothing is run.
#ifndef PPC_TOOLS_BENCH_KERNELTABLES_H
#define PPC_TOOLS_BENCH_KERNELTABLES_H

#include "ppc/KernelModel/KernelModel.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mlir::ppc {

/// A kernel of a program, and one launch of it.
struct ProgramKernel {
  std::string function; // that launches it first
  int64_t calls = 0;    // calls of that function in a step
  MachineKernel code;
  KernelLaunch launch;
  int64_t spilledBytes = 0, least = 0; // least: that the launch has to move
};

/// Two tables for one architecture: kernels that memory limits, and those with tensor-core instructions.
void printKernels(llvm::ArrayRef<ProgramKernel> kernels, const GpuModel &gpu, llvm::raw_ostream &out);

/// Kernels of others, whose launches are not known.
void printMachineCode(llvm::ArrayRef<MachineKernel> kernels, const GpuModel &gpu, llvm::raw_ostream &out);

/// Whether the command line asks for the subcommand `kernels`.
bool isKernelsRequested();

/// Runs it; `program`: argv[0]. The exit status of the program.
int runKernels(const char *program);

} // namespace mlir::ppc

#endif // PPC_TOOLS_BENCH_KERNELTABLES_H
