// Tensors of the reference semantics: dense f64 tensors, and the coordinates of a rank on the device mesh.
#ifndef PPC_INTERFACES_REFERENCETENSOR_H
#define PPC_INTERFACES_REFERENCETENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <vector>

namespace mlir::ppc {

/// A dense row-major tensor of f64 values. Owns its data.
struct ReferenceTensor {
  SmallVector<int64_t> shape;
  std::vector<double> data;

  ReferenceTensor() = default;
  explicit ReferenceTensor(ArrayRef<int64_t> shape, double value = 0);
  static ReferenceTensor zeros(Type type) { return ReferenceTensor(cast<ShapedType>(type).getShape()); }

  int64_t size() const { return data.size(); }
  /// Row-major position of `index`.
  int64_t position(ArrayRef<int64_t> index) const;
  double &at(ArrayRef<int64_t> index) { return data[position(index)]; }
  double at(ArrayRef<int64_t> index) const { return data[position(index)]; }
};

/// Calls `body` with every index of `shape` in row-major order (once, with an empty index, for a scalar).
void forEachIndex(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<int64_t>)> body);

/// Coordinates of the evaluating rank.
struct ReferenceContext {
  /// The rank's index among the ranks that differ only in `axes`, row-major in the listed order; 0 without a mesh.
  std::function<int64_t(ArrayRef<StringRef> axes)> blockIndex = [](ArrayRef<StringRef>) { return int64_t(0); };
};

} // namespace mlir::ppc

#endif // PPC_INTERFACES_REFERENCETENSOR_H
