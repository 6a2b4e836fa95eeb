// Loading NCCL, which stays loaded.
#include "runtime/cuda/Nccl.h"
#include "runtime/base/Error.h"

#include <dlfcn.h>

namespace ppcrt::cuda {

Nccl::Nccl() {
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw InputError("ranks on several GPUs communicate by NCCL, and libnccl.so.2 is not found: install it, name its "
                     "folder in LD_LIBRARY_PATH, or go through memory of the host with --share-devices");
#define ENTRY(name, symbol, arguments)                                                                                 \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #symbol));                                                    \
  if (!name)                                                                                                           \
    throw InputError("libnccl.so.2 has no function " #symbol ": NCCL 2.10 or later is needed");
  PPC_CUDA_NCCL_FUNCTIONS(ENTRY)
#undef ENTRY
  getErrorString = reinterpret_cast<decltype(getErrorString)>(dlsym(library, "ncclGetErrorString"));
}

int Nccl::numberOf(DataType type) {
  switch (type) {
  case DataType::F32:
    return 7;
  case DataType::F64:
    return 8;
  case DataType::I32:
    return 2;
  case DataType::I64:
    return 4;
  case DataType::BF16:
    return 9;
  }
  return typeBytes;
}

void Nccl::check(Status status, const char *what) const {
  if (status != success)
    throw InputError(format("%s: NCCL status %d (%s)", what, status, getErrorString ? getErrorString(status) : ""));
}

} // namespace ppcrt::cuda
