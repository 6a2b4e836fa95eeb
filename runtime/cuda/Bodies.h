// Routines of a GPU: the operations of their bodies, issued one after the other.
#pragma once

#include "runtime/core/DeviceMemory.h"
#include "runtime/core/RoutineCode.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Kernels.h"
#include "runtime/cuda/Products.h"

#include <string>
#include <vector>

namespace ppcrt::cuda {

class Bodies final : public RoutineCode {
public:
  // Loads the kernels and plans the products of all bodies, and copies the constants. Everything is borrowed; throws
  // InputError that names the body.
  Bodies(CudaDevice &cuda, const ppcrt_program &program, const Manifest &manifest, const Device &device);
  ~Bodies() override;
  Bodies(const Bodies &) = delete;
  Bodies &operator=(const Bodies &) = delete;

  void run(RankContext &context, size_t number, void **buffers) override;
  // The products alone of all routines, on an arena of zeros, which stays one: what libraries put off until their first
  // call is done before the first step.
  void rehearse(RankContext &context, const DeviceMemory &memory);

private:
  struct Run {
    RankContext &context;
    bool rehearses;
  };
  using Arguments = std::vector<Address>;

  void runBody(const Run &run, int number, const Arguments &arguments);
  void perform(const Run &run, const KernelLaunch &launch, const Arguments &arguments);
  void perform(const Run &run, const BodyCall &call, const Arguments &arguments);
  void exchange(RankContext &context, const BodyExchange &exchange, const Arguments &arguments,
                std::vector<int64_t> &requests);
  Address at(const CodePlace &place, const Arguments &arguments) const {
    return (place.isConstant ? constants : arguments)[size_t(place.number)] + Address(place.bytes);
  }

  CudaDevice &cuda;
  const DeviceCode &code;
  const Device &device;
  Kernels kernels;
  Products products;
  std::vector<Address> constants;
  std::vector<int> bodyOf;                // [routine]
  std::vector<std::vector<int>> numberOf; // [body][operation]: of a product in `products`
  std::vector<uint64_t> values;           // of the operands of a launch
  std::vector<void *> parameters;         // their addresses
};

} // namespace ppcrt::cuda
