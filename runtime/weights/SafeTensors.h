// Reading safetensors: 8 bytes of header size, a JSON header, then the tensors. Everything that the header says is
// checked before a tensor is read.
#pragma once

#include "runtime/base/DataType.h"
#include "runtime/files/File.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ppcrt {

struct StoredTensor {
  std::string name;
  std::string type;           // as the file calls it: "F32", "BF16", "F8_E4M3", ...
  std::vector<int64_t> shape; // extents may be 0
  int64_t begin, end;         // bytes in the file
  int64_t elementBytes;
};

struct SafeTensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors; // in the order of their bytes, which they cover without holes or overlap
  int64_t bytes;                     // of the header with its size: where the tensors begin
};

// `text` holds at least the header of a file of `fileBytes`; `path` is for messages. Throws InputError for files that
// are empty, truncated or longer than their tensors, headers above 100 MB, names given twice, types that are not known,
// and tensors whose bytes overlap, leave holes or do not fit their shape.
SafeTensorsHeader parseSafeTensors(std::string_view text, int64_t fileBytes, const std::string &path);

// A mapped file with its tensors by name.
class SafeTensorsFile {
public:
  explicit SafeTensorsFile(const std::string &path);

  const std::string &path() const { return file.path(); }
  const SafeTensorsHeader &header() const { return content; }
  // Null when there is none.
  const StoredTensor *find(const std::string &name) const;
  const std::byte *data(const StoredTensor &tensor) const { return file.data() + tensor.begin; }
  std::string_view text() const { return file.text(); }

private:
  MappedFile file;
  SafeTensorsHeader content;
  std::map<std::string, size_t> byName;
};

// Whether values of a stored type can become values of a program: F64, F32, BF16 and F16.
bool isConvertible(const std::string &storedType);

// out[outIndex + i] = in[inIndex + i] of a stored type, rounded to nearest (F64 to bf16 by way of f32). `in` need not
// be aligned.
void convert(const std::byte *in, const std::string &storedType, int64_t inIndex, std::byte *out, DataType type,
             int64_t outIndex, int64_t count);

} // namespace ppcrt
