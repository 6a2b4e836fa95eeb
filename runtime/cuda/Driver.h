// NVIDIA's driver: libcuda.so.1, loaded when a program for GPUs starts. Declared here is what the runtime uses of it,
// so that PPC is built on machines without the CUDA Toolkit; programs link nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ppcrt::cuda {

// Types of cuda.h: handles, and numbers for enums.
using Status = int; // 0: success
using Address = uint64_t;
struct ContextHandle;
struct StreamHandle;
struct ModuleHandle;
struct FunctionHandle;
struct EventHandle;
struct GraphHandle;
struct GraphInstanceHandle;

// Attributes of devices and functions, and errors that are told apart.
inline constexpr int computeCapabilityMajor = 75, computeCapabilityMinor = 76;
inline constexpr int mostDynamicSharedBytes = 8;
inline constexpr Status success = 0, outOfMemory = 2, noDevice = 100, notReady = 600;

// A tensor map as kernels get it, in the driver's own form; and how one is encoded: of bf16, rows of 128 bytes whose
// 16-byte pieces are swizzled, read in 256 bytes, with zeros outside of the tensor.
struct alignas(128) TensorMapBytes {
  uint64_t bytes[16];
};
inline constexpr int mapOfBf16 = 9, mapNotInterleaved = 0, mapSwizzled128 = 3, mapPromoted256 = 3,
                     mapFilledWithZeros = 0;

// name, the symbol that has the form which is declared here, result and arguments.
#define PPC_CUDA_DRIVER_FUNCTIONS(ENTRY)                                                                               \
  ENTRY(init, cuInit, (unsigned flags))                                                                                \
  ENTRY(driverGetVersion, cuDriverGetVersion, (int *version))                                                          \
  ENTRY(getErrorName, cuGetErrorName, (Status status, const char **text))                                              \
  ENTRY(getErrorString, cuGetErrorString, (Status status, const char **text))                                          \
  ENTRY(deviceGetCount, cuDeviceGetCount, (int *count))                                                                \
  ENTRY(deviceGet, cuDeviceGet, (int *device, int ordinal))                                                            \
  ENTRY(deviceGetName, cuDeviceGetName, (char *name, int length, int device))                                          \
  ENTRY(deviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, int device))                             \
  ENTRY(primaryCtxRetain, cuDevicePrimaryCtxRetain, (ContextHandle * *context, int device))                            \
  ENTRY(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int device))                                                 \
  ENTRY(ctxSetCurrent, cuCtxSetCurrent, (ContextHandle * context))                                                     \
  ENTRY(memGetInfo, cuMemGetInfo_v2, (size_t *available, size_t *total))                                               \
  ENTRY(memAlloc, cuMemAlloc_v2, (Address * address, size_t bytes))                                                    \
  ENTRY(memFree, cuMemFree_v2, (Address address))                                                                      \
  ENTRY(memHostAlloc, cuMemHostAlloc, (void **address, size_t bytes, unsigned flags))                                  \
  ENTRY(memFreeHost, cuMemFreeHost, (void *address))                                                                   \
  ENTRY(memsetAsync, cuMemsetD8Async, (Address to, unsigned char value, size_t bytes, StreamHandle *stream))           \
  ENTRY(copyInAsync, cuMemcpyHtoDAsync_v2, (Address to, const void *from, size_t bytes, StreamHandle *stream))         \
  ENTRY(copyOutAsync, cuMemcpyDtoHAsync_v2, (void *to, Address from, size_t bytes, StreamHandle *stream))              \
  ENTRY(copyAsync, cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, StreamHandle *stream))               \
  ENTRY(streamCreate, cuStreamCreate, (StreamHandle * *stream, unsigned flags))                                        \
  ENTRY(streamCreateWithPriority, cuStreamCreateWithPriority, (StreamHandle * *stream, unsigned flags, int priority))  \
  ENTRY(getPriorities, cuCtxGetStreamPriorityRange, (int *least, int *most))                                           \
  ENTRY(streamWaitEvent, cuStreamWaitEvent, (StreamHandle * stream, EventHandle * event, unsigned flags))              \
  ENTRY(eventCreate, cuEventCreate, (EventHandle * *event, unsigned flags))                                            \
  ENTRY(eventRecord, cuEventRecord, (EventHandle * event, StreamHandle * stream))                                      \
  ENTRY(eventQuery, cuEventQuery, (EventHandle * event))                                                               \
  ENTRY(eventElapsedTime, cuEventElapsedTime, (float *milliseconds, EventHandle *from, EventHandle *to))               \
  ENTRY(eventDestroy, cuEventDestroy_v2, (EventHandle * event))                                                        \
  ENTRY(streamDestroy, cuStreamDestroy_v2, (StreamHandle * stream))                                                    \
  ENTRY(streamSynchronize, cuStreamSynchronize, (StreamHandle * stream))                                               \
  ENTRY(beginCapture, cuStreamBeginCapture_v2, (StreamHandle * stream, int mode))                                      \
  ENTRY(endCapture, cuStreamEndCapture, (StreamHandle * stream, GraphHandle * *graph))                                 \
  ENTRY(graphInstantiate, cuGraphInstantiateWithFlags,                                                                 \
        (GraphInstanceHandle * *instance, GraphHandle * graph, unsigned long long flags))                              \
  ENTRY(graphLaunch, cuGraphLaunch, (GraphInstanceHandle * instance, StreamHandle * stream))                           \
  ENTRY(graphDestroy, cuGraphDestroy, (GraphHandle * graph))                                                           \
  ENTRY(graphInstanceDestroy, cuGraphExecDestroy, (GraphInstanceHandle * instance))                                    \
  ENTRY(moduleLoadData, cuModuleLoadData, (ModuleHandle * *module, const void *image))                                 \
  ENTRY(moduleUnload, cuModuleUnload, (ModuleHandle * module))                                                         \
  ENTRY(moduleGetFunction, cuModuleGetFunction, (FunctionHandle * *function, ModuleHandle * module, const char *name)) \
  ENTRY(funcSetAttribute, cuFuncSetAttribute, (FunctionHandle * function, int attribute, int value))                   \
  ENTRY(tensorMapEncodeTiled, cuTensorMapEncodeTiled,                                                                  \
        (TensorMapBytes * map, int type, unsigned rank, void *address, const uint64_t *sizes, const uint64_t *strides, \
         const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill))            \
  ENTRY(launchKernel, cuLaunchKernel,                                                                                  \
        (FunctionHandle * function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,  \
         unsigned blockZ, unsigned sharedBytes, StreamHandle *stream, void **parameters, void **extra))

class Driver {
public:
  // Throws InputError: there is no driver, it is too old, it finds no GPU.
  Driver();

  int deviceCount() const { return devices; }
  // Throws InputError with the name of the error when a call, which is `what`, has failed.
  void check(Status status, const char *what) const;

#define ENTRY(name, symbol, arguments) Status(*name) arguments = nullptr;
  PPC_CUDA_DRIVER_FUNCTIONS(ENTRY)
#undef ENTRY

private:
  int devices = 0;
};

} // namespace ppcrt::cuda
