// Launches whose bounds are known by hand.
#include "ppc/KernelModel/KernelModel.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

namespace {

GpuModel modelOf(llvm::StringRef name) {
  llvm::Expected<GpuModel> model = gpuModel(name);
  EXPECT_TRUE(static_cast<bool>(model));
  return model ? *model : GpuModel();
}

/// A kernel of a block a multiprocessor: a loop of eight instructions that loads 16 bytes, and two outside.
MachineKernel streaming() {
  MachineKernel kernel;
  kernel.name = "streaming";
  kernel.loops.push_back({1, 8, {}});
  kernel.loops[0].counts.byUnit[int(MachineUnit::Float)] = 7;
  kernel.loops[0].counts.byUnit[int(MachineUnit::Global)] = 1;
  kernel.loops[0].counts.loadedBytes = 16;
  kernel.outside.byUnit[int(MachineUnit::Other)] = 2;
  kernel.bytesInFlight = 16;
  return kernel;
}

} // namespace

TEST(KernelModel, RatesOfDevices) {
  GpuModel ampere = modelOf("sm_80");
  EXPECT_EQ(ampere.multiprocessors, 108);
  EXPECT_NEAR(ampere.clock, 1.41e9, 0.01e9); // the boost clock of the data sheet
  EXPECT_NEAR(ampere.bytesPerClock, 11.6, 0.1);
  EXPECT_NEAR(modelOf("sm_90a").clock, 1.83e9, 0.01e9);
  EXPECT_GT(modelOf("sm_100a").neededBytes(), modelOf("sm_80").neededBytes());
  llvm::Expected<GpuModel> unknown = gpuModel("sm_70");
  ASSERT_FALSE(static_cast<bool>(unknown));
  EXPECT_EQ(llvm::toString(unknown.takeError()),
            "'sm_70' is not an architecture with a kernel model, expected one of sm_80, sm_90a, sm_100a");
}

TEST(KernelModel, TripsComeFromTheBytesOfTheLaunch) {
  GpuModel gpu = modelOf("sm_80");
  KernelLaunch launch{108, 256, 32, 0, /*bytesRead=*/int64_t(108) * 256 * 16 * 100, 0, 0};
  KernelEstimate of = estimateKernel(streaming(), launch, gpu);
  EXPECT_DOUBLE_EQ(of.trips, 100);
  EXPECT_DOUBLE_EQ(of.issueClocks, 8.0 * (100 * 8 + 2) / 4); // 8 warps, four of which issue at once
  EXPECT_EQ(of.busiest, MachineUnit::Float);
  EXPECT_DOUBLE_EQ(of.unitClocks, 8.0 * 700 * 32 / 64);
  EXPECT_DOUBLE_EQ(of.memoryClocks, 256.0 * 16 * 100 / gpu.bytesPerClock);
  EXPECT_EQ(of.residentThreads, 256); // no more blocks than that
  EXPECT_DOUBLE_EQ(of.bytesInFlight, 256.0 * 16);
  EXPECT_DOUBLE_EQ(of.bytesNeeded, gpu.neededBytes());
}

TEST(KernelModel, RegistersAndSharedMemoryLimitBlocks) {
  GpuModel gpu = modelOf("sm_80");
  auto resident = [&](int64_t threads, int64_t registers, int64_t shared) {
    return estimateKernel(streaming(), {1 << 20, threads, registers, shared, 1 << 30, 0, 0}, gpu).residentThreads;
  };
  EXPECT_EQ(resident(256, 32, 0), 2048);
  EXPECT_EQ(resident(256, 33, 0), 1536); // 40 a thread are given
  EXPECT_EQ(resident(128, 168, 34816), 384);
  EXPECT_EQ(resident(128, 32, 80 << 10), 256);
  EXPECT_EQ(resident(32, 16, 0), 1024); // 32 blocks
}

TEST(KernelModel, TensorTimeIsOfWantedOperations) {
  GpuModel gpu = modelOf("sm_90a");
  MachineKernel kernel = streaming();
  kernel.loops[0].counts.byUnit[int(MachineUnit::Tensor)] = 4;
  kernel.loops[0].counts.tensorFlops = 4 * 4096;
  KernelLaunch launch{132, 128, 128, 0, 1 << 20, 0, int64_t(132) * 4 * 4 * 4096 * 50};
  KernelEstimate of = estimateKernel(kernel, launch, gpu);
  EXPECT_DOUBLE_EQ(of.trips, 50);
  EXPECT_DOUBLE_EQ(of.tensorClocks, 4.0 * 4 * 50); // 4,096 operations a clock
}

TEST(KernelModel, IssueShareOfUnknownLaunches) {
  GpuModel gpu = modelOf("sm_80");
  EXPECT_DOUBLE_EQ(issueShare(streaming(), gpu), 8.0 / 4 / (16 * 32 / gpu.bytesPerClock));
  EXPECT_EQ(issueShare(MachineKernel(), gpu), 0);
}

TEST(KernelModel, SharesOfTensorTime) {
  GpuModel gpu = modelOf("sm_80"); // 2,048 operations a clock
  MachineKernel kernel = streaming();
  kernel.loops[0].counts.byUnit[int(MachineUnit::Tensor)] = 4;
  kernel.loops[0].counts.tensorFlops = 4 * 4096;
  kernel.loops[0].counts.sharedBytes = 1024;
  TensorShares shares = tensorShares(kernel, gpu);
  EXPECT_DOUBLE_EQ(shares.issue, 12.0 / 4 / 8);
  EXPECT_DOUBLE_EQ(shares.shared, 1024.0 / 128 / 8);
  EXPECT_EQ(tensorShares(streaming(), gpu).issue, 0);
}
