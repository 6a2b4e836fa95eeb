// Dense f64 tensors for the reference semantics.
#include "ppc/Interfaces/ReferenceTensor.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::ppc {

ReferenceTensor::ReferenceTensor(ArrayRef<int64_t> shape, double value) : shape(shape.begin(), shape.end()) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  data.assign(count, value);
}

int64_t ReferenceTensor::position(ArrayRef<int64_t> index) const {
  assert(index.size() == shape.size() && "one index per dimension");
  int64_t position = 0;
  for (auto [i, extent] : llvm::zip(index, shape)) {
    assert(i >= 0 && i < extent && "index out of range");
    position = position * extent + i;
  }
  return position;
}

void forEachIndex(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<int64_t>)> body) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    body(index);
    int64_t dim = int64_t(shape.size()) - 1;
    while (dim >= 0 && ++index[dim] == shape[dim])
      index[dim--] = 0;
    if (dim < 0)
      return;
  }
}

} // namespace mlir::ppc
