#include "ppc/CostModel/KernelCost.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

Precision mlir::ppc::productPrecision(const Device &device, Precision precision) {
  // The next wider type that the device has products in; 16-bit types stand in for each other.
  static constexpr Precision wider[] = {Precision::F32,  Precision::F32, Precision::Fp16, Precision::Tf32,
                                        Precision::Bf16, Precision::Fp8, Precision::Mxfp8};
  if (precision == Precision::Fp16 && device.peakOf(precision).value <= 0 && device.peakOf(Precision::Bf16).value > 0)
    return Precision::Bf16;
  Precision found = precision;
  while (device.peakOf(found).value <= 0 && found != wider[static_cast<int>(found)])
    found = wider[static_cast<int>(found)];
  if (device.peakOf(found).value > 0)
    return found;
  for (int p = precisionCount - 1; p >= 0; --p) // nothing wider: the narrowest there is
    if (device.peak[p].value > 0)
      return static_cast<Precision>(p);
  return precision;
}

static double resultBytes(Precision precision) {
  return precision == Precision::F32 || precision == Precision::Tf32 ? 4 : 2;
}

namespace {
/// Rows and columns of the result that one multiprocessor holds at a time, and the rate of its inner loop relative to
/// the largest: smaller tiles load more per FLOP.
struct Tile {
  int rows, columns;
  double rate;
};
} // namespace

static constexpr Tile tiles[] = {{256, 128, 1},    {128, 256, 1},    {128, 128, 0.97},
                                 {128, 64, 0.735}, {64, 128, 0.735}, {64, 64, 0.53}};

/// Matrix units read rows in pieces of 16 bytes: what share of the rate rows leave that begin elsewhere. Pieces of 4
/// bytes are measured (a feed-forward width of 10922), the others carried over.
static double alignmentShare(int64_t contiguous, double elementBytes) {
  double bytes = static_cast<double>(contiguous & -contiguous) * elementBytes;
  return bytes >= 16 ? 1 : bytes >= 8 ? 0.8 : bytes >= 4 ? 0.67 : 0.4;
}

/// `batch` products [rows, k] x [k, n] with `batchRows` rows in all.
static double tiledTime(const Device &device, Precision asked, double batch, double rows, double batchRows, double n,
                        double k, int64_t contiguous) {
  Precision precision = productPrecision(device, asked);
  const ProductConstants &constants = device.products[static_cast<int>(precision)];
  double peak = device.peakOf(precision).value;
  double bandwidth = device.memoryBandwidth.value * device.memoryEfficiency;
  double units = static_cast<double>(device.multiprocessors), perUnit = 1 / units;
  double operand = elementBytes(precision), result = resultBytes(precision);

  double flops = 2 * batchRows * n * k;
  double traffic = (batchRows * k + batch * k * n) * operand + batchRows * n * result;
  double aligned = alignmentShare(contiguous, operand);
  double floor = std::max(flops / (peak * constants.sustained * aligned), traffic / bandwidth);
  double loopRate = peak * constants.tileRate * perUnit * aligned;
  double storeRate = bandwidth * perUnit, fill = device.tileFill.value;
  double splitStore = batchRows * n * 4 / (2 * device.memoryBandwidth.value);

  double best = HUGE_VAL;
  for (const Tile &tile : tiles) {
    if (best <= floor)
      break;
    double count = batch * std::ceil(rows / tile.rows) * std::ceil(n / tile.columns);
    double area = static_cast<double>(tile.rows) * tile.columns;
    double store = area * result / storeRate, exposed = fill + device.exposedStores * store;
    double perDepth = 2 * area / (loopRate * tile.rate);
    for (int split = 1; split <= 16; split *= 2) {
      double depth = std::ceil(k / (64 * split)) * 64;
      double waves = std::ceil(count * split * perUnit);
      double time = std::max(waves * std::max(depth * perDepth + exposed, store) + store, floor);
      if (split > 1)
        time += device.splitFloor.value + (split + 1) * splitStore;
      best = std::min(best, time);
      if (k < 256 * split || count * split > 2 * units) // no room to split further, or nothing to gain
        break;
    }
  }
  return device.productFloor.value + best;
}

/// Batched products whose rows do not begin on pieces of 16 bytes fall back to the vector units (a head dimension of
/// 150 or 108).
static double vectorTime(const Device &device, const GemmShape &shape) {
  constexpr double vectorShare = 0.55;
  double peak = device.peakOf(Precision::F32).value;
  double flops = 2.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                 static_cast<double>(shape.k);
  return peak > 0 ? flops / (peak * vectorShare) : 0;
}

Seconds mlir::ppc::gemmTime(const Device &device, Precision precision, const GemmShape &shape) {
  double m = static_cast<double>(shape.m), batch = static_cast<double>(shape.batch);
  int64_t contiguous = shape.n | (shape.outerK ? shape.m : shape.k);
  double time = tiledTime(device, precision, batch, m, batch * m, static_cast<double>(shape.n),
                          static_cast<double>(shape.k), contiguous);
  Precision used = productPrecision(device, precision);
  bool matrixUnits = used != Precision::F32 && device.peakOf(used).value > device.peakOf(Precision::F32).value;
  if (matrixUnits && shape.batch > 1 && (contiguous & 7) && std::min(shape.n, shape.k) >= 16)
    time = std::max(time, vectorTime(device, shape));
  return Seconds(time);
}

Seconds mlir::ppc::groupedGemmTime(const Device &device, Precision precision, int64_t groups, int64_t rows, int64_t n,
                                   int64_t k) {
  double busy = static_cast<double>(std::max<int64_t>(std::min(groups, rows), 1)), all = static_cast<double>(rows);
  return Seconds(tiledTime(device, precision, busy, std::ceil(all / busy), all, static_cast<double>(n),
                           static_cast<double>(k), n | k));
}

Seconds mlir::ppc::leastProductTime(const Device &device, Precision precision, Flops flops) {
  Precision used = productPrecision(device, precision);
  double rate = device.peakOf(used).value * device.products[static_cast<int>(used)].sustained;
  return device.productFloor + Seconds(rate > 0 ? flops.value / rate : 0);
}

Seconds mlir::ppc::streamTime(const Device &device, Bytes bytes) {
  // The launch overlaps the drain of the kernel before; the memory pipeline fills in about half a launch.
  return Seconds(
      std::max(device.launchFloor.value, 0.5 * device.launchFloor.value +
                                             bytes.value / (device.memoryBandwidth.value * device.memoryEfficiency)));
}
