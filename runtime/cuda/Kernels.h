// The kernels of a program on a GPU: loaded at once, before the first step, from the image that fits best.
#pragma once

#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/DeviceCode.h"
#include "runtime/include/ppcrt.h"

#include <string>
#include <vector>

namespace ppcrt::cuda {

// Images that a device of this architecture can run, the best first: machine code for this chip or older ones of its
// generation, then PTX of the newest chip. Code for a chip whose name ends in a letter runs on this chip alone, other
// PTX on newer ones, too.
std::vector<const ppcrt_image *> imagesFor(const ppcrt_program &program, int architecture);

class Kernels {
public:
  // Throws InputError: no image is for this GPU, none can be loaded, a kernel is not in it. Everything is borrowed.
  Kernels(CudaDevice &device, const ppcrt_program &program, const std::vector<Kernel> &kernels);
  ~Kernels();
  Kernels(const Kernels &) = delete;
  Kernels &operator=(const Kernels &) = delete;

  // On these operands.
  void launch(int kernel, std::vector<uint64_t> &operands);

private:
  // How each is launched from the image that was loaded.
  struct Loaded {
    FunctionHandle *function;
    int64_t blocks, threads, sharedBytes;
    const std::vector<TensorMap> *maps; // or null
  };
  Loaded find(const Kernel &kernel);
  TensorMapBytes encode(const TensorMap &map, uint64_t address);
  // Returns the chip of the image.
  std::string load(const ppcrt_program &program);

  CudaDevice &device;
  ModuleHandle *module = nullptr;
  std::string chip;            // that the image is for
  std::vector<Loaded> kernels; // [kernel]
  std::vector<void *> parameters;
  std::vector<TensorMapBytes> maps;
};

} // namespace ppcrt::cuda
