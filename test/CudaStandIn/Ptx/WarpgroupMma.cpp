// wgmma: MMAs of the four warps of a warpgroup, whose operands are in shared memory or (A) in registers. They are
// asynchronous, and are executed here as late as the program allows: when a warp waits for them. Until then neither
// their registers nor their shared memory may be changed, and results may not be read. Each warp computes its own 16 of
// the 64 rows; the end of the block checks that all four execute the same MMAs.
#include "test/CudaStandIn/Ptx/Access.h"
#include "test/CudaStandIn/Ptx/MatrixDescriptor.h"
#include "test/CudaStandIn/Ptx/TensorCore.h"

namespace ptx {
namespace {

constexpr int depth = productDepth;

// `count` rows from `first` on, [row][k], through the asynchronous proxy.
void readMatrix(Warp &warp, uint64_t bits, int first, int count, bool alongRows, uint16_t *elements) {
  ptx::readMatrix(MatrixDescriptor(bits, 90), first, count, alongRows, elements,
                  [&](uint64_t place) { return warp.block.shared.useAsync(place, 16, warp.index); });
}

// Operand order: with A in registers {d}, {a}, b, p, scale a, scale b, trans b; else {d}, a, b, p, scale a, scale b,
// trans a, trans b.
struct Form {
  bool fromRegisters, alongRowsA, alongRowsB;
  int columns;

