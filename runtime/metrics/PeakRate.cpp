// Products until the time is over.
#include "runtime/metrics/PeakRate.h"
#include "runtime/include/ppcrt.h"

#include <chrono>
#include <vector>

namespace ppcrt {

double measurePeakRate(Transport &transport, DataType type, double seconds) {
  constexpr int64_t n = peakProductEdge;
  const int64_t product[] = {2, int64_t(type), 0, PPCRT_F32, n, n, n, n, 1, n, 1, n, 1, 0};
  std::vector<float> c(n * n);
  std::vector<std::byte> a(n * n * info(type).bytes), b(a.size()); // zeros
  ppcrt_gemm(product, a.data(), b.data(), c.data());               // prepares the kernel
  transport.barrier(Transport::everyRank);
  auto start = std::chrono::steady_clock::now();
  double elapsed = 0;
  int64_t done = 0;
  do {
    ppcrt_gemm(product, a.data(), b.data(), c.data());
    ++done;
    elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  } while (elapsed < seconds);
  double rate = 2.0 * n * n * n * double(done) / elapsed;
  transport.allReduce(Transport::everyRank, &rate, 1, DataType::F64, Reduction::Sum);
  return rate;
}

} // namespace ppcrt
