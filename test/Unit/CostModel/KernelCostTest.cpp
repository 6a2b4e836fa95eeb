// Times of kernels: bounds by the datasheet, growth with the shape, over every device and precision and random shapes.
#include "ppc/CostModel/KernelCost.h"
#include "gtest/gtest.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <random>

using namespace mlir::ppc;

namespace {

std::vector<Device> allDevices() {
  std::vector<Device> devices;
  for (llvm::StringRef name : deviceNames())
    devices.push_back(llvm::cantFail(findDevice(name)));
  return devices;
}

class RandomShapes {
public:
  int64_t upTo(double limit) {
    return static_cast<int64_t>(std::exp2(std::uniform_real_distribution<double>(0, std::log2(limit))(engine)));
  }
  GemmShape gemm() { return {upTo(64), upTo(65536), upTo(65536), upTo(65536)}; }
  AttentionShape attention() {
    AttentionShape shape;
    shape.batch = upTo(16);
    shape.kvHeads = upTo(16);
    shape.heads = shape.kvHeads * upTo(8);
    shape.keys = upTo(131072);
    shape.queries = std::min(upTo(131072), shape.keys);
    shape.headDim = 16 * upTo(16);
    shape.valueDim = 16 * upTo(16);
    shape.causal = engine() % 2;
    shape.window = engine() % 3 ? 0 : upTo(8192);
    return shape;
  }

private:
  std::mt19937_64 engine{20231};
};

TEST(KernelCost, GemmStaysWithinTheDatasheetAndGrows) {
  RandomShapes random;
  for (const Device &device : allDevices())
    for (int p = 0; p < precisionCount; ++p)
      for (int i = 0; i < 300; ++i) {
        Precision precision = static_cast<Precision>(p), runs = productPrecision(device, precision);
        ASSERT_GT(device.peakOf(runs).value, 0) << device.name;
        GemmShape shape = random.gemm();
        double time = gemmTime(device, precision, shape).value;
        double flops = 2.0 * shape.batch * shape.m * shape.n * shape.k;
        double bytes = elementBytes(runs) * shape.batch * (double(shape.m) * shape.k + double(shape.k) * shape.n);
        std::string what = device.name + " " + toString(precision).str() + " " + std::to_string(shape.batch) + "x" +
                           std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
        ASSERT_TRUE(std::isfinite(time)) << what;
        ASSERT_GE(time, device.productFloor.value) << what;
        ASSERT_GE(time, flops / device.peakOf(runs).value) << what;
        ASSERT_GE(time, bytes / device.memoryBandwidth.value) << what;
        // Rows that are not aligned to 16 bytes have other kernels: slower, and never faster than the aligned shape.
        GemmShape aligned = shape;
        aligned.n = llvm::alignTo(shape.n, 32);
        aligned.k = llvm::alignTo(shape.k, 32);
        ASSERT_GE(time * 1.05 + 1e-6,
                  gemmTime(device, precision, aligned).value * double(shape.n) / aligned.n * shape.k / aligned.k)
            << what;
        shape = aligned;
        time = gemmTime(device, precision, shape).value;
        for (int64_t GemmShape::*dimension : {&GemmShape::batch, &GemmShape::m, &GemmShape::n, &GemmShape::k}) {
          GemmShape twice = shape;
          twice.*dimension *= 2;
          ASSERT_GE(gemmTime(device, precision, twice).value, time * (dimension == &GemmShape::k ? 0.8 : 1)) << what;
          ASSERT_LE(gemmTime(device, precision, twice).value, time * 2.6) << what;
        }
      }
}

TEST(KernelCost, RowsNotAlignedTo16BytesAreSlower) {
  Device device = llvm::cantFail(findDevice("H100-SXM-80GB"));
  auto time = [&](int64_t m, int64_t n, int64_t k, bool outerK = false) {
    return gemmTime(device, Precision::Bf16, {1, m, n, k, outerK}).value;
  };
  double aligned = time(8192, 10944, 4096);
  EXPECT_GT(time(8192, 10922, 4096), 1.3 * aligned);
  EXPECT_LT(time(8192, 10922, 4096), 1.7 * aligned);
  EXPECT_GT(time(8192, 10923, 4096), time(8192, 10922, 4096));
  EXPECT_NEAR(time(8191, 10944, 4096), aligned, 0.02 * aligned); // rows of tokens: any number
  EXPECT_NEAR(time(10944, 4096, 8190, true), time(10944, 4096, 8192, true),
              1e-5); // tokens are the outer dimension here
  EXPECT_GT(time(10922, 4096, 8192, true), 1.3 * time(10944, 4096, 8192, true));
}

TEST(KernelCost, WavesAreWhole) {
  Device device = llvm::cantFail(findDevice("H100-SXM-80GB"));
  for (ProductConstants &constants : device.products)
    constants.sustained = 1; // the power limit hides part of what idle multiprocessors cost
  auto rate = [&](int64_t n) {
    return 2.0 * 8192 * n * 4096 / gemmTime(device, Precision::Bf16, {1, 256 * 11, n, 4096}).value * (256 * 11) / 8192;
  };
  // 11 x 12 tiles of 256 x 128 are one wave of 132 multiprocessors; one column of tiles more is nearly two.
  EXPECT_LT(rate(12 * 128 + 128), 0.85 * rate(12 * 128));
  EXPECT_NEAR(rate(24 * 128), rate(12 * 128), 0.15 * rate(12 * 128));
}

TEST(KernelCost, GroupsCostAtLeastTheirRows) {
  Device device = llvm::cantFail(findDevice("H100-SXM-80GB"));
  RandomShapes random;
  for (int i = 0; i < 1000; ++i) {
    int64_t groups = random.upTo(256), rows = random.upTo(65536), n = 8 * random.upTo(2048), k = 8 * random.upTo(2048);
    double grouped = groupedGemmTime(device, Precision::Bf16, groups, rows, n, k).value;
    EXPECT_GE(grouped, 2.0 * rows * n * k / device.peakOf(Precision::Bf16).value);
    EXPECT_LE(groupedGemmTime(device, Precision::Bf16, 1, rows, n, k).value, grouped * 1.25);
    EXPECT_DOUBLE_EQ(groupedGemmTime(device, Precision::Bf16, 1, rows, n, k).value,
                     gemmTime(device, Precision::Bf16, {1, rows, n, k}).value);
  }
}

TEST(KernelCost, AttentionStaysWithinTheDatasheetAndGrows) {
  RandomShapes random;
  for (const Device &device : allDevices())
    for (AttentionKernel kernel : {AttentionKernel::Flash1, AttentionKernel::Flash2, AttentionKernel::Flash3,
                                   AttentionKernel::Cudnn, AttentionKernel::TritonFlash1})
      for (int i = 0; i < 500; ++i) {
        AttentionShape shape = random.attention();
        double forward = attentionForwardTime(device, kernel, Precision::Bf16, shape).value;
        double backward = attentionBackwardTime(device, kernel, Precision::Bf16, shape).value;
        double visible = double(shape.queries) * (shape.causal ? shape.keys - (shape.queries - 1) / 2.0 : shape.keys);
        if (shape.window > 0)
          visible = std::min(visible, double(shape.queries) * std::min(shape.window, shape.keys) / 2.0);
        double flops = 2.0 * shape.batch * shape.heads * visible * (shape.headDim + shape.valueDim);
        double peak = device.peakOf(productPrecision(device, Precision::Bf16)).value;
        ASSERT_TRUE(std::isfinite(forward) && std::isfinite(backward));
        ASSERT_GE(forward, flops / peak) << device.name << " " << shape.queries << " " << shape.keys << " "
                                         << shape.window;
        ASSERT_GE(backward, forward * 0.9);
        for (int64_t AttentionShape::*dimension : {&AttentionShape::batch, &AttentionShape::heads}) {
          AttentionShape twice = shape;
          twice.*dimension *= 2;
          ASSERT_GE(attentionForwardTime(device, kernel, Precision::Bf16, twice).value, forward);
        }
        AttentionShape full = shape;
        full.causal = false;
        full.window = 0;
        ASSERT_GE(attentionForwardTime(device, kernel, Precision::Bf16, full).value, forward * 0.9);
      }
}

TEST(KernelCost, AttentionFollowsItsShape) {
  Device device = llvm::cantFail(findDevice("A100-SXM-80GB"));
  auto forward = [&](AttentionKernel kernel, const AttentionShape &shape) {
    return attentionForwardTime(device, kernel, Precision::Bf16, shape).value;
  };
  AttentionShape shape{1, 32, 32, 8192, 8192, 128, 128, /*causal=*/true, 0};
  double causal = forward(AttentionKernel::Flash2, shape);
  AttentionShape full = shape, window = shape, grouped = shape, odd = shape, few = shape, fewFull = shape;
  full.causal = false;
  EXPECT_NEAR(forward(AttentionKernel::Flash2, full), 2 * causal, 0.2 * causal);
  window.window = 1024;
  EXPECT_LT(forward(AttentionKernel::Flash2, window), 0.4 * causal);
  grouped.kvHeads = 4;
  EXPECT_LE(forward(AttentionKernel::Flash2, grouped), causal);
  odd.headDim = odd.valueDim = 80; // compiled for 96; Flash1: for 128
  EXPECT_GT(forward(AttentionKernel::Flash2, odd),
            forward(AttentionKernel::Flash2, {1, 32, 32, 8192, 8192, 64, 64, true, 0}));
  EXPECT_DOUBLE_EQ(forward(AttentionKernel::Flash1, odd), forward(AttentionKernel::Flash1, shape));
  // 5 heads of 16 blocks leave multiprocessors idle: the longest block counts, and the mask saves nothing.
  few.heads = few.kvHeads = fewFull.heads = fewFull.kvHeads = 5;
  few.queries = few.keys = fewFull.queries = fewFull.keys = 2048;
  fewFull.causal = false;
  EXPECT_DOUBLE_EQ(forward(AttentionKernel::Flash2, few), forward(AttentionKernel::Flash2, fewFull));
}

TEST(KernelCost, PrecisionsWithoutMatmulsRunInTheNextWider) {
  auto runs = [](llvm::StringRef name, Precision precision) {
    return productPrecision(llvm::cantFail(findDevice(name)), precision);
  };
  EXPECT_EQ(runs("V100-SXM-32GB", Precision::Bf16), Precision::Fp16);
  EXPECT_EQ(runs("V100-SXM-32GB", Precision::Fp8), Precision::Fp16);
  EXPECT_EQ(runs("V100-SXM-32GB", Precision::Tf32), Precision::F32);
  EXPECT_EQ(runs("TPU-v5p", Precision::Fp16), Precision::Bf16);
  EXPECT_EQ(runs("TPU-v5p", Precision::F32), Precision::Bf16);
  EXPECT_EQ(runs("H100-SXM-80GB", Precision::Fp4), Precision::Fp8);
  EXPECT_EQ(runs("B200", Precision::Fp4), Precision::Fp4);
}

TEST(KernelCost, StreamsStayBelowTheBandwidth) {
  for (const Device &device : allDevices()) {
    double before = 0;
    for (double bytes = 1; bytes < 1e12; bytes *= 1.7) {
      double time = streamTime(device, Bytes(bytes)).value;
      EXPECT_GE(time, device.launchFloor.value);
      EXPECT_GE(time, bytes / device.memoryBandwidth.value);
      EXPECT_GE(time, before);
      before = time;
    }
  }
}

} // namespace
