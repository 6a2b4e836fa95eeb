// Samples of a file: windows of a text whose bytes are the tokens or of which a tokenizer makes tokens, or of token ids
// stored as integers.
#pragma once

#include "runtime/core/File.h"
#include "runtime/core/SampleOrder.h"
#include "runtime/core/TokenIndex.h"
#include "runtime/core/TokenSource.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ppcrt {

enum class DataFormat {
  Auto,    // by the file's name and content, see TokenData
  Text,    // one token for each byte
  UInt16,  // ids as nanoGPT writes them, little endian, nothing else; llm.c's header of 1024 bytes is skipped
  UInt32,  // the same, 4 bytes each
  Megatron // FILE.bin with FILE.idx, see TokenIndex.h
};
inline constexpr const char *dataFormatNames[] = {"auto", "text", "uint16", "uint32", "megatron"};

// The files that data of this path and format (one of dataFormatNames) is read from; `tokenized`: by a tokenizer.
std::vector<std::string> dataFiles(const std::string &path, bool tokenized, const std::string &format);

struct DataRequest {
  std::string path; // FILE, FILE.bin or FILE.idx for Megatron's
  DataFormat format = DataFormat::Auto;
  std::string tokenizer; // path of a tokenizer.json that makes ids of a text; empty: none
  OrderKind order = OrderKind::Random;
  int64_t sequenceLength = 1;
  int64_t vocabulary = 256;
  int64_t paddingToken = -1; // to be counted; -1: none
  uint64_t seed = 0;
  int64_t checkedBytes = int64_t(1) << 28; // of token ids; a text is checked whole
  bool pipes = true;                       // whether `path` may be one, which one process can read once
};

class TokenData final : public TokenSource {
public:
  // Maps the file; a pipe is read to its end, which must come before 1 GiB. Auto: a FILE.bin that has an index of
  // Megatron-LM beside it, its FILE.idx, or their common FILE is Megatron's; any other FILE.bin is read as the
  // narrowest type under which it cannot be ids of the other: uint32 when all its ids lie below the vocabulary, else
  // uint16; everything else is text. With a tokenizer the file is a text whatever it is called; its ids are held in
  // memory.
  //
  // Throws InputError when the file cannot be read, is neither a text nor ids (see DataKind.h), has no whole number of
  // tokens, does not fit its index, is shorter
  // than one sample, or has a token outside of the vocabulary among the first
  // `checkedBytes`; it ends the run when such
  // a token is found further on, where a sample reads it.
  explicit TokenData(const DataRequest &request);
  void read(int64_t sample, int64_t first, int64_t count, int32_t *tokens) const override;
  std::string describe() const override;
  // How many tokens, and a checksum over all of them; of more than 2^28 over 2^15 blocks of 4096 at even distances, the
  // first and the last of all included.
  std::string identity() const override;
  // Writes all tokens as uint16 where the vocabulary allows it, else as uint32. Throws InputError.
  void save(const std::string &path) const;

  int64_t size() const { return tokens; }
  // How many tokens of what was checked are the padding token.
  int64_t padding() const { return paddingCount; }
  // The note on a text that the user may not have meant (textNote); empty if there is none.
  const std::string &note() const { return looks; }
  TokenType type() const { return stored; }
  const SampleOrder &order() const { return *samples; }
  // Entropy of the distribution of single tokens in what was checked, in nats: the loss of a model that knows
  // frequencies only. 0 for vocabularies of millions.
  double unigramEntropy() const { return entropy; }

private:
  void open(const std::string &name);
  void interpret(const DataRequest &request);
  void tokenize(const DataRequest &request);
  [[nodiscard]] std::string_view content() const;
  void checkText(DataFormat format);
  void checkIds() const;
  bool fits(TokenType type) const;
  void check();
  int64_t token(int64_t position) const;
  [[nodiscard]] std::string outside(int64_t position, int64_t value) const;

  std::string path;
  int64_t vocabulary;
  int64_t checkedBytes;
  int64_t paddingToken, paddingCount = 0;
  bool pipes;
  const unsigned char *bytes = nullptr; // of the file
  int64_t byteCount = 0;
  std::unique_ptr<MappedFile> mapped;
  std::vector<unsigned char> held; // of what cannot be mapped
  int64_t headerBytes = 0;
  TokenType stored = TokenType::UInt8;
  bool text = false;
  std::string tokenizer; // that made the tokens, or empty
  std::string indexed;   // what an index says, for people
  std::string looks;     // a note of the text
  int64_t tokens = 0;
  std::optional<SampleOrder> samples;
  double entropy = 0;
};

} // namespace ppcrt
