// Products of bf16 where the processor has none: pieces of the operands are widened to f32, which holds each product of
// two bf16 numbers exactly, and are multiplied while they are in the cache.
#pragma once

#include "runtime/base/DataType.h"
#include "runtime/program/GemmProblem.h"

namespace ppcrt {

// What multiplies the pieces: oneDNN, or loops of our own (PackedProduct.h), where the processor is one for them.
enum class PieceProduct { OneDnn, Packed };
PieceProduct fastestPieceProduct();

// C (+)= A B without loops; all sizes at least 1, no C stride 0 unless its size is 1. Sums are f32; an `Out` of Bf16 is
// rounded once.
template <typename Out>
void multiplyWidened(const GemmProblem &p, bool accumulate, const Bf16 *a, const Bf16 *b, Out *c,
                     PieceProduct by = fastestPieceProduct());

} // namespace ppcrt
