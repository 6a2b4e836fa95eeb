#include "test/CudaStandIn/Driver/Ordering.h"
#include "test/CudaStandIn/Ptx/Fault.h"

#include <algorithm>
#include <iterator>

namespace standin {
namespace {

bool isBefore(const Operation &first, const Operation &second) {
  return first.stream == second.stream ||
         (first.stream < second.clock.size() && second.clock[first.stream] >= first.number);
}

} // namespace

void join(Clock &clock, const Clock &other) {
  clock.resize(std::max(clock.size(), other.size()));
  for (size_t i = 0; i < other.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

std::string describe(const Operation &operation) {
  return operation.name + " (stream " + std::to_string(operation.stream) + ", operation " +
         std::to_string(operation.number) + ")";
}

void UseHistory::add(const OperationPointer &operation, const std::vector<ptx::GlobalMemory::Run> &uses,
                     const ptx::GlobalMemory &memory) {
  for (const ptx::GlobalMemory::Run &run : uses) {
    split(run.first);
    split(run.first + run.bytes);
    if (run.isWritten)
      write(operation, run.first, run.first + run.bytes, memory);
    else
      read(operation, run.first, run.first + run.bytes, memory);
  }
}

void UseHistory::forget(uint64_t first, uint64_t bytes) {
  split(first);
  split(first + bytes);
  segments.erase(segments.lower_bound(first), segments.lower_bound(first + bytes));
}

void UseHistory::split(uint64_t address) {
  auto after = segments.upper_bound(address);
  if (after == segments.begin())
    return;
  auto holds = std::prev(after);
  if (holds->first == address || holds->second.end <= address)
    return;
  Segment second = holds->second;
  holds->second.end = address;
  segments.emplace_hint(after, address, std::move(second));
}

void UseHistory::checkOrder(const Segment &segment, uint64_t first, const Operation &operation, bool writes,
                            const ptx::GlobalMemory &memory) const {
  auto fail = [&](const char *what, const Operation &other) {
    throw ptx::Fault(ptx::FaultKind::Race, describe(operation) + what + describe(other) + ", " +
                                               memory.describe(first, segment.end - first) +
                                               ", and neither waits for the other");
  };
  if (segment.writer && !isBefore(*segment.writer, operation))
    fail(writes ? " writes over what is written by " : " reads what is written by ", *segment.writer);
  if (writes)
    for (const OperationPointer &reader : segment.readers)
      if (!isBefore(*reader, operation))
        fail(" overwrites bytes that are read by ", *reader);
}

void UseHistory::write(const OperationPointer &operation, uint64_t first, uint64_t end,
                       const ptx::GlobalMemory &memory) {
  auto begin = segments.lower_bound(first), stop = begin;
  for (; stop != segments.end() && stop->first < end; ++stop)
    checkOrder(stop->second, stop->first, *operation, true, memory);
  stop = segments.erase(begin, stop);
  mergeFrom(segments.emplace_hint(stop, first, Segment{end, operation, {}}), end);
}

void UseHistory::read(const OperationPointer &operation, uint64_t first, uint64_t end,
                      const ptx::GlobalMemory &memory) {
  auto at = segments.lower_bound(first);
  for (uint64_t covered = first; covered < end; ++at) {
    if (at == segments.end() || at->first > covered) // no use of these bytes so far
      at = segments.emplace_hint(at, covered, Segment{at == segments.end() ? end : std::min(end, at->first), {}, {}});
    Segment &segment = at->second;
    checkOrder(segment, at->first, *operation, false, memory);
    auto same = std::find_if(segment.readers.begin(), segment.readers.end(),
                             [&](const OperationPointer &reader) { return reader->stream == operation->stream; });
    if (same == segment.readers.end())
      segment.readers.push_back(operation);
    else
      *same = operation;
    covered = segment.end;
  }
  mergeFrom(segments.find(first), end);
}

// Merges neighbouring segments with equal uses, from `segment` to `end`, including the two around them.
void UseHistory::mergeFrom(Segments::iterator segment, uint64_t end) {
  if (segment != segments.begin())
    --segment;
  while (segment != segments.end() && segment->first < end) {
    auto next = std::next(segment);
    if (next == segments.end())
      return;
    bool alike = segment->second.end == next->first && segment->second.writer == next->second.writer &&
                 segment->second.readers == next->second.readers;
    if (alike) {
      segment->second.end = next->second.end;
      segments.erase(next);
    } else {
      segment = next;
    }
  }
}

} // namespace standin
