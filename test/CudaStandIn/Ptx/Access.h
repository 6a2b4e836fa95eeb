// Reads and writes of memory by lanes, in any space.
#pragma once

#include "test/CudaStandIn/Ptx/Block.h"
#include "test/CudaStandIn/Ptx/Decode.h"

namespace ptx {

// The bytes that a lane of the warp uses, after all checks. Throws Fault.
std::byte *bytesAt(Warp &warp, int lane, Space space, uint64_t address, int64_t bytes, Use use);
// The space among the modifiers of an instruction, Generic without one.
Space spaceOf(const Instruction &instruction);

} // namespace ptx
