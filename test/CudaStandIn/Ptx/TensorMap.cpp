#include "test/CudaStandIn/Ptx/TensorMap.h"

namespace ptx {

int64_t TensorMap::boxBytes() const {
  int64_t bytes = elementBytes;
  for (int i = 0; i < rank; ++i)
    bytes *= box[i];
  return bytes;
}

const char *faultOf(const TensorMap &map) {
  if (map.magic != TensorMap::expectedMagic)
    return "the address holds no tensor map";
  if (map.rank < 1 || map.rank > TensorMap::mostRank)
    return "a tensor map has 1 to 5 dimensions";
  if (map.elementBytes != 1 && map.elementBytes != 2 && map.elementBytes != 4 && map.elementBytes != 8)
    return "elements of this size are not copied here";
  if (map.address % 16)
    return "the address of a tensor is not a multiple of 16";
  for (int i = 0; i < map.rank; ++i) {
    if (!map.sizes[i])
      return "a dimension of a tensor is empty";
    if (!map.box[i] || map.box[i] > 256)
      return "a box has 1 to 256 elements in each dimension";
    if (i && (!map.strides[i] || map.strides[i] % 16 || map.strides[i] >> 40))
      return "a stride is not a multiple of 16 below 2^40";
  }
  int64_t row = int64_t(map.box[0]) * map.elementBytes;
  if (row % 16)
    return "rows of a box are not a multiple of 16 bytes";
  if (map.swizzle != 0 && map.swizzle != 3)
    return "this swizzling is not executed here";
  if (map.swizzle == 3 && row > 128)
    return "rows of a swizzled box have more than 128 bytes";
  return nullptr;
}

} // namespace ptx
