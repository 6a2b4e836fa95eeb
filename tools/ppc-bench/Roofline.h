// Times of a step, operation by operation, next to the peak rates of the machine.
#ifndef PPC_TOOLS_BENCH_ROOFLINE_H
#define PPC_TOOLS_BENCH_ROOFLINE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mlir::ppc {

/// Rates of a GPU, or of one core while all others work too.
struct DevicePeaks {
  double flops = 0; // FLOP/s of matmuls, in the precision that is compared
  double bytes = 0; // bytes/s of a stream that fits in no cache
};

/// Name in the output of printRoofline() of a core whose rates measureCorePeaks() has measured.
inline constexpr llvm::StringLiteral kCoreAmongOthers = "a core, while all cores work,";

/// Measures them with one rank per core; nothing when a rank fails, which has said why.
DevicePeaks measureCorePeaks(int cores, bool bf16);

/// Prints the file that a program writes with --profile: the operations that take long, each with the time that it
/// would take if its matmuls ran at their peak and each buffer moved through memory once, whichever is longer.
/// Operations on buffers in a cache can take less. `device`: name of the device with these peaks.
llvm::Error printRoofline(const std::string &profile, const DevicePeaks &peaks, llvm::StringRef device,
                          llvm::raw_ostream &out);

/// Whether the command line asks for the subcommand `roofline`.
bool isRooflineRequested();

/// Runs the subcommand: printRoofline() with peaks that are measured now. Returns the exit status of the program.
int runRoofline();

} // namespace mlir::ppc

#endif // PPC_TOOLS_BENCH_ROOFLINE_H
