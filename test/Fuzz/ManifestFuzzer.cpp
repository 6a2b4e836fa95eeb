// The JSON inside a program: a manifest that keeps its promises, or InputError.
#include "runtime/core/Error.h"
#include "runtime/core/Manifest.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    ppcrt::Manifest manifest = ppcrt::parseManifest({reinterpret_cast<const char *>(data), size});
    for (const ppcrt::Stage &stage : manifest.stages)
      for (const ppcrt::Buffer &buffer : stage.buffers) {
        int64_t limit = buffer.inSlot ? stage.slotBytes : stage.arenaBytes;
        if (buffer.offset < 0 || buffer.bytes < 0 || buffer.offset + buffer.bytes > limit)
          std::abort();
      }
  } catch (const ppcrt::InputError &) {
  }
  return 0;
}