  explicit Form(const Instruction &instruction)
      : fromRegisters(instruction.operands[1].kind == Operand::Vector),
        alongRowsA(!fromRegisters && instruction.operands[6].value),
        alongRowsB(instruction.operands[fromRegisters ? 6 : 7].value), columns(instruction.count) {}
};

// The 16 rows of this warp.
void readLeft(Warp &warp, const Warp::Product &product, const Form &form, Factors (&rows)[16]) {
  Type type = product.instruction->source;
  if (!form.fromRegisters) {
    uint16_t elements[16 * depth];
    readMatrix(warp, product.a, 16 * (warp.index % 4), 16, form.alongRowsA, elements);
    for (int row = 0; row < 16; ++row)
      for (int k = 0; k < depth; ++k)
        rows[row].set(k, type, elements[row * depth + k]);
    return;
  }
  const auto &registers = product.instruction->operands[1].elements;
  for (int i = 0; i < 4; ++i) {
    Lanes<uint32_t> words = warp.read<uint32_t>(registers[i]);
    for (int lane = 0; lane < lanes; ++lane)
      for (int part = 0; part < 2; ++part)
        rows[lane / 4 + 8 * (i & 1)].set(2 * (lane % 4) + part + 8 * (i >> 1), type,
                                         words[lane] >> (16 * part) & 0xffff);
  }
}

// Checks that its operands in shared memory may be read now, when the MMA starts and again when it completes: a write
// between the two is a race.
void checkOperands(Warp &warp, const Warp::Product &product, const Form &form) {
  std::vector<uint16_t> elements(size_t(std::max(form.columns, 16)) * depth);
  if (!form.fromRegisters)
    readMatrix(warp, product.a, 16 * (warp.index % 4), 16, form.alongRowsA, elements.data());
  readMatrix(warp, product.b, 0, form.columns, form.alongRowsB, elements.data());
}

// Sums as tensor cores add (TensorCore.h).
void finish(Warp &warp, const Warp::Product &product) {
  Form form(*product.instruction);
  Type type = product.instruction->source;
  TensorCore core(product.instruction->architecture, type, depth);
  Factors rows[16];
  readLeft(warp, product, form, rows);
  std::vector<uint16_t> elements(size_t(form.columns) * depth);
  readMatrix(warp, product.b, 0, form.columns, form.alongRowsB, elements.data());
  const auto &sums = product.instruction->operands[0].elements;
  for (int column = 0; column < form.columns; ++column) {
    Factors factors;
    for (int k = 0; k < depth; ++k)
      factors.set(k, type, elements[size_t(column * depth + k)]);
    for (int row = 0; row < 16; ++row) {
      int reg = sums[size_t(4 * (column / 8) + 2 * (row / 8) + column % 2)].reg, lane = row % 8 * 4 + column % 8 / 2;
      float sum = product.adds ? bitsAs<float>(uint32_t(warp.at(reg, lane))) : 0;
      warp.at(reg, lane) = bitsAs<uint32_t>(core.dot(rows[row], factors, sum));
    }
  }
}

void begin(Warp &warp, const Instruction &instruction, uint32_t) {
  Form form(instruction);
  size_t last = form.fromRegisters ? 6 : 7;
  auto same = [&](const Operand &operand) {
    Lanes<uint64_t> values = warp.read<uint64_t>(operand);
    for (uint64_t value : values)
      if (value != values[0])
        throw Fault(FaultKind::Divergence, "lanes of a warp have different descriptors");
    return values[0];
  };
  Lanes<bool> adds = warp.read<bool>(instruction.operands[3]);
  Warp::Product product{&instruction, form.fromRegisters ? 0 : same(instruction.operands[1]),
                        same(instruction.operands[2]), adds[0], &finish};
  for (bool lane : adds)
    if (lane != adds[0])
      throw Fault(FaultKind::Divergence, "lanes of a warp have different predicates of addition");
  for (size_t i = 4; i <= last; ++i)
    if (int64_t(instruction.operands[i].value) != 1 && i < 6)
      throw Fault(FaultKind::Trap, "operands with another sign are not executed here");
  warp.checkFenced(instruction.operands[0]);
  if (form.fromRegisters)
    warp.checkFenced(instruction.operands[1]);
  checkOperands(warp, product, form);
  warp.block.sameInWarpgroup(warp, uint64_t(instruction.line) ^ product.a << 20 ^ product.b << 28 ^
                                       uint64_t(product.adds) << 63);
  warp.begin(product);
}

void fence(Warp &warp, const Instruction &, uint32_t) { warp.fenceRegisters(); }
void commit(Warp &warp, const Instruction &, uint32_t) { warp.commitProducts(); }
void wait(Warp &warp, const Instruction &instruction, uint32_t) {
  warp.finishProducts(size_t(instruction.operands[0].value));
}

// setmaxnreg.inc|dec.sync.aligned.u32 n: registers of a thread, which its warp takes from what the block has, or gives
// back. Who takes waits for who gives.
void setRegisters(Warp &warp, const Instruction &instruction, uint32_t) {
  int64_t count = int64_t(instruction.operands[0].value);
  if (count % 8 || count < 24 || count > 256)
    throw Fault(FaultKind::Trap, std::to_string(count) + " registers of a thread");
  bool takes = instruction.has("inc");
  if (takes ? count < warp.registerLimit : count > warp.registerLimit)
    throw Fault(FaultKind::Trap, "a thread with " + std::to_string(warp.registerLimit) + " registers " +
                                     (takes ? "takes" : "gives back until it has ") + std::to_string(count));
  if (!warp.block.giveRegisters(count - warp.registerLimit)) {
    warp.block.wantingRegisters |= 1u << warp.index;
    return warp.tryAgain();
  }
  warp.registerLimit = int(count);
}

} // namespace

bool decodeWarpgroup(Instruction &instruction) {
  if (!instruction.has("sync") || !instruction.has("aligned"))
    return false;
  instruction.flow = Flow::Converge; // converges all lanes
  if (instruction.name() == "setmaxnreg") {
    instruction.execute = &setRegisters;
    return (instruction.has("inc") || instruction.has("dec")) && hasOperands(instruction, 1) &&
           instruction.operands[0].kind == Operand::Immediate;
  }
  if (instruction.has("fence")) {
    instruction.execute = &fence;
    return hasOperands(instruction, 0);
  }
  if (instruction.has("commit_group")) {
    instruction.execute = &commit;
    return hasOperands(instruction, 0);
  }
  if (instruction.has("wait_group")) {
    instruction.execute = &wait;
    return hasOperands(instruction, 1) && instruction.operands[0].kind == Operand::Immediate;
  }
  std::vector<Type> types = typesOf(instruction);
  if (!instruction.has("mma_async") || types.size() != 3 || types[0] != Type::F32 || types[1] != types[2])
    return false;
  instruction.execute = types[1] == Type::BF16 || types[1] == Type::F16 ? &begin : nullptr;
  instruction.count = 0;
  for (const std::string &modifier : instruction.modifiers)
    if (modifier.rfind("m64n", 0) == 0 && modifier.size() > 7 && modifier.substr(modifier.size() - 3) == "k16")
      instruction.count = std::atoi(modifier.c_str() + 4);
  if (!instruction.execute || instruction.operands.size() < 7)
    return false;
  bool fromRegisters = instruction.operands[1].kind == Operand::Vector;
  for (size_t i = 4; i < instruction.operands.size(); ++i)
    if (instruction.operands[i].kind != Operand::Immediate)
      return false;
  return instruction.count >= 8 && instruction.count <= 256 && instruction.count % 8 == 0 &&
         hasOperands(instruction, fromRegisters ? 7 : 8) && instruction.operands[0].kind == Operand::Vector &&
         instruction.operands[0].elements.size() == size_t(instruction.count) / 2 &&
         (!fromRegisters || instruction.operands[1].elements.size() == 4);
}

} // namespace ptx
