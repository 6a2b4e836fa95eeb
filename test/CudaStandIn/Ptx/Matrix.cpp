// Matrices in the registers of a warp: ldmatrix, stmatrix, mma.sync. Fragments are laid out as in the PTX ISA: lane l
// holds row l / 4 and columns 2 (l % 4), 2 (l % 4) + 1 of each 8 x 8 tile. Sums are formed as tensor cores of the
// module's architecture do.
#include "test/CudaStandIn/Ptx/Access.h"
#include "test/CudaStandIn/Ptx/TensorCore.h"

namespace ptx {
namespace {

// 8 x 8 tiles of 16 bits; lane 8 i + r holds the address of row r of tile i.
template <bool isLoad> void moveMatrix(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const Operand &place = instruction.operands[isLoad ? 1 : 0];
  const Operand &registers = instruction.operands[isLoad ? 0 : 1];
  bool transposed = instruction.has("trans");
  for (int piece = 0; piece < instruction.count; ++piece) {
    std::byte *rows[8];
    for (int row = 0; row < 8; ++row) {
      int lane = 8 * piece + row;
      rows[row] =
          bytesAt(warp, lane, instruction.space, warp.address(place, lane), 16, isLoad ? Use::Read : Use::Write);
    }
    const Operand &reg = registers.kind == Operand::Vector ? registers.elements[piece] : registers;
    Lanes<uint32_t> values = warp.read<uint32_t>(reg);
    for (int lane = 0; lane < lanes; ++lane)
      for (int half = 0; half < 2; ++half) {
        int row = lane / 4, column = 2 * (lane % 4) + half;
        std::byte *element = transposed ? rows[column] + 2 * row : rows[row] + 2 * column;
        auto *part = reinterpret_cast<std::byte *>(&values[lane]) + 2 * half;
        std::memcpy(isLoad ? part : element, isLoad ? element : part, 2);
      }
    if (isLoad)
      warp.write(reg, values, mask);
  }
}

// Rows of A and columns of B.
struct Fragments {
  Factors a[16], b[8];
};

// A's registers go down, then right; B's down. Each holds two elements of 16 bits, or one of tf32.
template <Type type> void readFragments(Warp &warp, const Instruction &instruction, Fragments &fragments) {
  constexpr int parts = type == Type::TF32 ? 1 : 2, bits = 32 / parts;
  const auto &a = instruction.operands[1].elements, &b = instruction.operands[2].elements;
  auto forEach = [&](const std::vector<Operand> &registers, auto &&set) {
    for (size_t i = 0; i < registers.size(); ++i) {
      Lanes<uint32_t> words = warp.read<uint32_t>(registers[i]);
      for (int lane = 0; lane < lanes; ++lane)
        for (int part = 0; part < parts; ++part)
          set(int(i), lane / 4, parts * (lane % 4) + part, words[lane] << (32 - bits * (part + 1)) >> (32 - bits));
    }
  };
  forEach(a, [&](int i, int row, int k, uint32_t value) {
    fragments.a[row + 8 * (i & 1)].set(k + 4 * parts * (i >> 1), type, value);
  });
  forEach(b,
          [&](int i, int column, int k, uint32_t value) { fragments.b[column].set(k + 4 * parts * i, type, value); });
}

// D = A B + C for m16n8k`depth`, C and D of f32.
template <Type type, int depth> void multiply(Warp &warp, const Instruction &instruction, uint32_t mask) {
  TensorCore core(instruction.architecture, type, depth);
  Fragments fragments;
  readFragments<type>(warp, instruction, fragments);
  Lanes<float> c[4];
  for (int i = 0; i < 4; ++i)
    c[i] = warp.read<float>(instruction.operands[3].elements[i]);
  for (int i = 0; i < 4; ++i) {
    Lanes<float> result;
    for (int lane = 0; lane < lanes; ++lane)
      result[lane] = core.dot(fragments.a[lane / 4 + 8 * (i >> 1)], fragments.b[2 * (lane % 4) + (i & 1)], c[i][lane]);
    warp.write(instruction.operands[0].elements[i], result, mask);
  }
}

bool decodeProduct(Instruction &instruction) {
  if (!instruction.has("row") || !instruction.has("col") || !hasOperands(instruction, 4))
    return false;
  std::vector<Type> types = typesOf(instruction);
  if (types.size() != 4 || types[0] != Type::F32 || types[3] != Type::F32 || types[1] != types[2])
    return false;
  int depth = instruction.has("m16n8k16") ? 16 : instruction.has("m16n8k8") ? 8 : instruction.has("m16n8k4") ? 4 : 0;
  size_t words = types[1] == Type::TF32 ? size_t(depth) / 4 : size_t(depth) / 8; // words of B
  bool pairs = depth == 16 || depth == 8;
  if (types[1] == Type::BF16 && pairs)
    instruction.execute = depth == 16 ? &multiply<Type::BF16, 16> : &multiply<Type::BF16, 8>;
  else if (types[1] == Type::F16 && pairs)
    instruction.execute = depth == 16 ? &multiply<Type::F16, 16> : &multiply<Type::F16, 8>;
  else if (types[1] == Type::TF32 && (depth == 8 || depth == 4))
    instruction.execute = depth == 8 ? &multiply<Type::TF32, 8> : &multiply<Type::TF32, 4>;
  auto sized = [&](int operand, size_t count) {
    return instruction.operands[operand].kind == Operand::Vector &&
           instruction.operands[operand].elements.size() == count;
  };
  return instruction.execute && sized(0, 4) && sized(1, 2 * words) && sized(2, words) && sized(3, 4);
}

} // namespace

bool decodeMatrix(Instruction &instruction) {
  if (!instruction.has("sync") || !instruction.has("aligned"))
    return false;
  instruction.flow = Flow::Converge; // converges all lanes
  if (instruction.name() == "mma")
    return decodeProduct(instruction);
  bool isLoad = instruction.name() == "ldmatrix";
  instruction.count = instruction.has("x4") ? 4 : instruction.has("x2") ? 2 : instruction.has("x1") ? 1 : 0;
  instruction.space = Space::Shared;
  instruction.execute = isLoad ? &moveMatrix<true> : &moveMatrix<false>;
  if (!hasOperands(instruction, 2) || !instruction.has("m8n8") || !instruction.has("b16") || !instruction.count)
    return false;
  const Operand &registers = instruction.operands[isLoad ? 0 : 1];
  size_t count = registers.kind == Operand::Vector ? registers.elements.size() : 1;
  return count == size_t(instruction.count) && instruction.operands[isLoad ? 1 : 0].kind == Operand::Address;
}

} // namespace ptx
