// The JSON inside a program: a manifest that keeps its promises, or InputError.
#include "runtime/core/Error.h"
#include "runtime/core/Manifest.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    ppcrt::Manifest manifest = ppcrt::parseManifest({reinterpret_cast<const char *>(data), size});
    for (const ppcrt::Device &device : manifest.devices) {
      for (const ppcrt::Buffer &buffer : device.buffers)
        if (buffer.offset < 0 || buffer.bytes < 0 || buffer.end() > device.arenaBytes)
          std::abort();
      for (const ppcrt::ActionList *list : {&device.step, device.evaluate ? &*device.evaluate : nullptr})
        if (list)
          list->forEach([&](int64_t place, const ppcrt::Action &action, int64_t microBatch) {
            if (microBatch < -1 || microBatch >= manifest.microBatches)
              std::abort();
            for (int64_t distance : action.after)
              if (distance < 1 || distance > place)
                std::abort();
          });
    }
  } catch (const ppcrt::InputError &) {
  }
  return 0;
}
