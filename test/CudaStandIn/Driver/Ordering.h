// The happens-before order of a device's operations, independent of when they run: an operation follows all operations
// issued before on its stream, those that the stream waits for, and those that the host has waited for. Times are
// vector clocks of the streams (Flanagan and Freund, "FastTrack", PLDI 2009), taken when operations are issued, as
// events are recorded then.
#pragma once

#include "test/CudaStandIn/Ptx/GlobalMemory.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace standin {

// [stream]: how many of its operations have come before.
using Clock = std::vector<uint64_t>;
// Sets `clock` to the later of both, per stream.
void join(Clock &clock, const Clock &other);

struct Operation {
  std::string name; // "kernel 'rows_8f03'", "ncclAllReduce, member 0 of 2"
  size_t stream;
  uint64_t number; // on its stream, from 1
  Clock clock;     // with itself
};
using OperationPointer = std::shared_ptr<const Operation>;

// "kernel 'rows_8f03' (stream 0, operation 12)"
std::string describe(const Operation &operation);

// Last writers of the bytes of a device, and their readers since.
class UseHistory {
public:
  // Records the uses of `memory` by `operation`. Throws ptx::Fault if an operation that is not ordered before it has
  // written the same bytes, or read bytes that it writes.
  void add(const OperationPointer &operation, const std::vector<ptx::GlobalMemory::Run> &uses,
           const ptx::GlobalMemory &memory);
  // Forgets uses of freed memory.
  void forget(uint64_t first, uint64_t bytes);

private:
  struct Segment {
    uint64_t end;
    OperationPointer writer;               // or null
    std::vector<OperationPointer> readers; // since then, the last one of each stream
  };
  using Segments = std::map<uint64_t, Segment>; // by first address
  // A segment begins at the address if one holds it.
  void split(uint64_t address);
  void read(const OperationPointer &operation, uint64_t first, uint64_t end, const ptx::GlobalMemory &memory);
  void write(const OperationPointer &operation, uint64_t first, uint64_t end, const ptx::GlobalMemory &memory);
  void checkOrder(const Segment &segment, uint64_t first, const Operation &operation, bool writes,
                  const ptx::GlobalMemory &memory) const;
  void mergeFrom(Segments::iterator segment, uint64_t end);

  Segments segments;
};

} // namespace standin
