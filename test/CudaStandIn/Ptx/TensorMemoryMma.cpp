// tcgen05: instructions of tensor memory (TensorMemory.h). Only forms of one block (cta_group::1) are executed:
// allocation, MMAs of 128 rows of f16 or bf16 with sums in f32, with the left operand in shared or in tensor memory,
// commits, and loads and stores of 32 lanes of 32 bits.
#include "test/CudaStandIn/Ptx/Access.h"

namespace ptx {
namespace {

uint64_t sharedPlace(Warp &warp, const Operand &operand, int lane) {
  uint64_t address = warp.address(operand, lane);
  return (address & windowMask) == sharedWindow ? address - sharedWindow : address;
}

// The value, which must be equal in all lanes.
template <class T> T same(const Lanes<T> &values) {
  for (T value : values)
    if (value != values[0])
      throw Fault(FaultKind::Divergence, "lanes of a warp name different addresses or sizes of tensor memory");
  return values[0];
}
uint32_t sameAddress(Warp &warp, const Operand &operand) {
  Lanes<uint32_t> addresses;
  for (int lane = 0; lane < lanes; ++lane)
    addresses[size_t(lane)] = uint32_t(warp.address(operand, lane));
  return same(addresses);
}

// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], columns
void allocate(Warp &warp, const Instruction &instruction, uint32_t) {
  Lanes<uint32_t> count = warp.read<uint32_t>(instruction.operands[1]);
  uint32_t address = warp.block.tensorMemory.allocate(warp, same(count));
  uint64_t place = sharedPlace(warp, instruction.operands[0], 0);
  if (place % 4)
    throw Fault(FaultKind::Misaligned, "an allocation of tensor memory is told at no multiple of 4");
  std::memcpy(warp.block.shared.use(Use::Write, place, 4, warp.index), &address, 4);
}
void release(Warp &warp, const Instruction &instruction, uint32_t) {
  warp.block.tensorMemory.release(warp, same(warp.read<uint32_t>(instruction.operands[0])),
                                  same(warp.read<uint32_t>(instruction.operands[1])));
}
void relinquish(Warp &warp, const Instruction &, uint32_t) { warp.block.tensorMemory.relinquish(); }

// The parts of an instruction descriptor (PTX ISA, "Instruction descriptor") of .kind::f16.
TensorMemory::Product productOf(uint32_t bits) {
  auto field = [&](int first, int width) { return int(bits >> first & ((1u << width) - 1)); };
  bool isPlain = !field(0, 4) && !field(6, 1) && !field(13, 2) && !field(23, 1) && !field(29, 3);
  int left = field(7, 3), right = field(10, 3), columns = 8 * field(17, 6), rows = 16 * field(24, 5);
  if (!isPlain || field(4, 2) != 1 || left != right || left > 1)
    throw Fault(FaultKind::Trap, "an MMA that is sparse, negative, or of other types than f32 from f16 or bf16");
  if (rows != TensorMemory::rows || columns % 16 || columns < 16 || columns > 256)
    throw Fault(FaultKind::Trap, "an MMA of " + std::to_string(rows) + " rows and " + std::to_string(columns) +
                                     " columns is not executed here");
  TensorMemory::Product product{0, columns, std::nullopt};
  product.isHalf = left == 0;
  product.leftAlongRows = field(15, 1), product.rightAlongRows = field(16, 1);
  return product;
}

// tcgen05.mma.cta_group::1.kind::f16 [sums], left, right, what, adds; `left` a descriptor, or [columns].
void multiply(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const auto &operands = instruction.operands;
  bool fromMemory = operands[1].kind == Operand::Address;
  Lanes<uint64_t> left{}, right = warp.read<uint64_t>(operands[2]);
  if (!fromMemory)
    left = warp.read<uint64_t>(operands[1]);
  Lanes<uint32_t> what = warp.read<uint32_t>(operands[3]);
  Lanes<bool> adds = warp.read<bool>(operands[4]);
  TensorMemory &memory = warp.block.tensorMemory;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    TensorMemory::Product product = productOf(what[lane]);
    product.sums = memory.placeOfProduct(uint32_t(warp.address(operands[0], lane)), product.columns);
    if (fromMemory)
      product.left = memory.placeOfProduct(uint32_t(warp.address(operands[1], lane)), 8);
    if (fromMemory && product.leftAlongRows)
      throw Fault(FaultKind::Trap, "a left operand in tensor memory has its rows in lanes");
    product.leftTile = left[lane], product.rightTile = right[lane];
    product.adds = adds[lane];
    memory.begin(warp, lane, product);
  }
}

// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [barrier]
void commit(Warp &warp, const Instruction &instruction, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    warp.block.tensorMemory.commit(warp, lane, sharedPlace(warp, instruction.operands[0], lane));
  }
}

