// How tensor cores add. Products are exact; they and the sum so far are aligned to the largest of their exponents, cut
// off some bits behind it, and added exactly, so that their order makes no difference; the result is cut off to f32. As
// published by Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores", arXiv 2511.10909,
// who compared it with GPUs bit by bit. It is what hardware was found to do, not what the PTX ISA promises.
#pragma once

#include "test/CudaStandIn/Ptx/Type.h"

namespace ptx {

// The factors of one sum, along k: a row of A or a column of B.
struct Factors {
  static constexpr int most = 16;
  int32_t significands[most] = {}; // with the sign, in units of 2^-10; below 2
  int32_t exponents[most] = {};    // those of denormal numbers are that of the smallest normal one
  float values[most] = {};
  bool finite = true; // none is an infinity or a NaN

  // Bits of a number of F16, BF16 or TF32; those of TF32 are an f32's, whose last 13 are not read.
  void set(int k, Type type, uint32_t bits);
};

// Of an architecture, for products of so many factors of a type.
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
  int fractionBits; // behind the largest exponent
};

} // namespace ptx
