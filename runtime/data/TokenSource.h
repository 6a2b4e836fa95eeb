// Where training samples come from. A sample depends on (seed, its number) only, never on the layout.
#pragma once

#include <cstdint>
#include <string>

namespace ppcrt {

class TokenSource {
public:
  virtual ~TokenSource() = default;
  // tokens[0 .. count) = tokens `first` .. `first + count - 1` of the sample; a sample has sequence length + 1 tokens.
  virtual void read(int64_t sample, int64_t first, int64_t count, int32_t *tokens) const = 0;
  // What is read, for people; empty when there is nothing to say.
  virtual std::string describe() const { return {}; }
  // The same for equal tokens, whatever file they come from, and for hardly any others.
  virtual std::string identity() const = 0;
};

// Uniform random tokens, for measuring speed.
class RandomTokens final : public TokenSource {
public:
  RandomTokens(int64_t sequenceLength, int64_t vocabulary, uint64_t seed)
      : sequenceLength(sequenceLength), vocabulary(vocabulary), seed(seed) {}
  void read(int64_t sample, int64_t first, int64_t count, int32_t *tokens) const override;
  std::string identity() const override { return "random tokens"; }

private:
  int64_t sequenceLength, vocabulary;
  uint64_t seed;
};

} // namespace ppcrt
