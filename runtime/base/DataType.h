// Element types of buffers, with their names in the manifest and in safetensors files.
#pragma once

#include "runtime/include/ppcrt.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace ppcrt {

enum class DataType : int32_t { F32 = PPCRT_F32, F64 = PPCRT_F64, I32 = PPCRT_I32, I64 = PPCRT_I64, BF16 = PPCRT_BF16 };
enum class Reduction : int32_t { Sum = PPCRT_SUM, Max = PPCRT_MAX };

struct DataTypeInfo {
  const char *name;        // in the manifest
  const char *safetensors; // in a safetensors header
  int64_t bytes;
};

inline constexpr DataTypeInfo dataTypes[] = {
    {"f32", "F32", 4}, {"f64", "F64", 8}, {"i32", "I32", 4}, {"i64", "I64", 8}, {"bf16", "BF16", 2}};
inline constexpr int dataTypeCount = 5;

inline const DataTypeInfo &info(DataType type) { return dataTypes[int(type)]; }

inline std::optional<DataType> dataTypeByName(std::string_view name) {
  for (int i = 0; i < dataTypeCount; ++i)
    if (name == dataTypes[i].name)
      return DataType(i);
  return std::nullopt;
}

// A number of bf16 as memory holds it.
struct Bf16 {
  uint16_t bits;
};

inline float bf16ToFloat(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  __builtin_memcpy(&result, &bits, 4);
  return result;
}

// Rounds to nearest, ties to even; a NaN stays a NaN.
inline uint16_t floatToBf16(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  if (value != value)
    return uint16_t(bits >> 16) | 0x40;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

} // namespace ppcrt
