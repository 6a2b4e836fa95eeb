// Training samples: windows of a text whose bytes are the tokens, or random tokens. A sample depends on (seed, its
// number) only, never on the layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ppcrt {

class TokenSource {
public:
  virtual ~TokenSource() = default;
  // tokens[0 .. count) = tokens `first` .. `first + count - 1` of the sample; a sample has sequence length + 1 tokens.
  virtual void read(int64_t sample, int64_t first, int64_t count, int32_t *tokens) const = 0;
  // What is read, for people; empty when there is nothing to say.
  virtual std::string describe() const { return {}; }
};

class TextData final : public TokenSource {
public:
  // Maps the file (or reads it when it is not a regular file) and checks every byte. Throws InputError when it cannot
  // be read, is shorter than one sample, or holds a byte that is no token of the vocabulary.
  TextData(const std::string &path, int64_t sequenceLength, int64_t vocabulary, uint64_t seed);
  ~TextData() override;
  TextData(const TextData &) = delete;
  TextData &operator=(const TextData &) = delete;

  void read(int64_t sample, int64_t first, int64_t count, int32_t *tokens) const override;
  std::string describe() const override;

  int64_t size() const { return bytes; }
  // Entropy of the distribution of single bytes, in nats: the loss of a model that knows frequencies only.
  double unigramEntropy() const { return entropy; }

private:
  void check(const std::string &path, int64_t vocabulary);

  const unsigned char *text = nullptr;
  int64_t bytes = 0;
  bool mapped = false;
  std::vector<unsigned char> held; // when not mapped
  int64_t starts = 0;              // number of positions where a sample may begin
  uint64_t seed;
  double entropy = 0;
};

// Uniform random tokens, for measuring speed.
class RandomTokens final : public TokenSource {
public:
  RandomTokens(int64_t sequenceLength, int64_t vocabulary, uint64_t seed)
      : sequenceLength(sequenceLength), vocabulary(vocabulary), seed(seed) {}
  void read(int64_t sample, int64_t first, int64_t count, int32_t *tokens) const override;

private:
  int64_t sequenceLength, vocabulary;
  uint64_t seed;
};

} // namespace ppcrt
