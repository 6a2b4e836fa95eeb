// The runtime's declarations of NVIDIA's libraries against their headers, where these are installed: function types,
// constants, sizes. Nothing is linked.
#include "runtime/cuda/BlasLt.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Nccl.h"

#include <cublasLt.h>
#include <cuda.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <type_traits>

using namespace ppcrt;
using namespace ppcrt::cuda;

namespace {

// Whether arguments of these types are passed alike: in registers for addresses and integers, or as equal bytes.
template <typename A, typename B> constexpr bool passedAlike() {
  constexpr bool plainA = std::is_pointer_v<A> || std::is_integral_v<A> || std::is_enum_v<A>;
  constexpr bool plainB = std::is_pointer_v<B> || std::is_integral_v<B> || std::is_enum_v<B>;
  return plainA == plainB && sizeof(A) == sizeof(B);
}

template <typename... A> struct List {};
template <typename... A, typename... B> constexpr bool allAlike(List<A...>, List<B...>) {
  if constexpr (sizeof...(A) == sizeof...(B))
    return (passedAlike<A, B>() && ...);
  else
    return false;
}

template <typename A, typename B> struct SameShape : std::false_type {};
template <typename R, typename S, typename... A, typename... B>
struct SameShape<R (*)(A...), S (*)(B...)>
    : std::bool_constant<passedAlike<R, S>() && allAlike(List<A...>(), List<B...>())> {};

#define ENTRY(name, symbol, arguments)                                                                                 \
  static_assert(SameShape<decltype(&symbol), decltype(Driver::name)>::value, #symbol);
PPC_CUDA_DRIVER_FUNCTIONS(ENTRY)
#undef ENTRY
#define ENTRY(name, symbol, arguments)                                                                                 \
  static_assert(SameShape<decltype(&symbol), decltype(BlasLt::name)>::value, #symbol);
PPC_CUDA_BLAS_FUNCTIONS(ENTRY)
#undef ENTRY
#define ENTRY(name, symbol, arguments)                                                                                 \
  static_assert(SameShape<decltype(&symbol), decltype(Nccl::name)>::value, #symbol);
PPC_CUDA_NCCL_FUNCTIONS(ENTRY)
#undef ENTRY

TEST(CudaHeadersTest, NumbersMatchTheDriver) {
  EXPECT_EQ(int(success), int(CUDA_SUCCESS));
  EXPECT_EQ(int(outOfMemory), int(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(int(noDevice), int(CUDA_ERROR_NO_DEVICE));
  EXPECT_EQ(int(notReady), int(CUDA_ERROR_NOT_READY));
  EXPECT_EQ(computeCapabilityMajor, int(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EXPECT_EQ(computeCapabilityMinor, int(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  EXPECT_EQ(mostDynamicSharedBytes, int(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  EXPECT_EQ(sizeof(Address), sizeof(CUdeviceptr));
  EXPECT_EQ(sizeof(TensorMapBytes), sizeof(CUtensorMap));
  EXPECT_GE(alignof(TensorMapBytes), alignof(CUtensorMap));
  EXPECT_EQ(mapOfBf16, int(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16));
  EXPECT_EQ(mapNotInterleaved, int(CU_TENSOR_MAP_INTERLEAVE_NONE));
  EXPECT_EQ(mapSwizzled128, int(CU_TENSOR_MAP_SWIZZLE_128B));
  EXPECT_EQ(mapPromoted256, int(CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
  EXPECT_EQ(mapFilledWithZeros, int(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  EXPECT_EQ(1, int(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(2, int(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(1, int(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

TEST(CudaHeadersTest, NumbersMatchCublasLt) {
  EXPECT_EQ(typeF32, int(CUDA_R_32F));
  EXPECT_EQ(typeF64, int(CUDA_R_64F));
  EXPECT_EQ(typeBf16, int(CUDA_R_16BF));
  EXPECT_EQ(computeF32, int(CUBLAS_COMPUTE_32F));
  EXPECT_EQ(computeF64, int(CUBLAS_COMPUTE_64F));
  EXPECT_EQ(matmulTransA, int(CUBLASLT_MATMUL_DESC_TRANSA));
  EXPECT_EQ(matmulTransB, int(CUBLASLT_MATMUL_DESC_TRANSB));
  EXPECT_EQ(matmulEpilogue, int(CUBLASLT_MATMUL_DESC_EPILOGUE));
  EXPECT_EQ(matmulBias, int(CUBLASLT_MATMUL_DESC_BIAS_POINTER));
  EXPECT_EQ(matmulAux, int(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER));
  EXPECT_EQ(matmulAuxLeading, int(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD));
  EXPECT_EQ(epilogueDefault, int(CUBLASLT_EPILOGUE_DEFAULT));
  EXPECT_EQ(epilogueBias, int(CUBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(epilogueGelu | epilogueAux | epilogueBias, int(CUBLASLT_EPILOGUE_GELU_AUX_BIAS));
  EXPECT_EQ(epilogueGeluGradient | epilogueAux, int(CUBLASLT_EPILOGUE_DGELU));
  EXPECT_EQ(0, int(CUBLAS_OP_N));
  EXPECT_EQ(1, int(CUBLAS_OP_T));
  EXPECT_EQ(layoutBatchCount, int(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
  EXPECT_EQ(layoutBatchStride, int(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
  EXPECT_EQ(preferenceWorkspaceBytes, int(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
  EXPECT_EQ(preferenceAlignmentA, int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
  EXPECT_EQ(preferenceAlignmentB, int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES));
  EXPECT_EQ(preferenceAlignmentC, int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES));
  EXPECT_EQ(preferenceAlignmentD, int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
  EXPECT_EQ(int(blasNotSupported), int(CUBLAS_STATUS_NOT_SUPPORTED));
  EXPECT_EQ(sizeof(MatmulAlgorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(MatmulProposal), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(MatmulProposal, workspaceBytes), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(MatmulProposal, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
}

TEST(CudaHeadersTest, NumbersMatchNccl) {
  EXPECT_EQ(Nccl::numberOf(DataType::F32), int(ncclFloat32));
  EXPECT_EQ(Nccl::numberOf(DataType::F64), int(ncclFloat64));
  EXPECT_EQ(Nccl::numberOf(DataType::I32), int(ncclInt32));
  EXPECT_EQ(Nccl::numberOf(DataType::I64), int(ncclInt64));
  EXPECT_EQ(Nccl::numberOf(DataType::BF16), int(ncclBfloat16));
  EXPECT_EQ(Nccl::typeBytes, int(ncclInt8));
  EXPECT_EQ(Nccl::numberOf(Reduction::Sum), int(ncclSum));
  EXPECT_EQ(Nccl::numberOf(Reduction::Max), int(ncclMax));
  EXPECT_EQ(7, int(ncclInProgress));
  EXPECT_EQ(sizeof(CommunicatorId), sizeof(ncclUniqueId));
}

} // namespace
