#include "ppc/Cluster/Device.h"

#include "ppc/Support/YamlReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir::ppc;

static constexpr llvm::StringRef precisionNames[] = {"f32", "tf32", "bf16", "fp16", "fp8", "mxfp8", "fp4"};
static constexpr llvm::StringRef attentionNames[] = {"flash1", "flash2", "flash3", "cudnn", "flash1-triton"};

llvm::StringRef mlir::ppc::toString(Precision precision) { return precisionNames[static_cast<int>(precision)]; }

double mlir::ppc::elementBytes(Precision precision) {
  static constexpr double bytes[] = {4, 4, 2, 2, 1, 1, 0.5};
  return bytes[static_cast<int>(precision)];
}

namespace {
struct EmbeddedFile {
  llvm::StringRef name, text;
};
} // namespace

static constexpr EmbeddedFile deviceFiles[] = {
#include "Devices.inc"
};

std::vector<llvm::StringRef> mlir::ppc::deviceNames() {
  std::vector<llvm::StringRef> names;
  for (const EmbeddedFile &file : deviceFiles)
    names.push_back(file.name);
  return names;
}

llvm::Expected<Device> mlir::ppc::findDevice(llvm::StringRef name) {
  for (const EmbeddedFile &file : deviceFiles)
    if (file.name == name)
      return parseDevice((file.name + ".yaml").str(), file.text);
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "unknown device \"" + name + "\"; known: " + llvm::join(deviceNames(), ", "));
}

/// Reads a number of the file, or takes that of the type of device; an error if both are missing. The limits keep every
/// time finite.
template <typename Unit>
static void readQuantity(YamlReader &reader, llvm::StringRef key, double minimum, double maximum, Quantity<Unit> &value,
                         double fallback = 0) {
  double known = value.value > 0 ? value.value : fallback;
  value = Quantity<Unit>(reader.number(key, minimum, maximum, known > 0 ? std::optional(known) : std::nullopt));
}

static void readPrecisions(YamlReader &reader, Device &device) {
  std::optional<YamlReader> peaks = reader.mapping("peak");
  for (int p = 0; p < precisionCount && peaks; ++p) {
    device.peak[p] = FlopsPerSecond(peaks->number(precisionNames[p], 0, 1e19, device.peak[p].value));
    if (device.peak[p].value > 0 && device.peak[p].value < 1e6)
      peaks->fail(precisionNames[p], "expected 0 or at least 1e6 FLOP/s");
  }
  if (peaks)
    peaks->finish();

  // Constants of the first of these precisions hold for those that the file does not name.
  std::optional<YamlReader> products = reader.mapping("products");
  auto share = [](YamlReader &row, llvm::StringRef key, double known) {
    return row.number(key, 0.01, 1, known > 0 ? std::optional(known) : std::nullopt);
  };
  ProductConstants widest{0.8, 0.75, 0.75};
  bool found = false;
  for (int p : {int(Precision::Bf16), int(Precision::Fp16), int(Precision::Tf32), int(Precision::F32),
                int(Precision::Fp8), int(Precision::Mxfp8), int(Precision::Fp4)}) {
    ProductConstants &constants = device.products[p];
    if (std::optional<YamlReader> row = products ? products->mapping(precisionNames[p]) : std::nullopt) {
      constants.tileRate = share(*row, "tile_rate", constants.tileRate);
      constants.sustained = share(*row, "sustained", constants.sustained);
      constants.burst = share(*row, "burst", constants.burst > 0 ? constants.burst : constants.sustained);
      row->finish();
    }
    if (constants.tileRate > 0 && !found) {
      widest = constants;
      found = true;
    }
  }
  for (ProductConstants &constants : device.products)
    if (constants.tileRate <= 0)
      constants = widest;
  if (products)
    products->finish();
}

/// Three numbers for the head dimensions 64, 128 and 256.
static bool readTriple(YamlReader &reader, llvm::StringRef key, std::array<double, 3> &values) {
  std::vector<double> numbers = reader.numbers(key);
  if (numbers.empty() && !reader.has(key))
    return false;
  bool legal = numbers.size() == 3;
  for (double number : numbers)
    legal &= number >= 0 && number <= 1;
  if (!legal)
    reader.fail(key, "expected three numbers within [0, 1], for head dimensions 64, 128 and 256");
  else
    std::copy(numbers.begin(), numbers.end(), values.begin());
  return true;
}

