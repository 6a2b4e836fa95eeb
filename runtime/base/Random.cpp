// Philox rounds and Box-Muller.
#include "runtime/base/Random.h"

#include <cmath>

namespace ppcrt {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> x, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53u) * x[0], b = uint64_t(0xCD9E8D57u) * x[2];
    x = {uint32_t(b >> 32) ^ x[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ x[3] ^ key[1], uint32_t(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return x;
}

RandomStream::RandomStream(uint64_t seed, std::string_view name) {
  // FNV-1a of the name, mixed with the seed by the finalizer of SplitMix64.
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3u;
  hash += seed * 0x9e3779b97f4a7c15u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  hash ^= hash >> 31;
  key = {uint32_t(hash), uint32_t(hash >> 32)};
}

std::array<uint32_t, 4> RandomStream::block(uint64_t index) const {
  return philox4x32({uint32_t(index), uint32_t(index >> 32), 0, 0}, key);
}

uint32_t RandomStream::word(uint64_t index) const { return block(index / 4)[index % 4]; }

uint64_t RandomStream::wide(uint64_t index) const {
  std::array<uint32_t, 4> words = block(index / 2);
  return words[index % 2 * 2] | uint64_t(words[index % 2 * 2 + 1]) << 32;
}

void RandomStream::normal(uint64_t first, int64_t count, double *out) const {
  uint64_t end = first + count;
  for (uint64_t group = first / 4; group * 4 < end; ++group) {
    std::array<uint32_t, 4> words = block(group);
    double values[4];
    for (int pair = 0; pair < 4; pair += 2) {
      double radius = std::sqrt(-2 * std::log((words[pair] + 0.5) * 0x1p-32));
      double angle = 2 * M_PI * (words[pair + 1] * 0x1p-32);
      values[pair] = radius * std::cos(angle);
      values[pair + 1] = radius * std::sin(angle);
    }
    for (int lane = 0; lane < 4; ++lane) {
      uint64_t index = group * 4 + lane;
      if (index >= first && index < end)
        out[index - first] = values[lane];
    }
  }
}

} // namespace ppcrt
