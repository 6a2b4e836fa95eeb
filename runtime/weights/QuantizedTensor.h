// Matrices that files hold in fewer bits than they are trained in: numbers of 8 or 4 bits, and scales of blocks or
// groups of them. They are dequantised as they are read.
#pragma once

#include "runtime/weights/SafeTensors.h"

#include <functional>
#include <optional>

namespace ppcrt {

// A tensor and the mapped file that holds it.
struct PlacedTensor {
  const SafeTensorsFile *file = nullptr;
  const StoredTensor *tensor = nullptr;
  const std::byte *data() const { return file->data(*tensor); }
};

// What config.json says of the blocks of scales, in its quantization_config.
struct QuantizedBlocks {
  int64_t rows = 128, columns = 128; // of FP8: weight_block_size
};

// Formats, by the names of their tensors behind the parameter's name N ("...weight"):
//   FP8    N F8_E4M3 [r, c], with N_scale_inv or N_scale: one number, one of each row [r, 1], or one of each block
//          [ceil(r / block rows), ceil(c / block columns)]
//   NVFP4  N or N_packed U8 [r, c / 2], the even column in the low half; N_scale F8_E4M3 [r, c / 16]; one number, by
//          which all are multiplied (N_scale_2) or divided (N_global_scale)
//   INT4   N_packed I32 [r, c / 8], the first column in the lowest bits, 8 too large; N_scale [r, c / group], N_shape
class QuantizedTensor {
public:
  using Find = std::function<PlacedTensor(const std::string &name)>; // null where there is none

  // Of the tensor `name`, nothing when it is in no such format. Throws InputError when scales are missing, of a shape
  // that does not fit, not finite or of a type that is none, by file and tensor.
  static std::optional<QuantizedTensor> of(const std::string &name, const Find &find, const QuantizedBlocks &blocks);

  // The parameter, as if the file held its values.
  const StoredTensor &logical() const { return tensor; }
  // Tensors that belong to it, by name: of them, nothing else is to be read.
  const std::vector<std::string> &parts() const { return names; }
  const char *format() const;

  // Elements [first, first + count), row-major.
  void read(int64_t first, int64_t count, double *values) const;

private:
  enum class Kind { Fp8, Nvfp4, Int4 };

  void readScales(const PlacedTensor &scales, int64_t rowBlock, int64_t columnBlock);
  void readWholeScale(const PlacedTensor &scale, bool divides);
  float scaleAt(int64_t row, int64_t column) const {
    return scales[size_t(row / rowBlock * scaleColumns + column / columnBlock)] * whole;
  }
  float numberAt(int64_t row, int64_t column) const;

  Kind kind = Kind::Fp8;
  PlacedTensor stored;
  StoredTensor tensor;
  std::vector<std::string> names;
  std::vector<float> scales;
  int64_t rows = 0, columns = 0, rowBlock = 1, columnBlock = 1, scaleColumns = 1;
  float whole = 1;
};

// Whether `name` ends in what only says how another tensor is computed with: scales of activations and of caches.
bool isActivationScale(const std::string &name);

} // namespace ppcrt
