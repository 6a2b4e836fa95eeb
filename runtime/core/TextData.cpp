// Reading and checking text, choosing samples.
#include "runtime/core/TextData.h"
#include "runtime/core/Error.h"
#include "runtime/core/Random.h"

#include <array>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ppcrt {
namespace {

// Closes a file descriptor at the end of a scope.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
};

std::vector<unsigned char> readAll(int fd, const std::string &path) {
  std::vector<unsigned char> content;
  std::array<unsigned char, 1 << 16> buffer;
  while (ssize_t count = ::read(fd, buffer.data(), buffer.size())) {
    if (count < 0)
      throw InputError(withErrno("cannot read " + path));
    content.insert(content.end(), buffer.begin(), buffer.begin() + count);
  }
  return content;
}

} // namespace

TextData::TextData(const std::string &path, int64_t sequenceLength, int64_t vocabulary, uint64_t seed) : seed(seed) {
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status;
  if (file.fd < 0 || fstat(file.fd, &status) != 0)
    throw InputError(withErrno("cannot read " + path));
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    bytes = status.st_size;
    void *address = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.fd, 0);
    mapped = address != MAP_FAILED;
    text = static_cast<const unsigned char *>(mapped ? address : nullptr);
  }
  if (!mapped) {
    held = readAll(file.fd, path);
    text = held.data();
    bytes = int64_t(held.size());
  }
  starts = bytes - sequenceLength;
  try {
    if (starts < 1)
      throw InputError(format("%s holds %lld bytes, but one sample needs %lld (sequence length %lld + 1): use a longer "
                              "text or a shorter sequence",
                              path.c_str(), (long long)bytes, (long long)sequenceLength + 1,
                              (long long)sequenceLength));
    check(path, vocabulary);
  } catch (...) {
    if (mapped)
      munmap(const_cast<unsigned char *>(text), bytes);
    throw;
  }
}

TextData::~TextData() {
  if (mapped)
    munmap(const_cast<unsigned char *>(text), bytes);
}

void TextData::check(const std::string &path, int64_t vocabulary) {
  std::array<int64_t, 256> histogram{};
  for (int64_t i = 0; i < bytes; ++i)
    ++histogram[text[i]];
  for (int64_t value = vocabulary; value < 256; ++value) {
    if (!histogram[value])
      continue;
    int64_t offset = 0;
    while (text[offset] < vocabulary)
      ++offset;
    throw InputError(
        format("%s: byte %d at offset %lld is not below the model's vocabulary size %lld: remove such bytes "
               "or compile the model with a vocabulary of 256",
               path.c_str(), text[offset], (long long)offset, (long long)vocabulary));
  }
  for (int64_t count : histogram)
    if (count)
      entropy -= double(count) / double(bytes) * std::log(double(count) / double(bytes));
}

void TextData::read(int64_t sample, int64_t first, int64_t count, int32_t *tokens) const {
  int64_t start = int64_t(RandomStream(seed, "text").wide(sample) % uint64_t(starts)) + first;
  for (int64_t i = 0; i < count; ++i)
    tokens[i] = text[start + i];
}

std::string TextData::describe() const {
  return format("%lld bytes, unigram entropy %.4f nats", (long long)bytes, entropy);
}

void RandomTokens::read(int64_t sample, int64_t first, int64_t count, int32_t *tokens) const {
  RandomStream random(seed, "tokens");
  for (int64_t i = 0; i < count; ++i)
    tokens[i] = int32_t(random.wide(sample * (sequenceLength + 1) + first + i) % uint64_t(vocabulary));
}

} // namespace ppcrt
