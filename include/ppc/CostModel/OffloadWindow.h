// Part of activations and parameters that is on a device while the rest is on the host, for the planner and for
// programs.
#ifndef PPC_COSTMODEL_OFFLOADWINDOW_H
#define PPC_COSTMODEL_OFFLOADWINDOW_H

#include <cstdint>

namespace mlir::ppc {

/// Slots on the device: `out` to write and copy from, `in` to copy to and read. `in` is 0 where nothing leaves.
struct OffloadWindow {
  int64_t out, in;
  int64_t slots() const { return out + in; }
};

/// Slots on the device for a value that has `slots` if nothing is offloaded; backward reads the values of `used`
/// micro-batches at a time (more than one if weight gradients come later). With one slot each way copies overlap with
/// routines of the other direction; with one more, if at least four times that many are in flight, with those of their
/// own direction, too.
inline OffloadWindow offloadWindow(int64_t slots, int64_t used = 1) {
  int64_t least = 1 + used;
  if (slots <= least)
    return {slots, 0};
  return slots >= 4 * least ? OffloadWindow{2, used + 1} : OffloadWindow{1, used};
}

/// Virtual stages whose parameters are on the device at a time, where those of others are on the host.
inline constexpr int64_t kParametersAtOnce = 2;

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_OFFLOADWINDOW_H
