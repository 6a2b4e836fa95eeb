// Texts as numbers, which links exchange.
#include "runtime/launch/RankLink.h"

#include <algorithm>
#include <cstring>

namespace ppcrt {

std::vector<std::string> RankLink::allTexts(const std::string &mine) {
  std::vector<int64_t> lengths = all({int64_t(mine.size())});
  size_t words = (size_t(*std::max_element(lengths.begin(), lengths.end())) + 7) / 8;
  if (words == 0)
    return std::vector<std::string>(lengths.size());
  std::vector<int64_t> packed(words, 0);
  std::memcpy(packed.data(), mine.data(), mine.size());
  std::vector<int64_t> everything = all(packed);
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < lengths.size(); ++rank)
    texts.emplace_back(reinterpret_cast<const char *>(everything.data() + rank * words), size_t(lengths[rank]));
  return texts;
}

} // namespace ppcrt
