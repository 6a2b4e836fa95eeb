// Resources of attention tiles on a multiprocessor, against numbers by hand.
#include "ppc/KernelModel/AttentionDesign.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

TEST(AttentionDesign, BoundsOfPublishedTiles) {
  llvm::Expected<GpuModel> gpu = gpuModel("sm_90a");
  ASSERT_TRUE(static_cast<bool>(gpu));
  AttentionBounds causal = boundsOf(publishedAttentionDesigns("sm_90a")[0], *gpu);
  EXPECT_DOUBLE_EQ(causal.tensor, 2048);   // 4 * 128^3 operations, 4,096 a clock
  EXPECT_DOUBLE_EQ(causal.operands, 1280); // twice 16 KiB of queries, 32 of keys, 32 of values, at 128 bytes a clock
  EXPECT_DOUBLE_EQ(causal.copies, 512);
  EXPECT_DOUBLE_EQ(causal.special, 1024); // 16,384 exponentials, 16 a clock
  EXPECT_DOUBLE_EQ(causal.issue, 8.0 * (64 * 4.5 + 64) / 4);
  AttentionBounds full = boundsOf(publishedAttentionDesigns("sm_90a")[1], *gpu);
  EXPECT_LT(full.operands / full.tensor, causal.operands / causal.tensor);
  EXPECT_DOUBLE_EQ(full.special / full.tensor, 0.5);
}

TEST(AttentionDesign, BoundsOfTensorMemory) {
  llvm::Expected<GpuModel> gpu = gpuModel("sm_100a");
  ASSERT_TRUE(static_cast<bool>(gpu));
  ASSERT_EQ(publishedAttentionDesigns("sm_100a").size(), 1u);
  EXPECT_TRUE(publishedAttentionDesigns("sm_80").empty());
  AttentionBounds of = boundsOf(publishedAttentionDesigns("sm_100a")[0], *gpu);
  EXPECT_DOUBLE_EQ(of.tensor, 2048);   // twice 4 * 128^3 operations, 8,192 a clock
  EXPECT_DOUBLE_EQ(of.operands, 1536); // twice 32 KiB of queries, 32 of keys, 32 of values
  EXPECT_DOUBLE_EQ(of.special, 2048);
}

// A kernel with roles: what a block issues comes from the loops of all of them, by the warps that execute each.
TEST(AttentionDesign, CountsOfRoles) {
  llvm::Expected<GpuModel> gpu = gpuModel("sm_100a");
  ASSERT_TRUE(static_cast<bool>(gpu));
  MachineKernel kernel;
  auto addLoop = [&](std::initializer_list<std::pair<MachineUnit, int64_t>> counts) {
    kernel.loops.push_back({});
    for (auto [unit, count] : counts)
      kernel.loops.back().counts.byUnit[int(unit)] = count;
  };
  addLoop({{MachineUnit::Special, 129}, {MachineUnit::Float, 400}, {MachineUnit::Integer, 300}}); // looks at keys
  addLoop({{MachineUnit::Special, 130}, {MachineUnit::Float, 400}});
  addLoop({{MachineUnit::Float, 256}, {MachineUnit::Other, 30}});
  addLoop({{MachineUnit::Tensor, 32}, {MachineUnit::Other, 100}});
  addLoop({{MachineUnit::Global, 4}, {MachineUnit::Other, 20}});
  addLoop({{MachineUnit::Other, 2}}); // waits
  std::optional<TensorMemoryAttention> of = tensorMemoryAttention(kernel);
  ASSERT_TRUE(of.has_value());
  EXPECT_EQ(of->design.dim, 128);
  EXPECT_EQ(of->counts.instructions(), 8 * 530 + 4 * 286 + 132 + 24);
  EXPECT_DOUBLE_EQ(boundsOf(*of, *gpu).special, 8.0 * 130 * 32 / 16);
  EXPECT_DOUBLE_EQ(boundsOf(*of, *gpu).issue, of->counts.instructions() / 4.0);
  kernel.loops[3].counts.byUnit[int(MachineUnit::Tensor)] = 0;
  EXPECT_FALSE(tensorMemoryAttention(kernel).has_value());
}
