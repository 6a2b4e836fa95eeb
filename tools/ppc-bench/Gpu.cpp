// Timing on a GPU. This file catches what the runtime throws.
#include "Gpu.h"

#include "runtime/base/DataType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Products.h"
#include "runtime/include/ppcrt.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <functional>
#include <random>

namespace mlir::ppc {
namespace {

using namespace ppcrt::cuda;

constexpr int64_t megabyte = int64_t(1) << 20;
constexpr int gpuWindows = 3;
constexpr double shareOfFreeMemory = 0.5;

/// Memory of the GPU with random numbers: products of zeros need less power, and run faster than others.
class Operand {
public:
  Operand(CudaDevice &device, int64_t bytes, bool bf16) : device(device) {
    address = device.allocate(bytes, "a benchmark");
    std::mt19937 random(1);
    std::uniform_real_distribution<float> values(-1, 1);
    int64_t size = bf16 ? 2 : 4, chunk = std::min(bytes, 4 * megabyte);
    std::vector<std::byte> content(size_t(chunk), std::byte{});
    for (int64_t i = 0; i < chunk / size; ++i)
      if (bf16)
        reinterpret_cast<uint16_t *>(content.data())[i] = ppcrt::floatToBf16(values(random));
      else
        reinterpret_cast<float *>(content.data())[i] = values(random);
    device.copyIn(address, content.data(), chunk);
    for (int64_t filled = chunk; filled < bytes; filled += chunk)
      device.copy(address + Address(filled), address, std::min(chunk, bytes - filled));
  }
  ~Operand() { device.free(address); }
  Operand(const Operand &) = delete;
  Operand &operator=(const Operand &) = delete;

  Address address = 0;

private:
  CudaDevice &device;
};

class GpuBenchmark {
public:
  explicit GpuBenchmark(double seconds) : device(driver, 0), seconds(seconds) {
    begin = device.addTimedEvent();
    end = device.addTimedEvent();
    times.name = llvm::formatv("{0}, sm_{1}", device.name, device.architecture);
  }
  ~GpuBenchmark() {
    driver.eventDestroy(begin);
    driver.eventDestroy(end);
  }

  GpuTimes run() {
    for (int64_t bytes = megabyte; bytes <= 1024 * megabyte && fits(2 * bytes); bytes *= 4)
      if (!copy(bytes))
        break;
    for (bool bf16 : {true, false})
      for (int64_t size = 256; size <= 16384 && fits(3 * size * size * (bf16 ? 2 : 4)); size *= 2)
        if (!product(size, bf16))
          break;
    return std::move(times);
  }

private:
  bool fits(int64_t bytes) const { return double(bytes) < shareOfFreeMemory * double(device.availableBytes()); }

  bool copy(int64_t bytes) {
    Operand from(device, bytes, false), to(device, bytes, false);
    return measure({llvm::formatv("copy {0} MiB", bytes / megabyte), 0, 2.0 * double(bytes), "B"},
                   [&] { device.copy(to.address, from.address, bytes); });
  }

  bool product(int64_t size, bool bf16) {
    int64_t bytes = size * size * (bf16 ? 2 : 4);
    int64_t type = bf16 ? PPCRT_BF16 : PPCRT_F32;
    Operand a(device, bytes, bf16), b(device, bytes, bf16), c(device, bytes, bf16);
    // Version, type, accumulate, type of C, sizes, strides of A, B and C, no loops.
    ppcrt::MatrixProduct product{{2, type, 0, type, size, size, size, size, 1, size, 1, size, 1, 0},
                                 {false, 0, 0},
                                 {false, 1, 0},
                                 {false, 2, 0}};
    Products products(device);
    int number = products.prepare(product, 256);
    products.reserve();
    double edge = double(size);
    return measure(
        {llvm::formatv("{0}product {1} x {1} x {1}", bf16 ? "bf16 " : "", size), 0, 2 * edge * edge * edge, "FLOP"},
        [&] { products.run(number, a.address, b.address, c.address); });
  }

  double timeOf(const std::function<void()> &turn, int64_t turns) {
    device.record(begin, device.stream);
    for (int64_t i = 0; i < turns; ++i)
      turn();
    device.record(end, device.stream);
    device.finish();
    return device.secondsBetween(begin, end) / double(turns);
  }

  /// Whether a larger one is worth trying.
  bool measure(GpuTime row, const std::function<void()> &turn) {
    timeOf(turn, 1); // what libraries put off until their first call
    double once = std::max(timeOf(turn, 1), 1e-6);
    row.seconds = once;
    if (once < seconds / gpuWindows) {
      auto turns = int64_t(seconds / gpuWindows / once) + 1;
      for (int window = 0; window < gpuWindows; ++window)
        row.seconds = std::min(row.seconds, timeOf(turn, turns));
    }
    times.rows.push_back(std::move(row));
    return once < seconds;
  }

  Driver driver;
  CudaDevice device;
  EventHandle *begin = nullptr, *end = nullptr;
  double seconds;
  GpuTimes times;
};

} // namespace

DevicePeaks GpuTimes::peaks(bool bf16) const {
  DevicePeaks best;
  for (const GpuTime &row : rows) {
    llvm::StringRef name = row.name;
    double rate = row.work / row.seconds;
    if (name.starts_with("copy"))
      best.bytes = std::max(best.bytes, rate);
    else if (name.starts_with("bf16") == bf16)
      best.flops = std::max(best.flops, rate);
  }
  return best;
}

llvm::Expected<GpuTimes> measureGpu(double seconds) {
  try {
    return GpuBenchmark(seconds).run();
  } catch (const ppcrt::InputError &error) {
    return llvm::createStringError(error.what());
  }
}

} // namespace mlir::ppc
