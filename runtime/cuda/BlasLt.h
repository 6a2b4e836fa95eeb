// cuBLASLt, loaded when a program multiplies on a GPU. Declared here is what the runtime uses of it, as in Driver.h.
#pragma once

#include "runtime/cuda/Driver.h"

#include <cstddef>
#include <cstdint>

namespace ppcrt::cuda {

struct BlasHandle;
struct MatmulHandle; // what is computed: types, transpositions
struct LayoutHandle; // of a matrix in memory
struct PreferenceHandle;

struct MatmulAlgorithm {
  uint64_t data[8];
};
// What the heuristic proposes.
struct MatmulProposal {
  MatmulAlgorithm algorithm;
  size_t workspaceBytes;
  Status state;
  float waves;
  int reserved[4];
};

// Numbers of cublas_api.h, cublasLt.h and library_types.h.
inline constexpr int typeF32 = 0, typeF64 = 1, typeBf16 = 14;
inline constexpr int computeF32 = 68, computeF64 = 70; // of f32 exactly: no TF32
inline constexpr int matmulTransA = 3, matmulTransB = 4, matmulEpilogue = 7, matmulBias = 8, matmulAux = 11,
                     matmulAuxLeading = 12;
// Epilogues are sums of these. "Aux" is a matrix beside the result: what gelu is taken of, or where its gradient is.
inline constexpr int32_t epilogueDefault = 1, epilogueBias = 4, epilogueGelu = 32, epilogueGeluGradient = 64,
                         epilogueAux = 128;
inline constexpr int layoutBatchCount = 5, layoutBatchStride = 6;
inline constexpr int preferenceWorkspaceBytes = 1, preferenceAlignmentA = 5, preferenceAlignmentB = 6,
                     preferenceAlignmentC = 7, preferenceAlignmentD = 8;
inline constexpr Status blasNotSupported = 15;

#define PPC_CUDA_BLAS_FUNCTIONS(ENTRY)                                                                                 \
  ENTRY(create, cublasLtCreate, (BlasHandle * *handle))                                                                \
  ENTRY(destroy, cublasLtDestroy, (BlasHandle * handle))                                                               \
  ENTRY(descriptionCreate, cublasLtMatmulDescCreate, (MatmulHandle * *description, int compute, int scale))            \
  ENTRY(descriptionDestroy, cublasLtMatmulDescDestroy, (MatmulHandle * description))                                   \
  ENTRY(descriptionSet, cublasLtMatmulDescSetAttribute,                                                                \
        (MatmulHandle * description, int attribute, const void *value, size_t bytes))                                  \
  ENTRY(layoutCreate, cublasLtMatrixLayoutCreate,                                                                      \
        (LayoutHandle * *layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                          \
  ENTRY(layoutDestroy, cublasLtMatrixLayoutDestroy, (LayoutHandle * layout))                                           \
  ENTRY(layoutSet, cublasLtMatrixLayoutSetAttribute,                                                                   \
        (LayoutHandle * layout, int attribute, const void *value, size_t bytes))                                       \
  ENTRY(preferenceCreate, cublasLtMatmulPreferenceCreate, (PreferenceHandle * *preference))                            \
  ENTRY(preferenceDestroy, cublasLtMatmulPreferenceDestroy, (PreferenceHandle * preference))                           \
  ENTRY(preferenceSet, cublasLtMatmulPreferenceSetAttribute,                                                           \
        (PreferenceHandle * preference, int attribute, const void *value, size_t bytes))                               \
  ENTRY(propose, cublasLtMatmulAlgoGetHeuristic,                                                                       \
        (BlasHandle * handle, MatmulHandle * description, LayoutHandle * a, LayoutHandle * b, LayoutHandle * c,        \
         LayoutHandle * d, PreferenceHandle * preference, int wanted, MatmulProposal *proposals, int *found))          \
  ENTRY(matmul, cublasLtMatmul,                                                                                        \
        (BlasHandle * handle, MatmulHandle * description, const void *alpha, Address a, LayoutHandle *aLayout,         \
         Address b, LayoutHandle *bLayout, const void *beta, Address c, LayoutHandle *cLayout, Address d,              \
         LayoutHandle *dLayout, const MatmulAlgorithm *algorithm, Address workspace, size_t workspaceBytes,            \
         StreamHandle *stream))

class BlasLt {
public:
  // Loads the library of CUDA 13 or 12; a context has to be current. Throws InputError.
  BlasLt();
  ~BlasLt() { destroy(handle); }
  BlasLt(const BlasLt &) = delete;
  BlasLt &operator=(const BlasLt &) = delete;

  BlasHandle *handle = nullptr;
  // Throws InputError when a call, which is `what`, has failed.
  void check(Status status, const char *what) const;

#define ENTRY(name, symbol, arguments) Status(*name) arguments = nullptr;
  PPC_CUDA_BLAS_FUNCTIONS(ENTRY)
#undef ENTRY
};

} // namespace ppcrt::cuda
