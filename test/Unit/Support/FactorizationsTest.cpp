// All factorizations of a number.
#include "ppc/Support/Factorizations.h"

#include <gtest/gtest.h>

using namespace mlir::ppc;

TEST(Factorizations, ListsAllInOrder) {
  std::vector<std::vector<int64_t>> expected = {{1, 4}, {2, 2}, {4, 1}};
  EXPECT_EQ(orderedFactorizations(4, 2), expected);
  EXPECT_EQ(orderedFactorizations(12, 3).size(), 18u);
}

TEST(Factorizations, NoneForNonsense) {
  EXPECT_TRUE(orderedFactorizations(0, 2).empty());
  EXPECT_TRUE(orderedFactorizations(4, 0).empty());
}
