// Products as oneDNN matmul primitives, created once for each shape and kept: many small f32 products of one shape with
// batch dimensions (less overhead for each, and all threads get work), and products of bf16 with a sum in f32.
#pragma once

#include "runtime/program/GemmProblem.h"

#include <string>

namespace ppcrt {

// Runs the products of all loops of a normalized problem (every loop has a C stride that is not 0, every size is at
// least 1; f32, or bf16 with any result). False, with nothing done, when oneDNN has no fast implementation for these
// strides or this machine.
bool runBatched(const GemmProblem &problem, bool accumulate, const void *a, const void *b, void *c);

// The version of oneDNN that multiplies, "3.7.1 (8d263e6)".
std::string productLibrary();

} // namespace ppcrt
