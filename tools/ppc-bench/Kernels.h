// Benchmarks: kernels of one rank, communication between all of them.
#ifndef PPC_TOOLS_BENCH_KERNELS_H
#define PPC_TOOLS_BENCH_KERNELS_H

#include "Ranks.h"

#include <cstdint>

namespace mlir::ppc {

/// `C = A B`, m x k times k x n, as compiled programs call it: A and B in f32 or bf16, C in f32.
Benchmark productBenchmark(int64_t m, int64_t n, int64_t k, bool bf16 = false);
/// `c = a + b` over three arrays of `bytes` together.
Benchmark streamBenchmark(int64_t bytes);
/// All-reduce of `bytes` over all ranks.
Benchmark allReduceBenchmark(int64_t bytes);
/// Every even rank sends `bytes` to the next one.
Benchmark messageBenchmark(int64_t bytes);

} // namespace mlir::ppc

#endif // PPC_TOOLS_BENCH_KERNELS_H
