#include "test/CudaStandIn/Ptx/TensorCore.h"

#include <algorithm>
#include <cmath>

namespace ptx {
namespace {

constexpr int factorBits = 10, sumBits = 23; // bits of fraction
constexpr int zeroExponent = -126;           // exponent of a factor or a sum that is zero
constexpr uint32_t canonicalNaN = 0x7fffffff;

struct Parts {
  int32_t significand, exponent;
};

// Splits a finite number whose bits are a sign, an exponent, and `fraction` bits.
Parts takeApart(uint32_t magnitude, bool negative, int fraction, int bias) {
  auto field = int32_t(magnitude >> fraction);
  auto significand = int32_t(magnitude & ((1u << fraction) - 1));
  if (field)
    significand |= int32_t(1) << fraction;
  int32_t exponent = significand ? std::max(field, 1) - bias : zeroExponent;
  return {negative ? -significand : significand, exponent};
}

Parts takeApart(float value) {
  auto bits = bitsAs<uint32_t>(value);
  return takeApart(bits & 0x7fffffff, bits >> 31, sumBits, 127);
}

// In units of 2^-`fractionBits` of the largest exponent, cut off towards zero.
int32_t aligned(int32_t value, int shift) {
  int32_t magnitude = std::abs(value) >> std::min(shift, 31);
  return value < 0 ? -magnitude : magnitude;
}

// Towards zero, but for what is too large: an infinity.
float cutOff(double value) {
  constexpr double leastNormal = 0x1p-126, units = 0x1p149;
  if (std::fabs(value) < leastNormal)
    return float(std::trunc(value * units) / units);
  return float(bitsAs<double>(bitsAs<uint64_t>(value) & ~uint64_t((1 << 29) - 1)));
}

} // namespace

void Factors::set(int k, Type type, uint32_t bits) {
  bool isHalf = type == Type::F16;
  if (type == Type::BF16)
    bits <<= 16;
  // All others are an f32 of which the first 10 bits of fraction are read; bf16 has 7.
  uint32_t sign = isHalf ? bits >> 15 & 1 : bits >> 31;
  uint32_t magnitude = isHalf ? bits & 0x7fff : (bits & 0x7fffffff) >> (sumBits - factorBits);
  values[k] = isHalf ? float(double(bitsAs<Half>(uint16_t(bits)))) : bitsAs<float>(bits & ~uint32_t(0x1fff));
  finite &= std::isfinite(values[k]);
  Parts parts = takeApart(magnitude, sign, factorBits, isHalf ? 15 : 127);
  significands[k] = parts.significand;
  exponents[k] = parts.exponent;
}

// Up to Ada, an MMA of depth 16 (8 of tf32) is two of half the depth, and there is one bit less.
TensorCore::TensorCore(int architecture, Type type, int depth)
    : depth(depth), block(architecture >= 90 ? depth : std::min(depth, type == Type::TF32 ? 4 : 8)),
      fractionBits(architecture >= 90 ? 25 : 24) {}

float TensorCore::dot(const Factors &a, const Factors &b, float c) const {
  for (int k = 0; k < depth; k += block)
    c = add(a, b, k, c);
  return c;
}

float TensorCore::add(const Factors &a, const Factors &b, int first, float c) const {
  if (!a.finite || !b.finite || !std::isfinite(c)) {
    double sum = c;
    for (int k = first; k < first + block; ++k)
      sum += double(a.values[k]) * b.values[k];
    if (!std::isfinite(sum))
      return std::isnan(sum) ? bitsAs<float>(canonicalNaN) : float(sum);
  }
  Parts start = takeApart(c);
  int32_t products[Factors::most], exponents[Factors::most], largest = start.exponent;
  for (int k = 0; k < block; ++k) {
    products[k] = a.significands[first + k] * b.significands[first + k] * (1 << (fractionBits - 2 * factorBits));
    exponents[k] = a.exponents[first + k] + b.exponents[first + k];
    largest = std::max(largest, exponents[k]);
  }
  int64_t sum = aligned(start.significand * (1 << (fractionBits - sumBits)), largest - start.exponent);
  for (int k = 0; k < block; ++k)
    sum += aligned(products[k], largest - exponents[k]);
  return cutOff(std::ldexp(double(sum), largest - fractionBits));
}

} // namespace ptx
