// Matrix products of a program by cuBLASLt: everything that it has to be asked is asked before the first step.
#pragma once

#include "runtime/cuda/BlasLt.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/DeviceCode.h"
#include "runtime/cuda/ProductPlan.h"

#include <map>
#include <memory>
#include <vector>

namespace ppcrt::cuda {

// Of the places of an epilogue; 0: there is none. `aux` is that of its sums, or where its gradient is.
struct EpilogueAddresses {
  Address addend = 0, bias = 0, aux = 0;
};

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

  void run(int number, Address a, Address b, Address c, const EpilogueAddresses &epilogue = {});

private:
  struct Prepared {
    ProductPlan plan;
    MatmulHandle *description = nullptr;
    LayoutHandle *left = nullptr, *right = nullptr, *out = nullptr;
    MatmulAlgorithm algorithm;
    Address addend = 0; // of the run that is under way; 0: it adds to what lies at the result
  };
  // A power of two that divides the address of each.
  struct Alignments {
    int64_t left, right, out, addend, bias, aux;
  };
  LayoutHandle *layout(const ColumnMatrix &matrix, DataType type, int64_t batch) const;
  void choose(Prepared &prepared, const Epilogue *epilogue, const Alignments &alignments);
  void describe(const Prepared &prepared, const Epilogue &epilogue, const Alignments &alignments);
  void set(const Prepared &prepared, int attribute, const void *value, size_t bytes) const;
  void multiply(const Prepared &prepared, bool adds, Address left, Address right, Address out) const;
  void runRepeats(const Prepared &prepared, size_t loop, bool adds, Address left, Address right, Address out) const;
  void runSums(const Prepared &prepared, size_t loop, bool adds, Address left, Address right, Address out) const;

  CudaDevice &device;
  std::unique_ptr<BlasLt> blas;
  std::map<std::vector<int64_t>, int> known; // descriptor, alignments of a, b, c, and the epilogue
  std::vector<Prepared> products;
  size_t workspaceBytes = 0;
  Address workspace = 0;
};

} // namespace ppcrt::cuda
