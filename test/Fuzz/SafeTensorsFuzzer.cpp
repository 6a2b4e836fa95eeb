// The header of a safetensors file, and what checkpoints keep in it: tensors that lie within the file, or InputError.
#include "Subject.h"
#include "runtime/base/Error.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/weights/SafeTensors.h"

#include <cstdint>
#include <cstdlib>

PPC_FUZZ_SUBJECT(SafeTensors) {
  // The last byte says how many more bytes the file has than are given: headers alone are read too.
  int64_t more = size ? data[size - 1] * 16 : 0;
  int64_t fileBytes = int64_t(size) + more;
  try {
    ppcrt::SafeTensorsHeader header =
        ppcrt::parseSafeTensors({reinterpret_cast<const char *>(data), size}, fileBytes, "file");
    for (const ppcrt::StoredTensor &tensor : header.tensors)
      if (tensor.begin < header.bytes || tensor.end < tensor.begin || tensor.end > fileBytes)
        std::abort();
    ppcrt::parseBlocks(header, "file");
  } catch (const ppcrt::InputError &) {
  }
  return 0;
}
