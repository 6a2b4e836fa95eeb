// The f32 tensors of a safetensors file that one of our executables wrote.
#ifndef PPC_TOOLS_COMPILE_TENSORFILE_H
#define PPC_TOOLS_COMPILE_TENSORFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mlir::ppc {

struct Tensor {
  std::vector<int64_t> shape;
  llvm::ArrayRef<float> values;
};

class TensorFile {
public:
  /// False, and reported, where it is none.
  bool read(llvm::StringRef path);
  std::map<std::string, Tensor> tensors;

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
};

} // namespace mlir::ppc

#endif // PPC_TOOLS_COMPILE_TENSORFILE_H
