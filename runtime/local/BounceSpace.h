// Where a rank keeps, in memory that its peers can reach, copies of buffers that they cannot: each from the start of a
// collective to its end.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ppcrt {

class BounceSpace {
public:
  explicit BounceSpace(int64_t size) : size(size) {}

  // The beginning of `bytes` that nobody has, lowest first, a multiple of 64; -1 when there are none.
  int64_t take(int64_t bytes);
  void giveBack(int64_t begin);

private:
  int64_t size;
  std::vector<std::pair<int64_t, int64_t>> held; // begin, end; ascending
};

} // namespace ppcrt
