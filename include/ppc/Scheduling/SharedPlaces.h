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

/// A row for each moment: how many micro-batches a device has of each kind of values. One piece of memory, because
/// searches make millions of these.
class MomentLoads {
public:
  explicit MomentLoads(size_t kinds, size_t moments = 0) : kinds(kinds), moments(moments), loads(kinds * moments) {}

  size_t momentCount() const { return moments; }
  llvm::MutableArrayRef<double> operator[](size_t moment) {
    return llvm::MutableArrayRef<double>(loads).slice(moment * kinds, kinds);
  }
  llvm::ArrayRef<double> operator[](size_t moment) const { return llvm::ArrayRef(loads).slice(moment * kinds, kinds); }
  /// One more moment, of zeros.
  llvm::MutableArrayRef<double> add() {
    loads.resize(++moments * kinds);
    return (*this)[moments - 1];
  }

private:
  size_t kinds, moments;
  llvm::SmallVector<double, 48> loads;
};

/// Bytes of values that share places with their like. `bytes` is what one micro-batch has of each value, `kinds` the
/// number of its kind in the rows of `moments`; values are the same as far as their bytes reach, so that each part of
/// them needs as many places as there ever are of all kinds that have it.
double sharedBytes(llvm::ArrayRef<double> bytes, llvm::ArrayRef<size_t> kinds, const MomentLoads &moments);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_SHAREDPLACES_H
