// Slots that several values share in turn: the number of slots, and the slot of each value.
#ifndef PPC_SCHEDULING_SHAREDPLACES_H
#define PPC_SCHEDULING_SHAREDPLACES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace mlir::ppc {

/// Lifetime of a value: positions of its first and last use in the order of a device, both included.
struct Lifetime {
  int64_t first = 0, last = -1;

  /// True for a value that is never live.
  bool isEmpty() const { return last < first; }
  void extend(int64_t place) {
    first = isEmpty() ? place : first;
    last = place;
  }
  bool operator<(const Lifetime &other) const { return first != other.first ? first < other.first : last < other.last; }
  bool operator==(const Lifetime &other) const { return first == other.first && last == other.last; }
};

/// Assignment of slots to values: no two values that are live at one time share a slot.
struct SharedPlaces {
  std::vector<int64_t> places; ///< 0 where a value is never there
  int64_t count = 0;
};

/// Assigns each value, by the start of its lifetime, the lowest free slot. This takes as many slots as values are live
/// at one time, the minimum.
SharedPlaces sharePlaces(llvm::ArrayRef<Lifetime> values);

/// A table with a row per point in time: the number of micro-batches a device saves of each kind of values. One
/// allocation, because searches make millions of tables.
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

/// Bytes of values that share slots with values of their size. `bytes` has the size of each value per micro-batch,
/// `kinds` the column of its kind in `moments`. Values overlap as far as their sizes allow, so each range of bytes
/// needs as many slots as the peak of all kinds that have it.
double sharedBytes(llvm::ArrayRef<double> bytes, llvm::ArrayRef<size_t> kinds, const MomentLoads &moments);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_SHAREDPLACES_H
