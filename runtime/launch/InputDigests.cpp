// Who reads which chunks.
#include "runtime/launch/InputDigests.h"
#include "ppc/Support/Limits.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"
#include "runtime/files/File.h"
#include "runtime/files/FileDigest.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace ppcrt {
namespace {

// Numbers by files' numbers, of this rank, or of all: [rank].
using Numbers = std::map<uint64_t, uint64_t>;
std::vector<Numbers> allNumbers(RankLink &link, const Numbers &mine) {
  std::vector<uint64_t> flat;
  for (auto [file, number] : mine)
    flat.insert(flat.end(), {file, number});
  std::vector<Numbers> result;
  for (const std::string &text :
       link.allTexts({reinterpret_cast<const char *>(flat.data()), flat.size() * sizeof(uint64_t)})) {
    Numbers &numbers = result.emplace_back();
    flat.resize(text.size() / sizeof(uint64_t));
    std::memcpy(flat.data(), text.data(), flat.size() * sizeof(uint64_t));
    for (size_t i = 0; i + 1 < flat.size(); i += 2)
      numbers[flat[i]] = flat[i + 1];
  }
  return result;
}

} // namespace

InputDigests::InputDigests(const std::vector<RunInput> &given, RankLink &link) : told(now()) {
  uint64_t machine = machineIdentity() ? uint64_t(machineIdentity()) : drawRunNumber();
  Numbers mine;
  for (const RunInput &input : given) {
    Input &state = inputs.emplace_back();
    try {
      InputFile file(input.path);
      state.file = file.identity() ^ machine;
      files[state.file] = {input.path, file.size(), 0, ""};
      mine[state.file] = 0;
    } catch (const InputError &error) {
      state.problem = error.what();
    }
  }
  std::vector<Numbers> all = allNumbers(link, mine);
  for (auto &[number, file] : files) {
    int64_t readers = 0, before = 0, chunks = digestChunks(file.size);
    for (size_t rank = 0; rank < all.size(); ++rank)
      if (all[rank].count(number)) {
        before += int(rank) < link.rank();
        ++readers;
      }
    mine[number] = readPart(file, chunks * before / readers, chunks * (before + 1) / readers, link.rank() == 0);
  }
  for (const Numbers &parts : allNumbers(link, mine))
    for (auto [number, part] : parts)
      if (auto found = files.find(number); found != files.end())
        found->second.hash += part;
}

uint64_t InputDigests::readPart(File &file, int64_t begin, int64_t end, bool speaks) {
  constexpr int64_t turn = 256; // chunks
  uint64_t sum = 0;
  try {
    for (int64_t at = begin; at < end; at += turn) {
      sum += digestPart(file.path, file.size, at, std::min(end, at + turn));
      if (!speaks || now() - told < mlir::ppc::limits::silentSeconds / 2.0)
        continue;
      told = now();
      std::fprintf(stderr, "note: the ranks compare what they read: %.0f %% of %s\n",
                   100.0 * double(std::min(end, at + turn) - begin) / double(end - begin), file.path.c_str());
    }
  } catch (const InputError &error) {
    file.problem = error.what();
  }
  return sum;
}

std::string InputDigests::describe(size_t input) const {
  if (!inputs[input].problem.empty())
    return inputs[input].problem;
  const File &file = files.at(inputs[input].file);
  return file.problem.empty() ? format("%lld bytes, hash %016llx", (long long)file.size, (unsigned long long)file.hash)
                              : file.problem;
}

} // namespace ppcrt
