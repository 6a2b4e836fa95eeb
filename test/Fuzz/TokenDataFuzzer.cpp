// Files of tokens: samples of tokens within the vocabulary, or InputError. The first byte says what the file is read
// as.
#include "Subject.h"
#include "runtime/base/Error.h"
#include "runtime/data/TokenData.h"

#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

PPC_FUZZ_SUBJECT(TokenData) {
  if (size == 0)
    return 0;
  static const int file = memfd_create("tokens", 0);
  if (ftruncate(file, 0) != 0 || pwrite(file, data + 1, size - 1, 0) != ssize_t(size - 1))
    std::abort();
  ppcrt::DataRequest request;
  request.path = "/proc/self/fd/" + std::to_string(file);
  request.format = ppcrt::DataFormat(1 + data[0] % 3);
  request.order = ppcrt::OrderKind(data[0] / 4 % 3);
  request.sequenceLength = 1 + data[0] / 16;
  request.vocabulary = data[0] % 2 ? 50257 : 200;
  try {
    ppcrt::TokenData tokens(request);
    for (int64_t sample = 0; sample < 40; ++sample) {
      int32_t values[32];
      tokens.read(sample, 0, request.sequenceLength + 1, values);
      for (int64_t i = 0; i <= request.sequenceLength; ++i)
        if (values[i] < 0 || values[i] >= request.vocabulary)
          std::abort();
    }
  } catch (const ppcrt::InputError &) {
  }
  return 0;
}
