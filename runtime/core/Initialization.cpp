// Fills blocks of parameters run by run.
#include "runtime/core/Initialization.h"
#include "runtime/core/Random.h"

#include <algorithm>
#include <cstring>

namespace ppcrt {
namespace {

void store(std::byte *data, DataType type, int64_t index, double value) {
  if (type == DataType::F32)
    reinterpret_cast<float *>(data)[index] = float(value);
  else if (type == DataType::F64)
    reinterpret_cast<double *>(data)[index] = value;
  else
    reinterpret_cast<uint16_t *>(data)[index] = floatToBf16(float(value));
}

} // namespace

void initialize(std::byte *data, const Buffer &buffer, const Parameter &parameter, const Block &block, uint64_t seed) {
  std::memset(data, 0, buffer.bytes);
  if (parameter.init == InitKind::Zeros)
    return;
  RandomStream random(seed, parameter.name);
  int64_t width = 1, zeros = parameter.zeroRow;
  for (size_t dim = 1; dim < parameter.shape.size(); ++dim)
    width *= parameter.shape[dim];
  block.forEachRun([&](int64_t local, int64_t logical, int64_t length) {
    double values[1024];
    std::fill(std::begin(values), std::end(values), 1.0);
    for (int64_t done = 0; done < length; done += 1024) {
      int64_t count = std::min<int64_t>(1024, length - done);
      if (parameter.init == InitKind::Normal)
        random.normal(logical + done, count, values);
      for (int64_t i = 0; i < count; ++i)
        if (zeros < 0 || (logical + done + i) / width != zeros)
          store(data, buffer.type, local + done + i,
                parameter.init == InitKind::Normal ? values[i] * parameter.std : 1.0);
    }
  });
}

} // namespace ppcrt
