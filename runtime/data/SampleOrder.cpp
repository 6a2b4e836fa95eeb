// Shuffling without a table: a Feistel network permutes [0, 4^h) whatever its round function is; a value outside of
// [0, n) is permuted again until it is inside (Black and Rogaway, "Ciphers with Arbitrary Finite Domains"), which takes
// less than four turns on average because 4^(h-1) < n.
#include "runtime/data/SampleOrder.h"
#include "runtime/base/Random.h"

#include <algorithm>

namespace ppcrt {

static constexpr int rounds = 8;

SampleOrder::SampleOrder(OrderKind kind, int64_t tokens, int64_t sequenceLength, uint64_t seed)
    : order(kind), count(kind == OrderKind::Random ? tokens - sequenceLength : (tokens - 1) / sequenceLength),
      sequenceLength(sequenceLength), seed(seed), halfBits(1) {
  while (halfBits < 31 && (int64_t(1) << (2 * halfBits)) < count)
    ++halfBits;
}

int64_t SampleOrder::permuted(int64_t index, int64_t epoch) const {
  RandomStream random(seed, "order");
  uint64_t mask = (uint64_t(1) << halfBits) - 1, value = uint64_t(index);
  do {
    uint64_t left = value >> halfBits, right = value & mask;
    for (int round = 0; round < rounds; ++round) {
      // The high word of the position keeps (epoch, round) apart from the half that is scrambled.
      uint64_t position = (uint64_t(epoch) * rounds + uint64_t(round)) << 31 | right;
      uint64_t next = left ^ (random.word(position) & mask);
      left = right;
      right = next;
    }
    value = left << halfBits | right;
  } while (value >= uint64_t(count));
  return int64_t(value);
}

int64_t SampleOrder::start(int64_t sample) const {
  switch (order) {
  case OrderKind::Random:
    return int64_t(RandomStream(seed, "text").wide(sample) % uint64_t(count));
  case OrderKind::Shuffle:
    return permuted(sample % count, sample / count) * sequenceLength;
  case OrderKind::Sequential:
    return sample % count * sequenceLength;
  }
  return 0;
}

} // namespace ppcrt
