// Files of weights, and indexes of such files, for a model of two small parameters: blocks without holes, or
// InputError.
#include "Subject.h"
#include "runtime/base/Error.h"
#include "runtime/weights/WeightFiles.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace ppcrt;

// Both [5, 3] and cut in two; E may be stored row by row.
static Manifest smallModel() {
  Manifest manifest;
  manifest.grid = Grid({{"tp", 2}});
  for (const char *name : {"E", "W"}) {
    manifest.parameters.push_back({name, DataType::F32, {5, 3}});
    manifest.weights.parameters.push_back({{WeightPart{name, {5, 3}}}});
  }
  WeightPart row{"row.*", {3}};
  row.count = 5;
  row.step = 3;
  manifest.weights.parameters[0].push_back({row});
  manifest.weights.optionalPrefix = "m.";
  manifest.weights.ignored = {"*.mask"};
  return manifest;
}

PPC_FUZZ_SUBJECT(WeightFiles) {
  static const Manifest manifest = smallModel();
  static const int file = memfd_create("weights", 0);
  static const std::string plain = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size))
    std::abort();
  try {
    WeightFiles files(plain, manifest);
    for (int parameter = 0; parameter < 2; ++parameter)
      for (int rank = 0; rank < 2; ++rank) {
        Buffer buffer{Role::Parameter};
        buffer.parameter = parameter;
        buffer.cuts = {{0, {0}}};
        Block block(manifest.grid, rank, {5, 3}, buffer.cuts);
        std::vector<float> values(block.localCount(), NAN);
        buffer.bytes = int64_t(values.size()) * 4;
        files.load(buffer, block, reinterpret_cast<std::byte *>(values.data()));
        for (float value : values)
          if (!std::isfinite(value))
            std::abort();
      }
  } catch (const InputError &) {
  }
  return 0;
}
