// Where the samples of a run begin in its tokens. A place depends on (seed, number of the sample) only: not on the
// layout, the micro-batch or the ranks, and it takes no memory and no state to know it.
#pragma once

#include <cstdint>

namespace ppcrt {

enum class OrderKind {
  Random,    // anywhere, with repetition
  Shuffle,   // epochs: every window of one sequence once, in an order of each epoch's own, before any comes again
  Sequential // every window in the order of the file, then from the start
};
inline constexpr const char *orderNames[] = {"random", "shuffle", "sequential"};

class SampleOrder {
public:
  // tokens > sequenceLength. Windows of `shuffle` and `sequential` begin at multiples of the sequence length; the
  // last token of one is the first of the next, which it only predicts. Tokens after the last whole window are not
  // used.
  SampleOrder(OrderKind kind, int64_t tokens, int64_t sequenceLength, uint64_t seed);

  // First token of a sample.
  int64_t start(int64_t sample) const;
  // Samples of an epoch; for Random the places where a sample can begin.
  int64_t places() const { return count; }
  OrderKind kind() const { return order; }

private:
  int64_t permuted(int64_t index, int64_t epoch) const;

  OrderKind order;
  int64_t count;
  int64_t sequenceLength;
  uint64_t seed;
  int halfBits; // of the smallest Feistel network that covers the windows
};

} // namespace ppcrt
