// Arenas byte by byte.
#include "TimedMemory.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <limits>

namespace mlir::ppc::test {

using namespace ppcrt;

static constexpr double kPoison = std::numeric_limits<double>::signaling_NaN();

std::string MemoryLayout::read(DeviceOp device) {
  for (auto buffer : device.getBody().front().getOps<BufferOp>()) {
    auto type = cast<MemRefType>(buffer.getType());
    BufferPlace place{buffer,
                      -1,
                      0,
                      int64_t(buffer.getSlots().value_or(1)),
                      type.getNumElements(),
                      int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8)),
                      buffer.getPlaces().value_or(ArrayRef<int64_t>())};
    bool ownMemory = !buffer.getMemory() || *buffer.getMemory() == Memory::Device;
    if (ownMemory && buffer.getOffset()) {
      place.offset = *buffer.getOffset();
      place.stride = buffer.getStride().value_or(0);
    }
    if (buffer.getRole() != BufferRole::Scratch) // whose bytes hold nothing that is read
      cellBytes = std::min(cellBytes, place.elementBytes);
    byName[buffer.getSymName().str()] = places.size();
    places.push_back(place);
  }
  std::optional<int64_t> arena = device.getArena();
  for (const BufferPlace &place : places) {
    if (place.offset < 0)
      continue;
    int64_t last = place.begin(place.slots - 1) + place.bytes();
    auto name = [&] { return "@" + BufferOp(place.buffer).getSymName().str(); };
    if (arena && last > *arena)
      return name() + " ends at byte " + std::to_string(last) + " of an arena of " + std::to_string(*arena);
    if (BufferOp(place.buffer).getRole() != BufferRole::Scratch &&
        (place.offset % place.elementBytes || place.stride % place.elementBytes))
      return name() + " is not aligned to its elements";
    end = std::max(end, last);
  }
  end = std::max(end, arena.value_or(0));
  std::vector<BufferPlace *> sharing; // which nothing has laid out
  for (BufferPlace &place : places) {
    if (place.offset >= 0)
      continue;
    if (BufferOp(place.buffer).getShares()) {
      sharing.push_back(&place);
      continue;
    }
    place.offset = llvm::alignTo(end, 64);
    place.stride = llvm::alignTo(place.bytes(), 64);
    end = place.begin(place.slots);
  }
  for (BufferPlace *place : sharing) {
    const BufferPlace *owner = find(*BufferOp(place->buffer).getShares());
    if (!owner || owner->slots < place->slots || owner->offset < 0)
      return "@" + BufferOp(place->buffer).getSymName().str() + " shares slots that are not there";
    place->offset = owner->offset;
    place->stride = owner->stride;
  }
  end = llvm::alignTo(end, 64);
  return "";
}

const BufferPlace *MemoryLayout::find(StringRef name) const {
  auto found = byName.find(name.str());
  return found == byName.end() ? nullptr : &places[found->second];
}

RankMemory::RankMemory(const MemoryLayout &layout)
    : unit(layout.unit()), memory(llvm::divideCeil(layout.bytes(), layout.unit()), kPoison) {}

void RankMemory::poison(int64_t begin, int64_t end) {
  if (begin == end)
    return;
  std::fill(memory.begin() + begin / unit, memory.begin() + llvm::divideCeil(end, unit), kPoison);
}

void RankMemory::write(const BufferPlace &place, int64_t slot, ArrayRef<double> values) {
  double *to = &memory[place.begin(slot) / unit];
  int64_t width = place.elementBytes / unit;
  if (width == 1) {
    std::memcpy(to, values.data(), values.size() * sizeof(double));
    return;
  }
  for (double value : values)
    to = std::fill_n(to, width, value);
}

ReferenceTensor RankMemory::read(const BufferPlace &place, int64_t slot) const {
  ReferenceTensor tensor(BufferOp(place.buffer).getBufferType().getShape());
  const double *from = cells(place, slot).data();
  int64_t width = place.elementBytes / unit;
  for (double &element : tensor.data) {
    bool isWhole = llvm::all_of(ArrayRef(from, width), [&](double part) { return part == *from; });
    element = isWhole ? *from : kPoison;
    from += width;
  }
  return tensor;
}

ArrayRef<double> RankMemory::cells(const BufferPlace &place, int64_t slot) const {
  return ArrayRef(memory).slice(place.begin(slot) / unit, place.bytes() / unit);
}

} // namespace mlir::ppc::test
