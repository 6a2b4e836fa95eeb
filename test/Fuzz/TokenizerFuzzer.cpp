// tokenizer.json, and a text after a zero byte: ids that the tokenizer has, the same again, or InputError.
#include "Subject.h"
#include "runtime/base/Error.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <cstdint>
#include <cstdlib>

PPC_FUZZ_SUBJECT(Tokenizer) {
  std::string_view input(reinterpret_cast<const char *>(data), size);
  size_t end = input.find('\0');
  std::string_view text = end == std::string_view::npos ? "Zero 0 caf\xc3\xa9 <s>" : input.substr(end + 1);
  try {
    ppcrt::Tokenizer tokenizer(input.substr(0, end), "file");
    std::vector<int32_t> ids = tokenizer.encode(text);
    for (int32_t id : ids)
      if (id < 0 || id >= tokenizer.size())
        std::abort();
    if (tokenizer.encode(text) != ids)
      std::abort();
  } catch (const ppcrt::InputError &) {
  }
  return 0;
}
