// Matrices in the registers of a warp: ldmatrix, stmatrix, mma.sync. Fragments as the PTX ISA draws them: lane l holds
// row l / 4 and columns 2 (l % 4), 2 (l % 4) + 1 of each 8 x 8 piece. Products of 16 bits are exact; they are summed in
// f64 and rounded to f32 once for each instruction, where the hardware aligns to the largest exponent and truncates:
// results agree to about 2^-23 of the largest product.
#include "test/CudaStandIn/Ptx/Access.h"

namespace ptx {
namespace {

// 8 x 8 pieces of 16 bits; lane 8 i + r holds the address of row r of piece i.
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

// A fragment as a matrix of f64. `rows` x `columns` of pieces of 8 x 8 (of 4 columns for tf32).
struct Fragments {
  double a[16][16], b[16][8], c[16][8];
};

template <class T> double half(uint32_t word, int part) { return double(bitsAs<T>(uint16_t(word >> (16 * part)))); }

// A: registers go down, then right; B: down. Each holds two elements.
template <class T> void readPairs(Warp &warp, const Instruction &instruction, int depth, Fragments &fragments) {
  const auto &a = instruction.operands[1].elements, &b = instruction.operands[2].elements;
  for (size_t i = 0; i < a.size(); ++i) {
    Lanes<uint32_t> words = warp.read<uint32_t>(a[i]);
    for (int lane = 0; lane < lanes; ++lane)
      for (int part = 0; part < 2; ++part)
        fragments.a[lane / 4 + 8 * int(i & 1)][2 * (lane % 4) + part + 8 * int(i >> 1)] = half<T>(words[lane], part);
  }
  for (size_t i = 0; i < b.size(); ++i) {
    Lanes<uint32_t> words = warp.read<uint32_t>(b[i]);
    for (int lane = 0; lane < lanes; ++lane)
      for (int part = 0; part < 2; ++part)
        fragments.b[2 * (lane % 4) + part + 8 * int(i)][lane / 4] = half<T>(words[lane], part);
  }
}

void readSingles(Warp &warp, const Instruction &instruction, int depth, Fragments &fragments) {
  const auto &a = instruction.operands[1].elements, &b = instruction.operands[2].elements;
  for (size_t i = 0; i < a.size(); ++i) {
    Lanes<float> values = warp.read<float>(a[i]);
    for (int lane = 0; lane < lanes; ++lane)
      fragments.a[lane / 4 + 8 * int(i & 1)][lane % 4 + 4 * int(i >> 1)] = tf32(values[lane]);
  }
  for (size_t i = 0; i < b.size(); ++i) {
    Lanes<float> values = warp.read<float>(b[i]);
    for (int lane = 0; lane < lanes; ++lane)
      fragments.b[lane % 4 + 4 * int(i)][lane / 4] = tf32(values[lane]);
  }
}

using Read = void (*)(Warp &, const Instruction &, int, Fragments &);

// D = A B + C for m16n8k`depth`, C and D of f32.
template <Read read, int depth> void multiply(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Fragments fragments;
  read(warp, instruction, depth, fragments);
  Lanes<float> c[4];
  for (int i = 0; i < 4; ++i)
    c[i] = warp.read<float>(instruction.operands[3].elements[i]);
  for (int i = 0; i < 4; ++i) {
    Lanes<float> result;
    for (int lane = 0; lane < lanes; ++lane) {
      int row = lane / 4 + 8 * (i >> 1), column = 2 * (lane % 4) + (i & 1);
      double sum = c[i][lane];
      for (int k = 0; k < depth; ++k)
        sum += fragments.a[row][k] * fragments.b[k][column];
      result[lane] = float(sum);
    }
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
  size_t words = types[1] == Type::TF32 ? size_t(depth) / 4 : size_t(depth) / 8; // of B
  bool pairs = depth == 16 || depth == 8;
  if (types[1] == Type::BF16 && pairs)
    instruction.execute = depth == 16 ? &multiply<readPairs<BFloat>, 16> : &multiply<readPairs<BFloat>, 8>;
  else if (types[1] == Type::F16 && pairs)
    instruction.execute = depth == 16 ? &multiply<readPairs<Half>, 16> : &multiply<readPairs<Half>, 8>;
  else if (types[1] == Type::TF32 && (depth == 8 || depth == 4))
    instruction.execute = depth == 8 ? &multiply<readSingles, 8> : &multiply<readSingles, 4>;
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
  instruction.flow = Flow::Converge; // of all lanes
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
