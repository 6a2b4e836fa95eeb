// Quantities: arithmetic between units and their human-readable form.
#include "ppc/Support/Units.h"

#include <gtest/gtest.h>

#include <type_traits>

using namespace mlir::ppc;

TEST(Units, DivisionGivesTheRightUnit) {
  static_assert(std::is_same_v<decltype(Bytes(1) / BytesPerSecond(1)), Seconds>);
  static_assert(std::is_same_v<decltype(Bytes(1) / Seconds(1)), BytesPerSecond>);
  static_assert(std::is_same_v<decltype(Flops(1) / Seconds(1)), FlopsPerSecond>);
  static_assert(std::is_same_v<decltype(Bytes(1) / Bytes(1)), double>);
  EXPECT_EQ((Bytes(50e9) / BytesPerSecond(25e9)).value, 2.0);
  EXPECT_EQ((Seconds(1) + 2.0 * Seconds(3)).value, 7.0);
}

TEST(Units, ReadsWell) {
  EXPECT_EQ(toString(Bytes(0)), "0 B");
  EXPECT_EQ(toString(Bytes(731)), "731 B");
  EXPECT_EQ(toString(Bytes(1536)), "1.5 KiB");
  EXPECT_EQ(toString(Bytes(1020 * 1024.0)), "1020 KiB");
  EXPECT_EQ(toString(Bytes(80 * 0x1p30)), "80 GiB");
  EXPECT_EQ(toString(Seconds(0)), "0 s");
  EXPECT_EQ(toString(Seconds(0.0123)), "12.3 ms");
  EXPECT_EQ(toString(Seconds(4.5612e-6)), "4.56 us");
  EXPECT_EQ(toString(Seconds(5000)), "5000 s");
}
