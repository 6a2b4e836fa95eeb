// Slots of values against all possible assignments, and bytes against the slots of each part.
#include "ppc/Scheduling/SharedPlaces.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir::ppc;

static bool meet(const Lifetime &a, const Lifetime &b) {
  return !a.isEmpty() && !b.isEmpty() && a.first <= b.last && b.first <= a.last;
}

/// Whether the values from `next` on can have slots below `count`, whatever slots earlier values have.
static bool fits(llvm::ArrayRef<Lifetime> values, std::vector<int64_t> &places, int64_t count) {
  size_t next = places.size();
  if (next == values.size())
    return true;
  for (int64_t place = 0; place < count; ++place) {
    bool isFree = true;
    for (size_t i = 0; i < next; ++i)
      isFree &= places[i] != place || !meet(values[i], values[next]);
    if (!isFree)
      continue;
    places.push_back(place);
    if (fits(values, places, count))
      return true;
    places.pop_back();
  }
  return false;
}

TEST(SharedPlaces, AreTheFewest) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Lifetime> values(1 + random() % 8);
    for (Lifetime &value : values)
      if (random() % 8) // else it is never there
        value.first = int64_t(random() % 12), value.last = value.first + int64_t(random() % 6);
    SharedPlaces shared = sharePlaces(values);
    ASSERT_EQ(shared.places.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(values[i].isEmpty() || shared.places[i] < shared.count);
      for (size_t j = 0; j < i; ++j)
        EXPECT_FALSE(meet(values[i], values[j]) && shared.places[i] == shared.places[j]) << round;
    }
    std::vector<int64_t> places;
    EXPECT_TRUE(fits(values, places, std::max<int64_t>(shared.count, 1)));
    if (places.clear(); shared.count > 1)
      EXPECT_FALSE(fits(values, places, shared.count - 1)) << round;
  }
}

TEST(SharedPlaces, EveryUseExtendsALifetime) {
  Lifetime value;
  EXPECT_TRUE(value.isEmpty());
  value.extend(3);
  value.extend(7);
  EXPECT_EQ(value, (Lifetime{3, 7}));
}

TEST(SharedPlaces, BytesMatchEachPart) {
  // Kinds of values of 1 byte, as many as `bytes` has: the i-th values of all kinds share slots.
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    size_t kinds = 1 + random() % 4, steps = 24;
    std::vector<std::vector<Lifetime>> values(kinds);
    std::vector<double> bytes;
    std::vector<size_t> numbers;
    MomentLoads moments(kinds, steps);
    for (size_t kind = 0; kind < kinds; ++kind) {
      bytes.push_back(double(random() % 5));
      numbers.push_back(kind);
      for (size_t i = 0; i < 1 + random() % 6; ++i) {
        auto first = int64_t(random() % 16), last = first + int64_t(random() % 8);
        values[kind].push_back({first, last});
        for (int64_t place = first; place <= last; ++place)
          moments[place][kind] += 1;
      }
    }
    double expected = 0;
    for (double part = 1; part <= 4; ++part) {
      std::vector<Lifetime> together;
      for (size_t kind = 0; kind < kinds; ++kind)
        if (bytes[kind] >= part)
          together.insert(together.end(), values[kind].begin(), values[kind].end());
      expected += double(sharePlaces(together).count);
    }
    EXPECT_EQ(sharedBytes(bytes, numbers, moments), expected) << round;
  }
}
