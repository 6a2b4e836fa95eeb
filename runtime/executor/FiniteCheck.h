// Finds the first tensor that is not finite, where it appears: in what a forward pass has kept, in a message about to
// be sent, in the gradients of a step. A pass over values is made of a few numbers and of messages only; all else is
// looked at once something is wrong.
#pragma once

#include "runtime/base/NotFinite.h"
#include "runtime/program/Manifest.h"
#include "runtime/transport/DeviceMemory.h"
#include "runtime/transport/Transport.h"

#include <cstddef>
#include <string>

namespace ppcrt {

class FiniteCheck {
public:
  // `stops`: whether the first finding ends the process, naming step and tensor; else it is a warning, once. Everything
  // is borrowed.
  FiniteCheck(const Manifest &manifest, Transport &transport, const DeviceMemory &memory, bool stops);

  // The losses that the micro-batch has added to; when they are not finite, which tensor of the device is the first.
  void afterForward(int64_t step, int64_t microBatch);
  void beforeSend(int64_t step, int64_t microBatch, const Buffer &buffer);
  // Loss and norm of the gradient are the same on all ranks; when one is not finite, the ranks find out together which
  // gradient is the first in the order of the backward pass.
  void afterUpdate(int64_t step, double loss, double gradNorm);

private:
  // "the tensor "X" is nan at element 3 of this rank's block", or empty.
  std::string finding(const Buffer &buffer, int64_t microBatch) const;
  std::string firstOfForward(int64_t microBatch) const;
  void report(int64_t step, const std::string &what);

  const Manifest &manifest;
  const Device &device;
  Transport &transport;
  const DeviceMemory &memory;
  bool stops;
  bool reported = false;
  bool searched = false; // the gradients, by all ranks
};

} // namespace ppcrt
