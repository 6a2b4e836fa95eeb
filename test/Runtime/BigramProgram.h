// A hand-made program: the model softmax(W E[id]) for the next token, written as a compiler would leave it, for any pp
// (1 or 2) x dp x tp. E is sharded over tp in dimension 0, which pads when the vocabulary does not divide.
#pragma once

#include "runtime/include/ppcrt.h"

#include <string>

namespace ppcrt::test {

// `layout` is "pp,dp,tp", for example "2,1,2". The result lives as long as the process; one layout per process.
const ppcrt_program &bigramProgram(const std::string &layout);

// The manifest alone.
std::string bigramManifest(int pp, int dp, int tp);

inline constexpr int vocabulary = 131, hidden = 12, sequenceLength = 16, globalBatch = 8, microBatches = 2;

} // namespace ppcrt::test
