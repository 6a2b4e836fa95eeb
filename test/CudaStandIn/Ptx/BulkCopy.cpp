// cp.async.bulk: copies from global to shared memory by a unit of their own, which count for a memory barrier. They
// land at some time between their start and the wait for that barrier; until then their bytes may not be used.
#include "test/CudaStandIn/Ptx/Access.h"
#include "test/CudaStandIn/Ptx/TensorMap.h"

#include <algorithm>

namespace ptx {
namespace {

constexpr int64_t piece = 16; // bytes that stay together

uint64_t sharedPlace(Warp &warp, const Operand &operand, int lane) {
  uint64_t address = warp.address(operand, lane);
  return (address & windowMask) == sharedWindow ? address - sharedWindow : address;
}

void start(Warp &warp, Block::BulkCopy copy) {
  for (const Block::BulkCopy::Piece &part : copy.pieces) {
    if (part.bytes && !warp.block.global.use(Use::Read, part.from, part.bytes))
      throw Fault(FaultKind::OutOfBounds, "the source of a bulk copy is not in one allocation");
    warp.block.shared.startBulkCopy(part.to, piece, warp.index);
  }
  warp.block.bulkCopies.push_back(std::move(copy));
}

// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes, [barrier]
void copy(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint32_t> bytes = warp.read<uint32_t>(instruction.operands[2]);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t to = sharedPlace(warp, instruction.operands[0], lane);
    uint64_t from = warp.address(instruction.operands[1], lane);
    if (to % piece || from % piece || bytes[lane] % piece || !bytes[lane])
      throw Fault(FaultKind::Misaligned, "a bulk copy of " + std::to_string(bytes[lane]) + " bytes");
    Block::BulkCopy made{sharedPlace(warp, instruction.operands[3], lane), {}};
    warp.block.memoryBarriers.forCopy(warp, made.barrier);
    for (uint64_t done = 0; done < bytes[lane]; done += piece)
      made.pieces.push_back({to + done, from + done, piece});
    start(warp, std::move(made));
  }
}

// The contiguous runs of a box whose first element has these coordinates, in order; in a swizzled box bits 4 to 6 of
// their offsets are changed by bits 7 to 9. Elements outside of the tensor are zero.
std::vector<Block::BulkCopy::Piece> piecesOf(const TensorMap &map, const std::array<int64_t, 5> &first, uint64_t to) {
  std::vector<Block::BulkCopy::Piece> pieces;
  int64_t row = int64_t(map.box[0]) * map.elementBytes, rows = map.boxBytes() / row;
  for (int64_t number = 0; number < rows; ++number) {
    uint64_t from = map.address;
    bool isInside = true;
    int64_t rest = number;
    for (int i = 1; i < map.rank; rest /= map.box[i], ++i) {
      int64_t at = first[i] + rest % map.box[i];
      isInside &= at >= 0 && at < int64_t(map.sizes[i]);
      from += uint64_t(at) * map.strides[i];
    }
    for (int64_t column = 0; column < row; column += piece) {
      uint64_t place = to + uint64_t(number * row + column);
      if (map.swizzle)
        place ^= (place >> 7 & 7) << 4;
      int64_t inRow = first[0] * map.elementBytes + column, end = int64_t(map.sizes[0]) * map.elementBytes;
      int64_t read = isInside && inRow >= 0 ? std::clamp<int64_t>(end - inRow, 0, piece) : 0;
      if (inRow < 0 && inRow > -piece)
        throw Fault(FaultKind::Trap, "a box that begins within 16 bytes before a tensor is not copied here");
      if (read && (from + uint64_t(inRow)) % uint64_t(map.elementBytes))
        throw Fault(FaultKind::Misaligned, "the source of a tensor copy");
      pieces.push_back({place, read ? from + uint64_t(inRow) : 0, read});
    }
  }
  return pieces;
}

// cp.async.bulk.tensor.Nd.shared::cluster.global(.tile).mbarrier::complete_tx::bytes [to], [map, {c0, ...}], [barrier]
void copyTensor(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const Operand &source = instruction.operands[1];
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t address = warp.address(source, lane);
    if (address % 64)
      throw Fault(FaultKind::Misaligned, "a tensor map is at no multiple of 64");
    TensorMap map;
    for (size_t half = 0; half < 2; ++half) // all 128 bytes have been written
      if (const std::byte *bytes = bytesAt(warp, lane, Space::Generic, address + 64 * half, 64, Use::Read))
        std::memcpy(reinterpret_cast<std::byte *>(&map) + 64 * half, bytes,
                    std::min<size_t>(64, sizeof(TensorMap) - 64 * half));
    if (const char *what = faultOf(map))
      throw Fault(FaultKind::Trap, what);
    if (map.rank != instruction.count)
      throw Fault(FaultKind::Trap, "a copy of " + std::to_string(instruction.count) + " dimensions by a map of " +
                                       std::to_string(map.rank));
    std::array<int64_t, 5> first{};
    for (int i = 0; i < map.rank; ++i)
      first[i] = warp.read<int32_t>(source.elements[i])[lane];
    uint64_t to = sharedPlace(warp, instruction.operands[0], lane);
    if (to % 128)
      throw Fault(FaultKind::Misaligned, "a tensor copy goes to no multiple of 128");
    uint64_t barrier = sharedPlace(warp, instruction.operands[2], lane);
    warp.block.memoryBarriers.forCopy(warp, barrier);
    start(warp, {barrier, piecesOf(map, first, to)});
  }
}

} // namespace

