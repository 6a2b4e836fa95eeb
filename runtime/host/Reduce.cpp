// Reduction kernels: a strip is accumulated over all sources while it is in the cache.
#include "runtime/host/Reduce.h"

#include <algorithm>
#include <type_traits>

namespace ppcrt {
namespace {

float load(Bf16 value) { return bf16ToFloat(value.bits); }
template <typename T> T load(T value) { return value; }
void store(Bf16 &out, float value) { out.bits = floatToBf16(value); }
template <typename T> void store(T &out, T value) { out = value; }

struct Sum {
  template <typename T> static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b)); // wraps around
    else
      return a + b;
  }
};

struct Max {
  template <typename T> static T combine(T a, T b) { return a > b || a != a ? a : b; }
};

template <typename T, typename Kind>
void reduceTyped(T *out, const void *const *sources, int sourceCount, int64_t count) {
  using Accumulator = decltype(load(T()));
  constexpr int64_t strip = 1024;
  Accumulator sum[strip];
  for (int64_t begin = 0; begin < count; begin += strip) {
    int64_t length = std::min(strip, count - begin);
    const T *first = static_cast<const T *>(sources[0]) + begin;
    for (int64_t i = 0; i < length; ++i)
      sum[i] = load(first[i]);
    for (int s = 1; s < sourceCount; ++s) {
      const T *source = static_cast<const T *>(sources[s]) + begin;
      for (int64_t i = 0; i < length; ++i)
        sum[i] = Kind::combine(sum[i], load(source[i]));
    }
    for (int64_t i = 0; i < length; ++i)
      store(out[begin + i], sum[i]);
  }
}

template <typename T>
void reduceKind(void *out, const void *const *sources, int sourceCount, int64_t count, Reduction kind) {
  if (kind == Reduction::Sum)
    reduceTyped<T, Sum>(static_cast<T *>(out), sources, sourceCount, count);
  else
    reduceTyped<T, Max>(static_cast<T *>(out), sources, sourceCount, count);
}

} // namespace

void reduce(void *out, const void *const *sources, int sourceCount, int64_t count, DataType type, Reduction kind) {
  switch (type) {
  case DataType::F32:
    return reduceKind<float>(out, sources, sourceCount, count, kind);
  case DataType::F64:
    return reduceKind<double>(out, sources, sourceCount, count, kind);
  case DataType::I32:
    return reduceKind<int32_t>(out, sources, sourceCount, count, kind);
  case DataType::I64:
    return reduceKind<int64_t>(out, sources, sourceCount, count, kind);
  case DataType::BF16:
    return reduceKind<Bf16>(out, sources, sourceCount, count, kind);
  }
}

} // namespace ppcrt
