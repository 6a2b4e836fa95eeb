// The kernels of a program on a GPU: loaded at once, before the first step, from the image that fits best.
#pragma once

#include "runtime/core/DeviceCode.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/include/ppcrt.h"

#include <string>
#include <vector>

namespace ppcrt::cuda {

// Images that a device of this architecture can run, the best first: machine code for exactly this chip, then PTX of
// the newest chip. Code for a chip whose name ends in a letter runs on this chip alone, other PTX on newer ones, too.
std::vector<const ppcrt_image *> imagesFor(const ppcrt_program &program, int architecture);

class Kernels {
public:
  // Throws InputError: no image is for this GPU, none can be loaded, a kernel is not in it. Everything is borrowed.
  Kernels(CudaDevice &device, const ppcrt_program &program, const std::vector<Kernel> &kernels);
  ~Kernels();
  Kernels(const Kernels &) = delete;
  Kernels &operator=(const Kernels &) = delete;

  // `parameters` are addresses of the operands.
  void launch(int kernel, void **parameters) {
    device.launch(functions[size_t(kernel)], kernels[size_t(kernel)].blocks, kernels[size_t(kernel)].threads,
                  kernels[size_t(kernel)].sharedBytes, parameters);
  }

private:
  void load(const ppcrt_program &program);

  CudaDevice &device;
  const std::vector<Kernel> &kernels;
  ModuleHandle *module = nullptr;
  std::vector<FunctionHandle *> functions; // [kernel]
};

} // namespace ppcrt::cuda
