#include "dialects/ppc/LegalShape.h"

#include "ppc/Support/Limits.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

bool ppc::isLegalShape(llvm::ArrayRef<int64_t> shape, bool mayBeEmpty) {
  int64_t left = limits::tensorElements;
  return int64_t(shape.size()) <= limits::dimensions && llvm::all_of(shape, [&](int64_t extent) {
           return extent == 0 ? mayBeEmpty : extent > 0 && (left /= extent) > 0;
         });
}
