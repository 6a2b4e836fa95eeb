// Benchmarks of the first GPU of this machine, as compiled programs use it: copies by the driver, matmuls by cuBLASLt,
// each timed by events on a stream.
#ifndef PPC_TOOLS_BENCH_GPU_H
#define PPC_TOOLS_BENCH_GPU_H

#include "Roofline.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::ppc {

struct GpuTime {
  std::string name; // "copy 64 MiB", "bf16 matmul 4096 x 4096 x 4096"
  double seconds;   // time of one repetition, in the best of several windows
  double work;      // bytes that are read and written, or FLOPs
  const char *unit; // "B" or "FLOP"
};

struct GpuTimes {
  std::string name; // name of the GPU, with its architecture
  std::vector<GpuTime> rows;

  /// Best rates of copies, and of matmuls in bf16 or f32. Rates that were not measured are 0.
  DevicePeaks peaks(bool bf16) const;
};

/// Sizes grow by four until one repetition takes longer than `seconds` (0.25 for GPUs: all of them), which is also the
/// approximate duration of each measurement. Errors: no driver, no GPU, no cuBLASLt, and their messages.
llvm::Expected<GpuTimes> measureGpu(double seconds);

} // namespace mlir::ppc

#endif // PPC_TOOLS_BENCH_GPU_H
