#include "TensorFile.h"

#include "Compilation.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc {

bool TensorFile::read(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return reportError("cannot read " + path + ": " + file.getError().message()), false;
  buffer = std::move(*file);
  llvm::StringRef bytes = buffer->getBuffer();
  uint64_t headerSize = bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
  llvm::Expected<llvm::json::Value> header = headerSize && headerSize <= bytes.size() - 8
                                                 ? llvm::json::parse(bytes.substr(8, headerSize))
                                                 : llvm::createStringError("no header");
  if (!header || !header->getAsObject())
    return reportError(path + ": " + (header ? std::string("no header") : llvm::toString(header.takeError()))), false;
  for (auto &[name, value] : *header->getAsObject()) {
    const llvm::json::Object *entry = value.getAsObject();
    if (!entry || !entry->getArray("data_offsets"))
      continue; // __metadata__
    Tensor tensor;
    for (const llvm::json::Value &size : *entry->getArray("shape"))
      tensor.shape.push_back(size.getAsInteger().value_or(0));
    const llvm::json::Array &offsets = *entry->getArray("data_offsets");
    uint64_t begin = offsets[0].getAsUINT64().value_or(0), end = offsets[1].getAsUINT64().value_or(0);
    if (end < begin || 8 + headerSize + end > bytes.size())
      return reportError(path + ": tensor '" + name.str() + "' is stored outside of the file"), false;
    tensor.values = {reinterpret_cast<const float *>(bytes.data() + 8 + headerSize + begin),
                     (end - begin) / sizeof(float)};
    tensors.emplace(name.str(), tensor);
  }
  return true;
}

} // namespace mlir::ppc