void Block::land(size_t number) {
  BulkCopy copy = std::move(bulkCopies[number]);
  bulkCopies.erase(bulkCopies.begin() + int64_t(number));
  MemoryBarrier &barrier = memoryBarriers.landing(copy.barrier);
  for (const BulkCopy::Piece &part : copy.pieces) {
    std::byte *to = shared.landBulkCopy(part.to, piece, barrier.number, barrier.phase + 1);
    std::memset(to, 0, size_t(piece));
    const std::byte *from = part.bytes ? global.find(part.from, part.bytes) : nullptr;
    if (part.bytes && !from)
      throw Fault(FaultKind::OutOfBounds, "the source of a bulk copy");
    if (from)
      std::memcpy(to, from, size_t(part.bytes));
  }
  memoryBarriers.bring(copy.barrier, int64_t(copy.pieces.size()) * piece);
}

bool decodeBulkCopy(Instruction &instruction) {
  bool spaces = (instruction.has("shared::cluster") || instruction.has("shared::cta")) && instruction.has("global") &&
                instruction.has("mbarrier::complete_tx::bytes");
  auto isPlace = [&](size_t i) { return instruction.operands[i].kind == Operand::Address; };
  // Into shared memory: what is copied to comes first among the modifiers.
  size_t at = 0;
  for (; at < instruction.modifiers.size() && instruction.modifiers[at] != "global"; ++at)
    if (instruction.modifiers[at].rfind("shared", 0) == 0)
      break;
  if (!spaces || at == instruction.modifiers.size() || instruction.modifiers[at] == "global")
    return false;
  if (!instruction.has("tensor")) {
    instruction.execute = &copy;
    return hasOperands(instruction, 4) && isPlace(0) && isPlace(1) && isPlace(3);
  }
  instruction.execute = &copyTensor;
  instruction.count = 0;
  for (int rank = 1; rank <= TensorMap::mostRank; ++rank)
    if (instruction.has(std::to_string(rank) + "d"))
      instruction.count = rank;
  return hasOperands(instruction, 3) && isPlace(0) && isPlace(1) && isPlace(2) &&
         instruction.operands[1].elements.size() == size_t(instruction.count) && instruction.count;
}

} // namespace ptx
