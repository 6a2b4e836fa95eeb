// The JSON inside a program: a manifest that keeps its promises, or InputError.
#include "Subject.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/DeviceCode.h"
#include "runtime/program/Manifest.h"

#include <cstdint>
#include <cstdlib>

PPC_FUZZ_SUBJECT(Manifest) {
  try {
    ppcrt::Manifest manifest = ppcrt::parseManifest({reinterpret_cast<const char *>(data), size}, ppcrt::readCudaCode);
    for (const ppcrt::Device &device : manifest.devices) {
      for (const ppcrt::Buffer &buffer : device.buffers)
        if (buffer.offset < 0 || buffer.bytes < 0 || buffer.end() > device.arenaBytes)
          std::abort();
      for (const ppcrt::ActionList *list : {&device.step, device.evaluate ? &*device.evaluate : nullptr})
        if (list)
          list->forEach([&](int64_t place, const ppcrt::Action &action, int64_t microBatch) {
            if (microBatch < -1 || microBatch >= manifest.microBatches)
              std::abort();
            for (const ppcrt::Dependence &after : action.after)
              if (after.distance < 1 || after.distance > place || after.token < ppcrt::Dependence::end)
                std::abort();
          });
    }
  } catch (const ppcrt::InputError &) {
  }
  return 0;
}
