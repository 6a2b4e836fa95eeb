// The size and the hash of files that each rank of a run reads.
#pragma once

#include "runtime/launch/RankLink.h"
#include "runtime/launch/RunInputs.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ppcrt {

class InputDigests {
public:
  // All ranks make theirs together, each with its own inputs. The whole content counts, and is read once by each
  // machine: ranks that see the same file (device, inode, size, times) read a part of it each. What takes long is said.
  InputDigests(const std::vector<RunInput> &inputs, RankLink &link);

  // "108894 bytes, hash 0123456789abcdef", or why the file cannot be read.
  std::string describe(size_t input) const;

private:
  struct File {
    std::string path;
    int64_t size = 0;
    uint64_t hash = 0;
    std::string problem;
  };
  struct Input {
    uint64_t file = 0; // its number
    std::string problem;
  };
  uint64_t readPart(File &file, int64_t begin, int64_t end, bool speaks);

  std::vector<Input> inputs;
  std::map<uint64_t, File> files; // by a number that other processes of the machine know it by, and others do not
  double told;                    // now() of the last word
};

} // namespace ppcrt
