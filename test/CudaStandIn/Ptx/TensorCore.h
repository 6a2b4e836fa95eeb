// The summation of tensor cores. Products of factors are exact; they and the sum so far are aligned to the largest
// exponent, truncated some bits below it, and added exactly, so that their order makes no difference; the result is
// truncated to f32. As published by Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix
// Cores", arXiv 2511.10909, who compared it with GPUs bit by bit. It models observed hardware behaviour, not promises
// of the PTX ISA.
#pragma once

#include "test/CudaStandIn/Ptx/Type.h"

namespace ptx {

// The factors of one sum, along k: a row of A or a column of B.
struct Factors {
  static constexpr int most = 16;
  int32_t significands[most] = {}; // with the sign, in units of 2^-10; below 2
  int32_t exponents[most] = {};    // denormal numbers have the exponent of the smallest normal one
  float values[most] = {};
  bool finite = true; // none is an infinity or a NaN

  // Bits of a number of F16, BF16 or TF32; those of TF32 are an f32's, whose last 13 are not read.
  void set(int k, Type type, uint32_t bits);
};

// Tensor core of an architecture, for MMAs of `depth` factors of a type.
class TensorCore {
public:
  // 80 for sm_80.
  TensorCore(int architecture, Type type, int depth);

  // c + a[0] b[0] + ... + a[depth - 1] b[depth - 1].
  float dot(const Factors &a, const Factors &b, float c) const;

private:
  float add(const Factors &a, const Factors &b, int first, float c) const;

  int depth;
  int block;        // factors that are added at once; blocks one after the other, each to the sum so far
  int fractionBits; // kept below the largest exponent
};

} // namespace ptx
