//===- MachineCode.h - Kernels as a disassembler prints them ---------------===//
//
// Reads the text of `nvdisasm -c`: for each kernel its instructions by kind, inside of each loop and outside, the bytes
// that a thread loads and stores, and the part of them in flight at once. Straight code is counted once, both sides of
// a branch too, so that counts are upper bounds; calls of slow paths (denormal divisors) are not counted.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_KERNELMODEL_MACHINECODE_H
#define PPC_KERNELMODEL_MACHINECODE_H

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::ppc {

/// Kinds of instructions by the unit that executes them.
enum class MachineUnit { Tensor, Float, Integer, Special, Shared, Global, Other };
inline constexpr int machineUnitCount = 7;

/// Unit of an instruction, named without its modifiers' operands: "LDG.E.128", "HMMA.16816.F32.BF16".
MachineUnit unitOf(llvm::StringRef name);

/// Instructions of a warp, and their effects.
struct MachineCounts {
  std::array<int64_t, machineUnitCount> byUnit = {};
  int64_t loadedBytes = 0, storedBytes = 0; // per thread, in global memory
  int64_t sharedBytes = 0, tensorFlops = 0; // per warp
  int64_t spills = 0;                       // accesses of a thread's own memory

  int64_t of(MachineUnit unit) const { return byUnit[int(unit)]; }
  int64_t instructions() const;
  MachineCounts &operator+=(const MachineCounts &other);
};

struct MachineLoop {
  int64_t first = 0, last = 0; // instructions of the kernel
  MachineCounts counts;        // counts of one iteration, without inner loops
};

struct MachineKernel {
  std::string name;
  int64_t registers = 0; // per thread; 0: not reported
  MachineCounts outside; // counts outside of all loops
  std::vector<MachineLoop> loops;
  int64_t bytesInFlight = 0; // the most that a thread has asked global memory for before it needs the first of them

  /// All instructions, each loop's once.
  MachineCounts once() const;
  /// The loop with most tensor-core instructions (of several the shortest, since the others do the same for parts that
  /// are looked at element by element), else the one that moves most global memory, else the longest; null where there
  /// is none.
  const MachineLoop *mainLoop() const;
};

/// Returns the kernels of a disassembly, in its order. Functions that kernels call are not kernels.
std::vector<MachineKernel> readMachineCode(llvm::StringRef disassembly);

} // namespace mlir::ppc

#endif // PPC_KERNELMODEL_MACHINECODE_H
