// Where the seconds of a step go, operation by operation, beside what the machine could do.
#ifndef PPC_TOOLS_BENCH_ROOFLINE_H
#define PPC_TOOLS_BENCH_ROOFLINE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mlir::ppc {

/// Rates of one core while all others work too.
struct CorePeaks {
  double flops = 0; // of matrix products, in the precision that is compared
  double bytes = 0; // of a stream that fits in no cache
};

/// Measures them with one rank per core; nothing when a rank fails, which has said why.
CorePeaks measureCorePeaks(int cores, bool bf16);

/// Prints the file that a program writes with --profile: the operations that take long, each with the time that it
/// would take if the products ran at their peak and each buffer moved through memory once, whichever is longer.
/// Operations on buffers that are in a cache can take less.
llvm::Error printRoofline(const std::string &profile, const CorePeaks &peaks, llvm::raw_ostream &out);

} // namespace mlir::ppc

#endif // PPC_TOOLS_BENCH_ROOFLINE_H
