// Counter-based random numbers: the value of an element depends on (seed, name, logical index) only, so it is the same
// under every layout and needs no state. Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3").
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ppcrt {

// Four random words for a counter and a key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The random sequence of a (seed, name). Element i comes from word i % 4 of counter block i / 4.
class RandomStream {
public:
  RandomStream(uint64_t seed, std::string_view name);

  uint32_t word(uint64_t index) const;
  // 64 bits: two consecutive words, for index in units of 64 bits.
  uint64_t wide(uint64_t index) const;
  // Uniform in [0, 1).
  double uniform(uint64_t index) const { return word(index) * 0x1p-32; }

  // out[i] = standard normal number of element first + i. Box-Muller on the words (0, 1) and (2, 3) of each block:
  // radius from the even word, angle from the odd one; the even element is the cosine.
  void normal(uint64_t first, int64_t count, double *out) const;

private:
  std::array<uint32_t, 4> block(uint64_t index) const;

  std::array<uint32_t, 2> key;
};

} // namespace ppcrt
