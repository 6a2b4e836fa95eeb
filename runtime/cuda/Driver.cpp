// Loading the driver. It stays loaded: what it starts does not end before the process.
#include "runtime/cuda/Driver.h"
#include "runtime/base/Error.h"

#include <dlfcn.h>

namespace ppcrt::cuda {
namespace {

constexpr const char *library = "libcuda.so.1";
constexpr int oldestVersion = 12000; // of cuDriverGetVersion: CUDA 12.0

} // namespace

Driver::Driver() {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw InputError(format("no driver of NVIDIA: %s: install it, or run where there are GPUs", dlerror()));
#define ENTRY(name, symbol, arguments)                                                                                 \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #symbol));                                                     \
  if (!name)                                                                                                           \
    throw InputError(format("%s has no function %s: a driver of CUDA 12.0 or later is needed", library, #symbol));
  PPC_CUDA_DRIVER_FUNCTIONS(ENTRY)
#undef ENTRY
  int version = 0;
  check(driverGetVersion(&version), "cuDriverGetVersion"); // the one call that needs no cuInit
  if (version < oldestVersion)
    throw InputError(format("the driver is for CUDA %d.%d and too old: install one for CUDA %d.%d or later",
                            version / 1000, version % 1000 / 10, oldestVersion / 1000, oldestVersion % 1000 / 10));
  Status status = init(0);
  if (status == noDevice)
    throw InputError("the driver finds no GPU (CUDA_VISIBLE_DEVICES hides those that it does not name)");
  check(status, "cuInit");
  check(deviceGetCount(&devices), "cuDeviceGetCount");
  if (devices == 0)
    throw InputError("the driver finds no GPU (CUDA_VISIBLE_DEVICES hides those that it does not name)");
}

void Driver::check(Status status, const char *what) const {
  if (status == success)
    return;
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(status, &name) != success || !name)
    name = "unknown error";
  if (getErrorString(status, &text) != success || !text)
    text = "";
  throw InputError(format("%s: %s (%d: %s)", what, name, status, text));
}

} // namespace ppcrt::cuda
