// Offsets of live ranges: right on random problems, tight on the ones that have an easy answer, and the checker
// notices.
#include "ppc/Transforms/Memory/OffsetAllocator.h"
#include "llvm/Support/MathExtras.h"
#include <gtest/gtest.h>

#include <random>

using namespace mlir::ppc;

namespace {

llvm::SmallVector<LiveBuffer> randomProblem(std::mt19937_64 &random, int64_t count) {
  llvm::SmallVector<LiveBuffer> buffers;
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = random() % (2 * count), length = random() % 10;
    buffers.push_back({int64_t(random() % 5000), first, first + length});
  }
  return buffers;
}

TEST(OffsetAllocator, RandomProblems) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto buffers = randomProblem(random, 1 + random() % 60);
    int64_t total = assignOffsets(buffers);
    EXPECT_FALSE(findOverlap(buffers));
    EXPECT_GE(total, liveBytesAtPeak(buffers));
    EXPECT_EQ(total % kBufferAlignment, 0);
    for (const LiveBuffer &buffer : buffers) {
      EXPECT_EQ(buffer.offset % kBufferAlignment, 0);
      EXPECT_LE(buffer.offset + buffer.bytes, total);
    }
  }
}

TEST(OffsetAllocator, ChainNeedsTwoNeighbours) {
  llvm::SmallVector<LiveBuffer> buffers; // each buffer lives until the next one is made, as in a chain of layers
  for (int64_t i = 0; i < 20; ++i)
    buffers.push_back({1000, i, i + 1});
  EXPECT_EQ(assignOffsets(buffers), 2 * 1024);
}

TEST(OffsetAllocator, FillsGaps) {
  llvm::SmallVector<LiveBuffer> buffers = {{640, 0, 1}, {320, 0, 9}, {640, 2, 9}};
  EXPECT_EQ(assignOffsets(buffers), 960);
}

TEST(OffsetAllocator, NothingNeedsNothing) {
  llvm::SmallVector<LiveBuffer> buffers;
  EXPECT_EQ(assignOffsets(buffers), 0);
  buffers = {{0, 0, 3}, {0, 1, 2}};
  EXPECT_EQ(assignOffsets(buffers), 0);
}

TEST(OffsetAllocator, CheckerNoticesMovedBuffers) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto buffers = randomProblem(random, 20);
    assignOffsets(buffers);
    for (LiveBuffer &buffer : buffers)
      for (LiveBuffer &other : buffers)
        if (&buffer != &other && buffer.bytes && other.bytes && buffer.first <= other.last &&
            other.first <= buffer.last) {
          int64_t right = buffer.offset;
          buffer.offset = other.offset;
          EXPECT_TRUE(findOverlap(buffers));
          buffer.offset = right;
        }
  }
}

} // namespace
