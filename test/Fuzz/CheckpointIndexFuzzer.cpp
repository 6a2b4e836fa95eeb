// checkpoint.json: an index that can be written and read again, or InputError. Each input is read as it is and with its
// checksum put right.
#include "Subject.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/Error.h"
#include "runtime/checkpoint/Checkpoint.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>

using nlohmann::json;

static void checkIndex(std::string_view text) {
  try {
    std::string written = ppcrt::writeCheckpointIndex(ppcrt::parseCheckpointIndex(text, "file"));
    if (ppcrt::writeCheckpointIndex(ppcrt::parseCheckpointIndex(written, "again")) != written)
      std::abort();
  } catch (const ppcrt::InputError &) {
  }
}

PPC_FUZZ_SUBJECT(CheckpointIndex) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  checkIndex(text);
  json document = json::parse(text, nullptr, false);
  if (!document.is_object())
    return 0;
  document.erase("checksum");
  std::string plain = document.dump(-1, ' ', false, json::error_handler_t::replace);
  document["checksum"] = ppcrt::crc32c(plain.data(), plain.size());
  checkIndex(document.dump(-1, ' ', false, json::error_handler_t::replace));
  return 0;
}