static void readAttention(YamlReader &reader, Device &device) {
  std::optional<YamlReader> attention = reader.mapping("attention");
  if (!attention)
    return;
  for (int kernel = 0; kernel < fusedAttentionCount; ++kernel) {
    std::optional<YamlReader> row = attention->mapping(attentionNames[kernel]);
    if (!row)
      continue;
    AttentionConstants &constants = device.attention[kernel];
    std::array<double, 3> forwardBlock{}, backwardBlock{};
    readTriple(*row, "forward", constants.forward);
    readTriple(*row, "backward", constants.backward);
    if (readTriple(*row, "forward_block", forwardBlock))
      for (int i = 0; i < 3; ++i)
        constants.forwardBlock[i] = Seconds(forwardBlock[i]);
    if (readTriple(*row, "backward_block", backwardBlock))
      for (int i = 0; i < 3; ++i)
        constants.backwardBlock[i] = Seconds(backwardBlock[i]);
    for (int i = 0; i < 3; ++i)
      if ((constants.forward[i] > 0) != (constants.forward[0] > 0) ||
          (constants.backward[i] > 0) != (constants.forward[0] > 0))
        row->fail("forward", "forward and backward rates belong together, for every head dimension or none");
    row->finish();
  }
  attention->finish();
}

Device mlir::ppc::readDevice(YamlReader &reader) {
  Device device;
  if (reader.has("kind")) {
    std::string kind = reader.string("kind");
    llvm::Expected<Device> base = findDevice(kind);
    if (!base) {
      reader.fail("kind", llvm::toString(base.takeError()));
      return device;
    }
    device = std::move(*base);
  }
  device.name = reader.string("name", device.name.empty() ? std::optional<std::string>("custom") : device.name);
  device.architecture = reader.string("architecture", device.architecture);
  device.measured = reader.boolean("measured", device.measured);
  readQuantity(reader, "memory", 1e6, 1e18, device.memory);
  readQuantity(reader, "memory_bandwidth", 1e6, 1e18, device.memoryBandwidth);
  device.memoryEfficiency = reader.number("memory_efficiency", 0.01, 1, device.memoryEfficiency);
  device.multiprocessors = reader.integer(
      "multiprocessors", 1, device.multiprocessors > 0 ? std::optional(device.multiprocessors) : std::nullopt);
  if (device.multiprocessors > 1000000)
    reader.fail("multiprocessors", "expected at most 1000000");
  readQuantity(reader, "launch_floor", 1e-9, 1, device.launchFloor);
  readQuantity(reader, "product_floor", 1e-9, 1, device.productFloor, device.launchFloor.value);
  readQuantity(reader, "split_floor", 1e-9, 1, device.splitFloor, device.launchFloor.value);
  device.elementwiseShare = reader.number("elementwise_share", 0.1, 1, device.elementwiseShare);
  device.collectiveMeeting = Seconds(reader.number("collective_meeting", 0, 1e-3, device.collectiveMeeting.value));
  device.collectiveShare = reader.number("collective_share", 0.1, 1, device.collectiveShare);
  device.hostIssueForward = Seconds(reader.number("host_issue_forward", 0, 1, device.hostIssueForward.value));
  device.hostIssueBackward = Seconds(reader.number("host_issue_backward", 0, 1, device.hostIssueBackward.value));
  device.hostWait = Seconds(reader.number("host_wait", 0, 1, device.hostWait.value));
  device.communicationShare = reader.number("communication_share", 0, 0.9, device.communicationShare);
  device.communicationSlowdown = reader.number("communication_slowdown", 0, 0.9, device.communicationSlowdown);
  device.frameworkMemory = Bytes(reader.number("framework_memory", 0, 1e12, device.frameworkMemory.value));
  device.tileFill = Seconds(reader.number("tile_fill", 0, 1, device.tileFill.value));
  device.exposedStores = reader.number("exposed_stores", 0, 1, device.exposedStores);
  readPrecisions(reader, device);
  readAttention(reader, device);
  reader.finish();
  bool any = false;
  for (FlopsPerSecond peak : device.peak)
    any |= peak.value > 0;
  if (!any)
    reader.missing("peak", "the FLOP/s of at least one of " + llvm::join(llvm::ArrayRef(precisionNames), " or "));
  return device;
}

llvm::Expected<Device> mlir::ppc::parseDevice(llvm::StringRef name, llvm::StringRef text) {
  llvm::Expected<YamlReader> reader = YamlReader::fromText(name, text);
  if (!reader)
    return reader.takeError();
  Device device = readDevice(*reader);
  if (llvm::Error error = reader->takeError())
    return std::move(error);
  return device;
}
