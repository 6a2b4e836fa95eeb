// Places that values lie in by turns: how many there must be, and which value lies where.
#ifndef PPC_SCHEDULING_SHAREDPLACES_H
#define PPC_SCHEDULING_SHAREDPLACES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace mlir::ppc {

/// From when until when a value is there: places of the first action that uses it and of the last one in the order of a
/// device, both included.
struct Lifetime {
  int64_t first = 0, last = -1;

  /// Of a value that is never there.
  bool isEmpty() const { return last < first; }
  void extend(int64_t place) {
    first = isEmpty() ? place : first;
    last = place;
  }
  bool operator<(const Lifetime &other) const { return first != other.first ? first < other.first : last < other.last; }
  bool operator==(const Lifetime &other) const { return first == other.first && last == other.last; }
};

/// Which place each value has, and how many there are: no two values that are there at one time have the same.
struct SharedPlaces {
  std::vector<int64_t> places; ///< 0 where a value is never there
  int64_t count = 0;
};

/// Each value, in the order in which they begin, has the lowest place that is free: with that there are as many places
/// as values at one time, the fewest possible.
SharedPlaces sharePlaces(llvm::ArrayRef<Lifetime> values);

/// What a device has of some kinds of values at a moment, in micro-batches.
using KindLoads = llvm::SmallVector<double, 4>;

/// Bytes of values that share places with their like. `bytes` is what one micro-batch has of each kind; kinds hold the
/// same values as far as their bytes reach, so that each part of them needs as many places as there ever are of all
/// kinds that have it.
double sharedBytes(llvm::ArrayRef<double> bytes, llvm::ArrayRef<KindLoads> moments);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_SHAREDPLACES_H
