// An index of Megatron-LM: sequences that cover the file beside it, or InputError. The last byte says how large that
// is.
#include "Subject.h"
#include "runtime/base/Error.h"
#include "runtime/data/TokenIndex.h"

#include <cstdint>
#include <cstdlib>

PPC_FUZZ_SUBJECT(TokenIndex) {
  int64_t dataBytes = size ? 2 * data[size - 1] : 0;
  try {
    ppcrt::TokenIndex index = ppcrt::parseTokenIndex({reinterpret_cast<const char *>(data), size}, dataBytes, "file");
    if (index.tokens * ppcrt::tokenTypeBytes[int(index.type)] != dataBytes)
      std::abort();
  } catch (const ppcrt::InputError &) {
  }
  return 0;
}
