// Estimates kernels that standard input lists, one per line, and prints their seconds, one per line:
//   gemm DEVICE PRECISION BATCH M N K
//   grouped DEVICE PRECISION GROUPS ROWS N K
//   forward|backward DEVICE PRECISION KERNEL BATCH HEADS KV-HEADS QUERIES KEYS HEAD-DIM VALUE-DIM CAUSAL WINDOW
//   stream DEVICE BYTES
// DEVICE is a built-in name or the path of a device file. The first line that cannot be read ends it with exit
// status 1.
// `--burst`: matmuls run at their rate after idling, as in tables of isolated kernels, and not at that of training.
// `--benchmark`: prints the nanoseconds that one call of gemmTime takes instead. tools/dev/kernel-accuracy.py runs it.
#include "ppc/CostModel/KernelCost.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>

using namespace mlir::ppc;

namespace {
class Pricer {
public:
  explicit Pricer(bool burst) : burst(burst) {}
  /// Seconds of one line, or what is wrong with it.
  llvm::Expected<Seconds> price(llvm::StringRef line);

private:
  llvm::Expected<const Device &> device(llvm::StringRef name);
  bool burst;
  llvm::StringMap<Device> devices;
};
} // namespace

static llvm::Error wrong(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

template <typename Enumeration>
static llvm::Expected<Enumeration> named(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> names, int first) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == word)
      return static_cast<Enumeration>(first + static_cast<int>(i));
  return wrong("expected one of " + llvm::join(names, ", ") + ", found \"" + word + "\"");
}

llvm::Expected<const Device &> Pricer::device(llvm::StringRef name) {
  auto known = devices.find(name);
  if (known != devices.end())
    return known->second;
  auto file = llvm::MemoryBuffer::getFile(name);
  llvm::Expected<Device> device = file ? parseDevice(name, (*file)->getBuffer()) : findDevice(name);
  if (!device)
    return device.takeError();
  if (burst)
    for (ProductConstants &constants : device->products)
      constants.sustained = constants.burst;
  return devices.try_emplace(name, std::move(*device)).first->second;
}

llvm::Expected<Seconds> Pricer::price(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef, 16> words;
  line.split(words, ' ', -1, /*KeepEmpty=*/false);
  bool forward = words[0] == "forward", backward = words[0] == "backward";
  bool gemm = words[0] == "gemm", grouped = words[0] == "grouped", stream = words[0] == "stream";
  size_t names = forward || backward ? 4 : gemm || grouped ? 3 : 2;
  size_t numbers = forward || backward ? 9 : gemm || grouped ? 4 : 1;
  if (!(forward || backward || gemm || grouped || stream) || words.size() != names + numbers)
    return wrong("unknown kernel, or not the numbers it needs");
  llvm::Expected<const Device &> found = device(words[1]);
  if (!found)
    return found.takeError();
  llvm::SmallVector<int64_t, 9> values(numbers);
  for (size_t i = 0; i < numbers; ++i)
    if (words[names + i].getAsInteger(10, values[i]) || values[i] < 0)
      return wrong("expected a number >= 0, found \"" + words[names + i] + "\"");
  if (stream)
    return streamTime(*found, Bytes(static_cast<double>(values[0])));

  auto precision = named<Precision>(words[2], {"f32", "tf32", "bf16", "fp16", "fp8", "mxfp8", "fp4"}, 0);
  if (!precision)
    return precision.takeError();
  if (gemm)
    return gemmTime(*found, *precision, {values[0], values[1], values[2], values[3]});
  if (grouped)
    return groupedGemmTime(*found, *precision, values[0], values[1], values[2], values[3]);
  auto kernel = named<AttentionKernel>(words[3], {"flash1", "flash2", "flash3", "cudnn", "flash1-triton"},
                                       static_cast<int>(AttentionKernel::Flash1));
  if (!kernel)
    return kernel.takeError();
  AttentionShape shape{values[0], values[1], values[2],      values[3], values[4],
                       values[5], values[6], values[7] != 0, values[8]};
  return forward ? attentionForwardTime(*found, *kernel, *precision, shape)
                 : attentionBackwardTime(*found, *kernel, *precision, shape);
}

static void benchmark() {
  Device device = llvm::cantFail(findDevice("H100-SXM-80GB"));
  constexpr int calls = 1000000;
  double sum = 0;
  std::clock_t start = std::clock(); // CPU time: others may use the machine
  for (int i = 0; i < calls; ++i)
    sum += gemmTime(device, Precision::Bf16, {1, 2048 + (i & 4095), 512 << (i & 3), 1024 << (i & 7)}).value;
  double took = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  llvm::outs() << llvm::formatv("{0:f1} ns per GEMM, {1:f6} s in all\n", took / calls, sum);
}

int main(int argc, char **argv) {
  if (argc > 1 && llvm::StringRef(argv[1]) == "--benchmark")
    return benchmark(), 0;
  auto input = llvm::MemoryBuffer::getSTDIN();
  if (!input) {
    llvm::errs() << "ppc-kernel-times: " << input.getError().message() << "\n";
    return 1;
  }
  Pricer pricer(argc > 1 && llvm::StringRef(argv[1]) == "--burst");
  int number = 0;
  for (llvm::StringRef rest = (*input)->getBuffer(); !rest.empty();) {
    auto [line, tail] = rest.split('\n');
    rest = tail;
    ++number;
    if (line.trim().empty())
      continue;
    llvm::Expected<Seconds> time = pricer.price(line.trim());
    if (!time) {
      llvm::errs() << "<stdin>:" << number << ": error: " << llvm::toString(time.takeError()) << "\n";
      return 1;
    }
    llvm::outs() << llvm::formatv("{0:e9}\n", time->value);
  }
  return 0;
}
