// First fit.
#include "runtime/local/BounceSpace.h"

#include <algorithm>

namespace ppcrt {

int64_t BounceSpace::take(int64_t bytes) {
  int64_t begin = 0;
  bytes = (bytes + 63) / 64 * 64;
  auto next = held.begin();
  for (; next != held.end() && next->first - begin < bytes; ++next)
    begin = next->second;
  if (bytes > size - begin)
    return -1;
  held.insert(next, {begin, begin + bytes});
  return begin;
}

void BounceSpace::giveBack(int64_t begin) {
  held.erase(std::find_if(held.begin(), held.end(), [&](const auto &one) { return one.first == begin; }));
}

} // namespace ppcrt
