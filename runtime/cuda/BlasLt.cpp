// Loading cuBLASLt, which stays loaded.
#include "runtime/cuda/BlasLt.h"
#include "runtime/base/Error.h"

#include <dlfcn.h>

namespace ppcrt::cuda {

BlasLt::BlasLt() {
  void *library = nullptr;
  for (const char *name : {"libcublasLt.so.13", "libcublasLt.so.12"})
    if (!library)
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw InputError("this program multiplies matrices by cuBLASLt, and neither libcublasLt.so.13 nor "
                     "libcublasLt.so.12 is found: install it, or name its folder in LD_LIBRARY_PATH");
#define ENTRY(name, symbol, arguments)                                                                                 \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #symbol));                                                    \
  if (!name)                                                                                                           \
    throw InputError("cuBLASLt has no function " #symbol ": that of CUDA 12 or later is needed");
  PPC_CUDA_BLAS_FUNCTIONS(ENTRY)
#undef ENTRY
  check(create(&handle), "cublasLtCreate");
}

void BlasLt::check(Status status, const char *what) const {
  if (status != success)
    throw InputError(format("%s: cuBLASLt status %d", what, status));
}

} // namespace ppcrt::cuda
