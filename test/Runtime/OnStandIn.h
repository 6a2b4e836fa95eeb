// What tests of programs for GPUs share: the stand-ins in the place of NVIDIA's libraries, and numbers to compute with.
#pragma once

#include "runtime/base/Error.h"
#include "runtime/cuda/CudaRank.h"
#include "runtime/launch/Launcher.h"
#include "test/Runtime/Ranks.h"

#include <cstring>
#include <dlfcn.h>
#include <random>

namespace ppcrt::test {

// Runs `body` where libcuda.so.1 and libcublasLt.so.13 are the stand-ins; what it throws.
inline std::string onStandIn(const std::function<void()> &body) {
  return problemInProcess([&] {
    setenv("PPC_STANDIN_DEVICES", "2", 1);
    for (const char *name :
         {"/libcuda.so.1", "/libcublasLt.so.13", "/libnccl.so.2"}) // found by these names from now on
      if (!dlopen((std::string(PPC_CUDA_STAND_IN_FOLDER) + name).c_str(), RTLD_NOW | RTLD_GLOBAL))
        throw InputError(dlerror());
    body();
  });
}

// Small integers: every product and sum is exact, but for the one rounding of bf16.
inline std::vector<std::byte> drawn(int64_t elements, int64_t type, std::mt19937_64 &random) {
  std::vector<std::byte> bytes(size_t(elements * info(DataType(type)).bytes));
  for (int64_t i = 0; i < elements; ++i) {
    auto value = float(int(random() % 7) - 3);
    double wide = value;
    uint16_t narrow = floatToBf16(value);
    const void *from = type == PPCRT_F32   ? static_cast<const void *>(&value)
                       : type == PPCRT_F64 ? static_cast<const void *>(&wide)
                                           : &narrow;
    size_t size = size_t(info(DataType(type)).bytes);
    std::memcpy(bytes.data() + size_t(i) * size, from, size);
  }
  return bytes;
}

} // namespace ppcrt::test