// tcgen05.ld.sync.aligned.32x32b.xN.b32 {...}, [address]; tcgen05.st.sync.aligned.32x32b.xN.b32 [address], {...}
void load(Warp &warp, const Instruction &instruction, uint32_t) {
  const Operand &registers = instruction.operands[0];
  const uint32_t *words =
      warp.block.tensorMemory.load(warp, sameAddress(warp, instruction.operands[1]), instruction.count);
  for (const Operand &element : registers.elements) {
    Lanes<uint32_t> values;
    std::memcpy(values.data(), words, sizeof values);
    warp.write(element, values, ~0u);
    words += TensorMemory::rows;
  }
  warp.awaitLoad(registers);
}
void store(Warp &warp, const Instruction &instruction, uint32_t) {
  uint32_t *words = warp.block.tensorMemory.store(warp, sameAddress(warp, instruction.operands[0]), instruction.count);
  for (const Operand &element : instruction.operands[1].elements) {
    Lanes<uint32_t> values = warp.read<uint32_t>(element);
    std::memcpy(words, values.data(), sizeof values);
    words += TensorMemory::rows;
  }
}

void waitForLoads(Warp &warp, const Instruction &, uint32_t) {
  warp.block.tensorMemory.waitFor(warp, /*stores=*/false);
  warp.endLoads();
}
void waitForStores(Warp &warp, const Instruction &, uint32_t) {
  warp.block.tensorMemory.waitFor(warp, /*stores=*/true);
}
void fenceBefore(Warp &warp, const Instruction &, uint32_t) { warp.block.tensorMemory.fenceBefore(warp); }
void fenceAfter(Warp &warp, const Instruction &, uint32_t) { warp.block.tensorMemory.fenceAfter(warp); }

bool isAddress(const Instruction &instruction, size_t operand) {
  return operand < instruction.operands.size() && instruction.operands[operand].kind == Operand::Address;
}

bool decodeAccess32(Instruction &instruction, bool isLoad) {
  instruction.count = 0;
  for (int count : {1, 2, 4, 8, 16, 32, 64, 128})
    if (instruction.has("x" + std::to_string(count)))
      instruction.count = count;
  size_t registers = isLoad ? 0 : 1;
  instruction.execute = isLoad ? &load : &store;
  return instruction.has("32x32b") && instruction.has("b32") && instruction.count && hasOperands(instruction, 2) &&
         isAddress(instruction, 1 - registers) && instruction.operands[registers].kind == Operand::Vector &&
         instruction.operands[registers].elements.size() == size_t(instruction.count);
}

} // namespace

bool decodeTensorMemory(Instruction &instruction) {
  auto is = [&](std::string_view what, Execute execute, size_t operands) {
    if (!instruction.has(what))
      return false;
    instruction.execute = execute;
    return hasOperands(instruction, operands);
  };
  if (is("fence::before_thread_sync", &fenceBefore, 0) || is("fence::after_thread_sync", &fenceAfter, 0))
    return true;
  bool ofOneBlock = instruction.has("cta_group::1");
  if (is("mma", &multiply, 5))
    return ofOneBlock && instruction.has("kind::f16") && isAddress(instruction, 0);
  if (is("commit", &commit, 1))
    return ofOneBlock && instruction.has("mbarrier::arrive::one") && instruction.has("b64") &&
           isAddress(instruction, 0);
  if (!instruction.has("sync") || !instruction.has("aligned"))
    return false;
  instruction.flow = Flow::Converge; // converges all lanes
  if (is("alloc", &allocate, 2))
    return ofOneBlock && isAddress(instruction, 0);
  if (is("dealloc", &release, 2) || is("relinquish_alloc_permit", &relinquish, 0))
    return ofOneBlock;
  if (is("wait::ld", &waitForLoads, 0) || is("wait::st", &waitForStores, 0))
    return true;
  return (instruction.has("ld") || instruction.has("st")) && decodeAccess32(instruction, instruction.has("ld"));
}

} // namespace ptx
