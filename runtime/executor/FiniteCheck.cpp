// Passes over buffers.
#include "runtime/executor/FiniteCheck.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace ppcrt {
namespace {

double valueAt(const std::byte *data, DataType type, int64_t index) {
  if (type == DataType::F64)
    return reinterpret_cast<const double *>(data)[index];
  if (type == DataType::F32)
    return reinterpret_cast<const float *>(data)[index];
  return bf16ToFloat(reinterpret_cast<const uint16_t *>(data)[index]);
}

} // namespace

FiniteCheck::FiniteCheck(const Manifest &manifest, Transport &transport, const DeviceMemory &memory, bool stops)
    : manifest(manifest), device(manifest.deviceOf(transport.rank())), transport(transport), memory(memory),
      stops(stops) {}

std::string FiniteCheck::finding(const Buffer &buffer, int64_t microBatch) const {
  if (buffer.role == Role::Scratch)
    return "";
  constexpr int64_t most = int64_t(32) << 10; // bytes looked at at a time: what stays in the cache
  alignas(8) std::byte piece[most];
  int64_t element = info(buffer.type).bytes, index = -1, begin = 0;
  for (int64_t length; begin < buffer.bytes; begin += length) {
    length = std::min(most, buffer.bytes - begin);
    memory.copyOut(buffer.start(microBatch) + begin, piece, length);
    if ((index = firstNotFinite(piece, buffer.type, length / element)) >= 0)
      break;
  }
  if (index < 0)
    return "";
  double value = valueAt(piece, buffer.type, index);
  index += begin / element;
  const char *what = buffer.role == Role::Gradient  ? "the gradient of "
                     : buffer.role == Role::Message ? "a message"
                                                    : "";
  std::string name = buffer.name.empty() ? "" : "\"" + buffer.name + "\"";
  if (name.empty() && buffer.role == Role::Saved)
    name = "an intermediate result";
  return what + name + format(" is %g at element %lld of this rank's block", value, (long long)index);
}

std::string FiniteCheck::firstOfForward(int64_t microBatch) const {
  std::vector<const Buffer *> inOrder;
  for (Role role : {Role::Parameter, Role::Message, Role::Saved}) {
    size_t first = inOrder.size();
    for (const Buffer &buffer : device.buffers)
      if (buffer.role == role)
        inOrder.push_back(&buffer);
    if (role == Role::Saved)
      std::sort(inOrder.begin() + first, inOrder.end(),
                [](const Buffer *a, const Buffer *b) { return std::pair(a->order, a) < std::pair(b->order, b); });
  }
  for (const Buffer *buffer : inOrder)
    if (std::string text = finding(*buffer, microBatch); !text.empty())
      return text;
  return "";
}

void FiniteCheck::afterForward(int64_t step, int64_t microBatch) {
  for (const Buffer &buffer : device.buffers) {
    if (buffer.role != Role::Accumulator || finding(buffer, microBatch).empty())
      continue;
    std::string first = firstOfForward(microBatch);
    return report(step, format("the loss is not finite from micro-batch %lld on, ", (long long)microBatch) +
                            (first.empty() ? "while all tensors kept before it are"
                                           : "and first in the order of the model " + first));
  }
}

void FiniteCheck::beforeSend(int64_t step, int64_t microBatch, const Buffer &buffer) {
  if (reported || finding(buffer, microBatch).empty())
    return;
  std::string first = firstOfForward(microBatch);
  report(step, format("what micro-batch %lld sends to another stage is not finite: ", (long long)microBatch) +
                   (first.empty() ? finding(buffer, microBatch) : first));
}

void FiniteCheck::afterUpdate(int64_t step, double loss, double gradNorm) {
  if (searched || (std::isfinite(loss) && std::isfinite(gradNorm)))
    return;
  searched = true;
  int64_t rank = transport.rank(), ranks = transport.rankCount(), last = -1;
  std::string text;
  for (const Buffer &buffer : device.buffers)
    if (buffer.role == Role::Gradient && buffer.parameter > last)
      if (std::string found = finding(buffer, 0); !found.empty()) {
        last = buffer.parameter;
        text = found;
      }
  int64_t mine = last < 0 ? 0 : (last + 1) * ranks + ranks - 1 - rank, first = mine;
  transport.allReduce(Transport::everyRank, &first, 1, DataType::I64, Reduction::Max);
  std::string what = format("loss %g, norm of the gradient %g: ", loss, gradNorm);
  if (first == 0 && rank == 0)
    report(step, what + "no gradient that is kept shows where it began");
  else if (first != 0 && first == mine)
    report(step, what + text + ", the first in the order of the backward pass");
}

void FiniteCheck::report(int64_t step, const std::string &what) {
  if (reported)
    return;
  reported = true;
  std::string text = format("step %lld: ", (long long)step) + what;
  if (stops)
    fatal("%s; --on-not-finite=continue trains on", text.c_str());
  std::fprintf(stderr, "warning: %s: %s\n", manifest.grid.describe(transport.rank()).c_str(), text.c_str());
}

} // namespace ppcrt
