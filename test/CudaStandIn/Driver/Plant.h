// Faults of a runtime, injected by the environment to check that they are detected: PPC_STANDIN_PLANT=KIND:N changes
// the N-th call of a kind after the first launch, from 0:
//
//   wait    cuStreamWaitEvent does nothing
// event   cuEventRecord does nothing: a waiter waits for the previous record
// stream  a kernel, copy, GEMM or call of NCCL goes to a separate stream, which waits for nothing
//   graph   so does a whole graph
// nccl    a call of NCCL never completes, and its communicator has a fault
// hang    a call of NCCL never completes
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace standin {

class Plant {
public:
  Plant() {
    const char *text = std::getenv("PPC_STANDIN_PLANT");
    std::string wanted = text ? text : "";
    size_t colon = wanted.find(':');
    if (colon == std::string::npos)
      return;
    kind = wanted.substr(0, colon);
    left = std::strtoll(wanted.c_str() + colon + 1, nullptr, 10);
  }
  // Whether this call is the one.
  bool isDue(const char *what) { return kind == what && left-- == 0; }

private:
  std::string kind;
  int64_t left = -1;
};

} // namespace standin
