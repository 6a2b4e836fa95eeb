// Bytes of a device's memory that are in use at one time.
#ifndef PPC_TIMING_LIVEBYTES_H
#define PPC_TIMING_LIVEBYTES_H

#include "ppc/Timing/BufferUses.h"

namespace mlir::ppc {

/// Peak bytes that buffers of the device with index `place` in the program, those in its own memory, use together,
/// in the step or in the evaluation, if actions complete in the order of issue. Slots count one by one, from the action
/// that writes a value to the last one that reads it; buffers that persist from step to step, sums, and buffers read
/// from outside (metrics) all the time. Each is a multiple of `alignment` bytes. Of any two that count together neither
/// has all of its uses before the uses of the other, so no layout of these buffers is smaller.
int64_t mostLiveBytes(ppcrt::DeviceOp device, BufferUses &uses, size_t place, int64_t alignment);

} // namespace mlir::ppc

#endif // PPC_TIMING_LIVEBYTES_H
