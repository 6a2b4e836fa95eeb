// 32 threads that execute together where they are at the same instruction. Lanes that diverged execute from the
// smallest instruction index on, which lets them reconverge; instructions of a whole warp wait until all lanes that
// they name have arrived.
#pragma once

#include "test/CudaStandIn/Ptx/Module.h"

#include <deque>
#include <type_traits>

namespace ptx {

class Block;

constexpr int lanes = 32;
template <class T> using Lanes = std::array<T, lanes>;

class Warp {
public:
  Warp(Block &block, int index, int threads);

  enum class State { Running, AtBarrier, Done };
  // Executes at most `limit` instructions.
  State run(int64_t limit);

  Block &block;
  const int index;
  State state = State::Running;
  uint32_t live; // lanes that have not exited

  // The value of an operand in each lane, as T: the low bits of a register, or an immediate.
  template <class T> Lanes<T> read(const Operand &operand) const;
  template <class T> void write(const Operand &operand, const Lanes<T> &values, uint32_t mask);
  uint64_t &at(int reg, int lane) { return registers[reg][lane]; }
  void noteWrite(int reg) { isUnfenced[reg] = 1; } // by at(), not by write()
  uint64_t special(Special special, int lane) const;
  // Address of an operand in brackets.
  uint64_t address(const Operand &operand, int lane) const {
    return operand.value + (operand.reg < 0 ? 0 : registers[operand.reg][lane]);
  }

  // Asynchronous copies of each lane, in groups; the last group is open.
  struct Copy {
    uint64_t to, from;
    int bytes, source; // the first `source` of `bytes` are copied, the others become zero
  };
  std::array<std::deque<std::vector<Copy>>, lanes> copies;

  // MMAs of its warpgroup in flight (WarpgroupMma.cpp), in groups; the last group is open.
  struct Product {
    const Instruction *instruction;
    uint64_t a, b; // descriptors; a where A is in shared memory
    bool adds;     // to what the sums are
    void (*finish)(Warp &warp, const Product &product);
  };
  void begin(const Product &product);
  void commitProducts() { products.emplace_back(); }
  // Completes MMAs until `left` of the closed groups are in flight.
  void finishProducts(size_t left);
  // wgmma.fence: later MMAs see earlier writes to registers.
  void fenceRegisters();
  void checkFenced(const Operand &registers) const;
  int registerLimit = 0; // that setmaxnreg changes

  // Registers that loads of tensor memory fill, which may not be used until tcgen05.wait::ld.
  void awaitLoad(const Operand &registers);
  void endLoads();

  // An instruction that cannot be done yet: the warp waits, and executes it again when it is woken.
  void tryAgain() {
    state = State::AtBarrier;
    again = true;
  }

  // The lane in whose name something is checked: for messages.
  int currentLane = 0;
  std::byte *local(int lane, uint64_t offset, int64_t bytes);

private:
  struct Group {
    uint32_t mask = 0;
    int place = 0;
    int others = 0; // smallest instruction index of lanes outside the group
  };
  Group pick() const;
  bool gather(Group &group, const Instruction &instruction);
  uint32_t guarded(const Instruction &instruction, uint32_t mask) const;
  bool execute(Group &group, const Instruction &instruction);
  // Moves the group; false if another has to be picked.
  bool branch(Group &group, const Instruction &instruction, uint32_t taken);
  void settle(const Group &group);
  void checkNotUnderWay(const Operand &operand) const;
  void checkLoaded(const Operand &operand) const;
  [[noreturn]] void stuck() const;

  std::vector<Lanes<uint64_t>> registers;
  Lanes<int> places{}; // instruction indices of lanes outside the running group
  uint32_t held = 0;   // lanes that wait for others of their warp
  std::vector<std::byte> localMemory;
  bool again = false; // the instruction is not done
  std::deque<std::vector<Product>> products;
  int productsUnderWay = 0;
  std::vector<uint8_t> isUnfenced; // registers that were written since the last wgmma.fence
  // For each register: the number of MMAs in flight that have it as a sum, and as a left operand.
  std::vector<uint16_t> summedByProducts, readByProducts;
  std::vector<int> loading;
  std::vector<uint8_t> isLoading;
  bool everFenced = false;
};

template <class T> Lanes<T> Warp::read(const Operand &operand) const {
  Lanes<T> result;
  static_assert(sizeof(T) <= 8);
  if (operand.kind == Operand::Register) {
    const Lanes<uint64_t> &source = registers[operand.reg];
    for (int lane = 0; lane < lanes; ++lane)
      std::memcpy(&result[lane], &source[lane], sizeof(T));
    if constexpr (std::is_same_v<T, bool>)
      for (int lane = 0; lane < lanes; ++lane)
        result[lane] = bool(source[lane]) != operand.negated;
    return result;
  }
  for (int lane = 0; lane < lanes; ++lane) {
    uint64_t bits = operand.kind == Operand::SpecialRegister ? special(operand.special, lane) : operand.value;
    std::memcpy(&result[lane], &bits, sizeof(T));
    if constexpr (std::is_same_v<T, bool>)
      result[lane] = bool(bits) != operand.negated;
  }
  return result;
}

template <class T> void Warp::write(const Operand &operand, const Lanes<T> &values, uint32_t mask) {
  if (operand.kind != Operand::Register)
    return; // "_"
  Lanes<uint64_t> &target = registers[operand.reg];
  isUnfenced[operand.reg] = 1;
  for (int lane = 0; lane < lanes; ++lane) {
    uint64_t bits = 0;
    std::memcpy(&bits, &values[lane], sizeof(T));
    target[lane] = mask >> lane & 1 ? bits : target[lane];
  }
}

} // namespace ptx
