// NCCL, loaded when ranks on several GPUs communicate. Declared here is what the runtime uses of it, as in Driver.h.
#pragma once

#include "runtime/base/DataType.h"
#include "runtime/cuda/Driver.h"

#include <cstddef>
#include <cstdint>

namespace ppcrt::cuda {

struct CommunicatorHandle;

// What members of a communicator agree on; passed by value.
struct CommunicatorId {
  char bytes[128];
};

#define PPC_CUDA_NCCL_FUNCTIONS(ENTRY)                                                                                 \
  ENTRY(getUniqueId, ncclGetUniqueId, (CommunicatorId * id))                                                           \
  ENTRY(initRank, ncclCommInitRank, (CommunicatorHandle * *communicator, int members, CommunicatorId id, int member))  \
  ENTRY(destroy, ncclCommDestroy, (CommunicatorHandle * communicator))                                                 \
  ENTRY(abort, ncclCommAbort, (CommunicatorHandle * communicator))                                                     \
  ENTRY(getAsyncError, ncclCommGetAsyncError, (CommunicatorHandle * communicator, Status * status))                    \
  ENTRY(allReduce, ncclAllReduce,                                                                                      \
        (const void *in, void *out, size_t count, int type, int reduction, CommunicatorHandle *communicator,           \
         StreamHandle *stream))                                                                                        \
  ENTRY(allGather, ncclAllGather,                                                                                      \
        (const void *in, void *out, size_t count, int type, CommunicatorHandle *communicator, StreamHandle *stream))   \
  ENTRY(reduceScatter, ncclReduceScatter,                                                                              \
        (const void *in, void *out, size_t count, int type, int reduction, CommunicatorHandle *communicator,           \
         StreamHandle *stream))                                                                                        \
  ENTRY(send, ncclSend,                                                                                                \
        (const void *in, size_t count, int type, int peer, CommunicatorHandle *communicator, StreamHandle *stream))    \
  ENTRY(receive, ncclRecv,                                                                                             \
        (void *out, size_t count, int type, int peer, CommunicatorHandle *communicator, StreamHandle *stream))         \
  ENTRY(groupStart, ncclGroupStart, ())                                                                                \
  ENTRY(groupEnd, ncclGroupEnd, ())

class Nccl {
public:
  // Loads the library. Throws InputError.
  Nccl();

  // Numbers of nccl.h.
  static int numberOf(DataType type);
  static int numberOf(Reduction reduction) { return reduction == Reduction::Max ? 2 : 0; }
  static constexpr int typeBytes = 0;

  // Throws InputError when a call, which is `what`, has failed.
  void check(Status status, const char *what) const;

#define ENTRY(name, symbol, arguments) Status(*name) arguments = nullptr;
  PPC_CUDA_NCCL_FUNCTIONS(ENTRY)
#undef ENTRY
private:
  const char *(*getErrorString)(Status status) = nullptr;
};

} // namespace ppcrt::cuda
