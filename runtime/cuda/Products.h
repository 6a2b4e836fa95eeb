// Matrix products of a program by cuBLASLt: everything that it has to be asked is asked before the first step.
#pragma once

#include "runtime/core/DeviceCode.h"
#include "runtime/cuda/BlasLt.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/ProductPlan.h"

#include <map>
#include <memory>
#include <vector>

namespace ppcrt::cuda {

class Products {
public:
  // Loads the library if there are products. `device` is borrowed.
  explicit Products(CudaDevice &device) : device(device) {}
  ~Products();
  Products(const Products &) = delete;
  Products &operator=(const Products &) = delete;

  // The number by which run() knows a product of the program, where arguments of bodies lie on multiples of
  // `alignment` bytes. Throws InputError when cuBLASLt cannot compute it. Equal ones have one number.
  int prepare(const MatrixProduct &product, int64_t alignment);
  // Allocates what cuBLASLt works in, once all products are prepared.
  void reserve();

  void run(int number, Address a, Address b, Address c);

private:
  struct Prepared {
    ProductPlan plan;
    MatmulHandle *description = nullptr;
    LayoutHandle *left = nullptr, *right = nullptr, *out = nullptr;
    MatmulAlgorithm algorithm;
  };
  LayoutHandle *layout(const ColumnMatrix &matrix, DataType type, int64_t batch) const;
  void choose(Prepared &prepared, int64_t left, int64_t right, int64_t out);
  void multiply(const Prepared &prepared, bool adds, Address left, Address right, Address out) const;
  void runRepeats(const Prepared &prepared, size_t loop, bool adds, Address left, Address right, Address out) const;
  void runSums(const Prepared &prepared, size_t loop, bool adds, Address left, Address right, Address out) const;

  CudaDevice &device;
  std::unique_ptr<BlasLt> blas;
  std::map<std::vector<int64_t>, int> known; // descriptor and alignments of a, b, c
  std::vector<Prepared> products;
  size_t workspaceBytes = 0;
  Address workspace = 0;
};

} // namespace ppcrt::cuda
