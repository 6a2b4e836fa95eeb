#include "Kernels.h"

#include "runtime/base/DataType.h"
#include "runtime/include/ppcrt.h"
#include "llvm/Support/FormatVariadic.h"

#include <vector>

namespace mlir::ppc {

__attribute__((target_clones("avx512f", "avx2", "default"))) static void addArrays(const float *a, const float *b,
                                                                                   float *c, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    c[i] = a[i] + b[i];
}

static float *floats(BenchRank &rank, int64_t offset) { return reinterpret_cast<float *>(rank.arena + offset); }

Benchmark productBenchmark(int64_t m, int64_t n, int64_t k, bool bf16) {
  std::string name = llvm::formatv("{0}product {1} x {2} x {3}", bf16 ? "bf16 " : "", m, n, k);
  return {name, [=](BenchRank &rank) -> std::function<void()> {
            // Version, type, accumulate, type of C, sizes, strides of A, B and C, no loops.
            std::vector<int64_t> call = {2, bf16 ? PPCRT_BF16 : PPCRT_F32, 0, PPCRT_F32, m, n, k, k, 1, n, 1, n, 1, 0};
            int64_t aBytes = (m * k * 4 + 63) / 64 * 64, bBytes = (k * n * 4 + 63) / 64 * 64;
            float *a = floats(rank, 0), *b = floats(rank, aBytes), *c = floats(rank, aBytes + bBytes);
            auto fill = [&](float *values, int64_t count, int64_t period) {
              for (int64_t i = 0; i < count; ++i)
                if (bf16)
                  reinterpret_cast<uint16_t *>(values)[i] = ppcrt::floatToBf16(float(i % period) - float(period / 2));
                else
                  values[i] = float(i % period) - float(period / 2);
            };
            fill(a, m * k, 7);
            fill(b, k * n, 5);
            return [=] { ppcrt_gemm(call.data(), a, b, c); };
          }};
}

Benchmark streamBenchmark(int64_t bytes) {
  return {llvm::formatv("stream {0} KiB", bytes >> 10), [=](BenchRank &rank) -> std::function<void()> {
            int64_t count = bytes / 12;
            float *a = floats(rank, 0), *b = a + count, *c = b + count;
            for (int64_t i = 0; i < count; ++i)
              a[i] = b[i] = float(i % 3);
            return [=] {
              addArrays(a, b, c, count);
              asm volatile("" : : "r"(c) : "memory"); // the result is used
            };
          }};
}

Benchmark allReduceBenchmark(int64_t bytes) {
  return {llvm::formatv("all-reduce {0} B", bytes), [=](BenchRank &rank) -> std::function<void()> {
            ppcrt::LocalTransport *transport = &rank.transport;
            std::byte *buffer = rank.arena;
            return [=] { transport->allReduce(0, buffer, bytes / 4, ppcrt::DataType::F32, ppcrt::Reduction::Sum); };
          }};
}

Benchmark messageBenchmark(int64_t bytes) {
  return {llvm::formatv("message {0} B", bytes), [=](BenchRank &rank) -> std::function<void()> {
            ppcrt::LocalTransport *transport = &rank.transport;
            std::byte *buffer = rank.arena;
            int me = rank.rank, count = rank.count;
            return [=] {
              if (me % 2 == 0 && me + 1 < count)
                transport->wait(transport->startSend(me + 1, {0, 0}, buffer, bytes));
              else if (me % 2)
                transport->receive(me - 1, {0, 0}, buffer, bytes);
            };
          }};
}

} // namespace mlir::ppc
