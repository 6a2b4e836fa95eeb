// A mistake that a runtime could make, planted by the environment to see that it is found: PPC_STANDIN_PLANT=KIND:N
// makes the N-th call of a kind after the first launch, from 0, another one.
//
//   wait    cuStreamWaitEvent does nothing
//   event   cuEventRecord does nothing: who waits, waits for what was recorded before
//   stream  a kernel, copy, product or call of NCCL goes to a stream of its own, which waits for nothing
//   graph   so does a whole graph
//   nccl    a call of NCCL never ends, and its communicator has a fault
//   hang    a call of NCCL never ends
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
