// Executes a kernel on a grid.
#pragma once

#include "test/CudaStandIn/Ptx/GlobalMemory.h"
#include "test/CudaStandIn/Ptx/Module.h"

#include <map>

namespace ptx {

struct LaunchShape {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t sharedBytes = 0; // dynamic bytes, in addition to the static ones
};

struct LaunchOptions {
  uint64_t seed = 1;                           // seed of the order of blocks and warps
  int64_t instructionLimit = int64_t(1) << 36; // limit for a whole launch, counted per warp
  bool countOpcodes = false;
};

struct LaunchCounts {
  int64_t instructions = 0; // executed warp instructions
  int64_t limit = 0;
  bool byOpcode = false;
  std::map<std::string, int64_t> opcodes;
};

// `parameters` are the bytes of all parameters at their offsets (Function::parameters). Throws Fault, whose message
// names the kernel, the line and the text of the instruction, and the block.
LaunchCounts launch(const Function &function, const LaunchShape &shape, const std::byte *parameters,
                    GlobalMemory &memory, const LaunchOptions &options = {});

} // namespace ptx
