// Opening, recognising, checking and reading files of tokens.
#include "runtime/data/TokenData.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/Error.h"
#include "runtime/base/Random.h"
#include "runtime/files/DataKind.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

namespace ppcrt {
namespace {

bool isFile(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool isPipe(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string withoutEnding(const std::string &path) {
  return endsWith(path, ".bin") || endsWith(path, ".idx") ? path.substr(0, path.size() - 4) : path;
}

template <typename T> T load(const unsigned char *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

// llm.c begins its files with 256 integers: a number that tells the type, a version, and the count of tokens.
constexpr int64_t llmcHeaderBytes = 1024;
constexpr int64_t largestHistogram = int64_t(1) << 22; // tokens
constexpr int32_t llmcUInt16 = 20240520, llmcUInt32 = 20240801;

} // namespace

static bool isMegatron(const std::string &path, DataFormat format) {
  std::string base = withoutEnding(path);
  bool named = endsWith(path, ".idx") || (!isFile(path) && isFile(base + ".bin"));
  return format == DataFormat::Megatron ||
         (format == DataFormat::Auto && isFile(base + ".idx") && (named || endsWith(path, ".bin")));
}

std::vector<std::string> dataFiles(const std::string &path, bool tokenized, const std::string &format) {
  auto known = std::find(std::begin(dataFormatNames), std::end(dataFormatNames), format);
  std::string base = withoutEnding(path);
  // An index that a run wrote would make a pair of ids that had none before.
  bool mayBePair = format == dataFormatNames[int(DataFormat::Auto)] && endsWith(path, ".bin");
  if (!tokenized && (mayBePair || isMegatron(path, DataFormat(known - std::begin(dataFormatNames)))))
    return path == base + ".bin" || path == base + ".idx"
               ? std::vector<std::string>{base + ".bin", base + ".idx"}
               : std::vector<std::string>{path, base + ".bin", base + ".idx"};
  return {path};
}

void TokenData::open(const std::string &name) {
  path = name;
  if (isFile(path)) {
    mapped = std::make_unique<MappedFile>(path);
    bytes = reinterpret_cast<const unsigned char *>(mapped->data());
    byteCount = mapped->size();
    return;
  }
  if (!pipes && isPipe(path))
    throw InputError("cannot read " + path +
                     ": a pipe can be read by one process, and here each rank reads: write it "
                     "to a file");
  held = readPipe(path);
  bytes = held.data();
  byteCount = int64_t(held.size());
}

TokenData::TokenData(const DataRequest &request)
    : vocabulary(request.vocabulary), checkedBytes(request.checkedBytes), paddingToken(request.paddingToken),
      pipes(request.pipes) {
  interpret(request);
  int64_t width = tokenTypeBytes[int(stored)], content = byteCount - headerBytes;
  if (content % width)
    throw InputError(format("%s holds %lld bytes, which is no multiple of the %lld bytes of a %s: the file is "
                            "truncated, or --data-format is wrong",
                            path.c_str(), (long long)content, (long long)width, tokenTypeNames[int(stored)]));
  tokens = content / width;
  if (tokens <= request.sequenceLength)
    throw InputError(format("%s holds %lld %s, but one sample needs %lld (sequence length %lld + 1): use a longer "
                            "text or a shorter sequence",
                            path.c_str(), (long long)tokens, text ? "bytes" : "tokens",
                            (long long)request.sequenceLength + 1, (long long)request.sequenceLength));
  samples.emplace(request.order, tokens, request.sequenceLength, request.seed);
  check();
}

std::string_view TokenData::content() const { return {reinterpret_cast<const char *>(bytes), size_t(byteCount)}; }

void TokenData::checkText(DataFormat format) {
  std::string problem = foreignContent(content(), path, /*asTokens=*/false);
  if (problem.empty() && format == DataFormat::Auto)
    problem = unlikelyText(content(), path);
  if (!problem.empty())
    throw InputError(problem);
  if (format == DataFormat::Auto)
    looks = textNote(content(), path);
}

// Ids of another width are ids of this one with zeros between, which a model would learn without a word.
void TokenData::checkIds() const {
  if (std::string problem = foreignContent(content(), path, /*asTokens=*/true); !problem.empty())
    throw InputError(problem);
  if (isTextForIds(content()))
    throw InputError(path + " is a text, no list of token ids: give --data-format text, or --tokenizer FILE");
  std::string_view checked = content().substr(0, size_t(checkedBytes) / 8 * 8);
  if (areWiderIds(checked, 4))
    throw InputError(path + " holds ids of 8 bytes (int64): " + convertIds(path, "<i8"));
  if (stored == TokenType::UInt16 && areWiderIds(checked, 2))
    throw InputError(path + ": every second uint16 is 0: these are ids of 4 bytes: give --data-format uint32");
}

void TokenData::tokenize(const DataRequest &request) {
  open(request.path);
  checkText(request.format);
  Tokenizer model(MappedFile(request.tokenizer).text(), request.tokenizer);
  std::vector<int32_t> ids;
  try {
    ids = model.encode({reinterpret_cast<const char *>(bytes), size_t(byteCount)});
  } catch (const InputError &error) {
    throw InputError(format("%s, a text for %s: ", path.c_str(), request.tokenizer.c_str()) + error.what());
  }
  tokenizer = request.tokenizer;
  indexed = format(" that %s makes of %lld bytes", tokenizer.c_str(), (long long)byteCount);
  held.resize(ids.size() * sizeof(int32_t));
  if (!ids.empty())
    std::memcpy(held.data(), ids.data(), held.size());
  mapped.reset();
  bytes = held.data();
  byteCount = int64_t(held.size());
  stored = TokenType::Int32;
}

void TokenData::interpret(const DataRequest &request) {
  if (!request.tokenizer.empty())
    return tokenize(request);
  if (isMegatron(request.path, request.format)) {
    std::string base = withoutEnding(request.path);
    open(base + ".bin");
    MappedFile index(base + ".idx");
    TokenIndex found = parseTokenIndex(index.text(), byteCount, index.path());
    stored = found.type;
    indexed = format(" in %lld sequences", (long long)found.sequences);
    return;
  }
  open(request.path);
  bool integers = request.format == DataFormat::UInt16 || request.format == DataFormat::UInt32 ||
                  (request.format == DataFormat::Auto && endsWith(request.path, ".bin"));
  text = !integers;
  if (text)
    return checkText(request.format);
  int32_t first = byteCount >= llmcHeaderBytes ? load<int32_t>(bytes) : 0;
  if (first == llmcUInt16 || first == llmcUInt32) {
    headerBytes = llmcHeaderBytes;
    stored = first == llmcUInt16 ? TokenType::UInt16 : TokenType::UInt32;
    int64_t said = load<int32_t>(bytes + 8), width = tokenTypeBytes[int(stored)];
    if (said != (byteCount - headerBytes) / width)
      throw InputError(format("%s: its header says %lld tokens, but %lld follow: the file is truncated", path.c_str(),
                              (long long)said, (long long)((byteCount - headerBytes) / width)));
    return;
  }
  if (request.format == DataFormat::Auto)
    stored = byteCount % 4 == 0 && fits(TokenType::UInt32) ? TokenType::UInt32 : TokenType::UInt16;
  else
    stored = request.format == DataFormat::UInt16 ? TokenType::UInt16 : TokenType::UInt32;
  checkIds();
}

// Ids of 16 bits read as 32 are at least 65536 wherever the second of a pair is not 0; ids of 32 bits never are where
// the vocabulary is smaller.
bool TokenData::fits(TokenType type) const {
  int64_t width = tokenTypeBytes[int(type)], count = std::min(byteCount, checkedBytes) / width;
  for (int64_t i = 0; i < count; ++i)
    if (int64_t value = load<uint32_t>(bytes + i * width); value >= vocabulary)
      return false;
  return true;
}

int64_t TokenData::token(int64_t position) const {
  const unsigned char *at = bytes + headerBytes + position * tokenTypeBytes[int(stored)];
  switch (stored) {
  case TokenType::UInt8:
    return *at;
  case TokenType::Int8:
    return load<int8_t>(at);
  case TokenType::UInt16:
    return load<uint16_t>(at);
  case TokenType::Int16:
    return load<int16_t>(at);
  case TokenType::UInt32:
    return load<uint32_t>(at);
  case TokenType::Int32:
    return load<int32_t>(at);
  case TokenType::Int64:
    return load<int64_t>(at);
  }
  return 0;
}

std::string TokenData::outside(int64_t position, int64_t value) const {
  if (text)
    return format("%s: byte %lld at offset %lld is not below the model's vocabulary size %lld: remove such bytes or "
                  "compile the model with a vocabulary of 256",
                  path.c_str(), (long long)value, (long long)position, (long long)vocabulary);
  if (!tokenizer.empty())
    return format(
        "%s makes token %lld of %s, which is not below the model's vocabulary size %lld: use the tokenizer of "
        "this model",
        tokenizer.c_str(), (long long)value, path.c_str(), (long long)vocabulary);
  return format(
      "%s: token %lld, number %lld of the file read as %s, is not below the model's vocabulary size %lld: use "
      "the tokenizer of this model, or say what the file is with --data-format",
      path.c_str(), (long long)value, (long long)position, tokenTypeNames[int(stored)], (long long)vocabulary);
}

void TokenData::check() {
  int64_t count = text ? tokens : std::min(tokens, checkedBytes / tokenTypeBytes[int(stored)]);
  std::vector<int64_t> histogram(vocabulary <= largestHistogram ? vocabulary : 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = token(i);
    if (value < 0 || value >= vocabulary)
      throw InputError(outside(i, value));
    paddingCount += value == paddingToken;
    if (!histogram.empty())
      ++histogram[value];
  }
  for (int64_t found : histogram)
    if (found)
      entropy -= double(found) / double(count) * std::log(double(found) / double(count));
}

void TokenData::read(int64_t sample, int64_t first, int64_t count, int32_t *out) const {
  int64_t start = samples->start(sample) + first;
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = token(start + i);
    if (value < 0 || value >= vocabulary)
      fatal("%s", outside(start + i, value).c_str());
    out[i] = int32_t(value);
  }
}

std::string TokenData::describe() const {
  std::string what = text ? format("%lld bytes", (long long)tokens)
                          : format("%lld tokens%s%s%s", (long long)tokens, tokenizer.empty() ? " of " : "",
                                   tokenizer.empty() ? tokenTypeNames[int(stored)] : "", indexed.c_str());
  if (samples->kind() != OrderKind::Random)
    what += format(", %lld samples in an epoch (%s)", (long long)samples->places(), orderNames[int(samples->kind())]);
  return entropy > 0 ? what + format(", unigram entropy %.4f nats", entropy) : what;
}

std::string TokenData::identity() const {
  constexpr int64_t block = 1 << 12, sampled = 1 << 15, whole = int64_t(1) << 28;
  int64_t blocks = tokens <= whole ? (tokens + block - 1) / block : sampled;
  std::vector<uint32_t> checksums(blocks);
  std::vector<int32_t> values(block);
  for (int64_t i = 0; i < blocks; ++i) {
    // The distance has no more than 53 bits, and the last block ends where the tokens do.
    int64_t begin = tokens <= whole ? i * block : int64_t(double(tokens - block) * double(i) / double(blocks - 1));
    int64_t count = std::min(block, tokens - begin);
    for (int64_t k = 0; k < count; ++k)
      values[k] = int32_t(token(begin + k));
    checksums[i] = crc32c(values.data(), size_t(count) * sizeof(int32_t));
  }
  return format("%lld tokens with checksum %08x", (long long)tokens,
                crc32c(checksums.data(), checksums.size() * sizeof(uint32_t)));
}

void TokenData::save(const std::string &path) const {
  NewFile file(path);
  bool narrow = vocabulary <= 1 << 16;
  int64_t width = narrow ? 2 : 4;
  std::vector<unsigned char> block;
  constexpr int64_t blockTokens = 1 << 16;
  for (int64_t begin = 0; begin < tokens; begin += blockTokens) {
    int64_t count = std::min(blockTokens, tokens - begin);
    block.resize(count * width);
    for (int64_t i = 0; i < count; ++i) {
      auto value = uint32_t(token(begin + i));
      for (int64_t byte = 0; byte < width; ++byte)
        block[i * width + byte] = static_cast<unsigned char>(value >> 8 * byte);
    }
    file.append({reinterpret_cast<const char *>(block.data()), size_t(count * width)});
  }
  file.commit();
}

void RandomTokens::read(int64_t sample, int64_t first, int64_t count, int32_t *tokens) const {
  RandomStream random(seed, "tokens");
  for (int64_t i = 0; i < count; ++i)
    tokens[i] = int32_t(random.wide(sample * (sequenceLength + 1) + first + i) % uint64_t(vocabulary));
}

} // namespace ppcrt
