// What tiles of attention ask of a multiprocessor, against numbers by hand.
#include "ppc/KernelModel/AttentionDesign.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

TEST(AttentionDesign, BoundsOfPublishedTiles) {
  llvm::Expected<GpuModel> gpu = gpuModel("sm_90a");
  ASSERT_TRUE(static_cast<bool>(gpu));
  AttentionBounds causal = boundsOf(publishedAttentionDesigns()[0], *gpu);
  EXPECT_DOUBLE_EQ(causal.tensor, 2048);   // 4 * 128^3 operations, 4,096 a clock
  EXPECT_DOUBLE_EQ(causal.operands, 1280); // twice 16 KiB of queries, 32 of keys, 32 of values, at 128 bytes a clock
  EXPECT_DOUBLE_EQ(causal.copies, 512);
  EXPECT_DOUBLE_EQ(causal.special, 1024); // 16,384 exponentials, 16 a clock
  EXPECT_DOUBLE_EQ(causal.issue, 8.0 * (64 * 4.5 + 64) / 4);
  AttentionBounds full = boundsOf(publishedAttentionDesigns()[1], *gpu);
  EXPECT_LT(full.operands / full.tensor, causal.operands / causal.tensor);
  EXPECT_DOUBLE_EQ(full.special / full.tensor, 0.5);
}
